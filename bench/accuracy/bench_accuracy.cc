#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <thread>

#include "cgroup_times.h"
#include "replay.h"
#include "simulation.h"

namespace pex::bench {
namespace {

constexpr int kSeeds = 16;
constexpr int kQuickSeeds = 2;

void print(const Case& result) {
  std::printf("%-62s %10.2f %8.2f %9.4f %8.3f %s\n", result.name.c_str(), 100 * result.delta.rms(),
              100 * result.ours.rms(), result.ours.rms() / result.delta.rms(),
              100 * result.ours.bias(), result.missed().c_str());
}

int run(bool quick) {
  Result<std::vector<Case>> recorded = replay_all(PEX_ACCURACY_DIRECTORY "/recordings");
  if (!recorded) {
    std::fprintf(stderr, "bench_accuracy: %s\n", describe(recorded.error()).c_str());
    return 2;
  }
  std::vector<Case> cases =
      simulate(quick ? kQuickSeeds : kSeeds, std::max(1U, std::thread::hardware_concurrency()));
  std::ranges::move(simulate_cgroup_times(), std::back_inserter(cases));
  std::ranges::move(*recorded, std::back_inserter(cases));

  std::printf("%-62s %10s %8s %9s %8s %s\n", "load, polls of", "RMS delta", "ours", "of delta",
              "bias %", "missed target");
  std::ranges::for_each(cases, print);
  const auto missed =
      std::ranges::count_if(cases, [](const Case& each) { return !each.missed().empty(); });
  std::printf("\n%td of %zu cases miss a target\n", missed, cases.size());
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  bool quick = false;
  CLI::App app{
      "How near our estimates come to the truth when groups share the PMU, and scaling of "
      "increments by time\n(delta): simulated, and on recordings of a real kernel. RMS errors in % "
      "of the mean increment. Ends\nwith 1 when ours misses a target."};
  app.add_flag("--quick", quick, "simulate less");
  CLI11_PARSE(app, argc, argv);
  return pex::bench::run(quick);
}
