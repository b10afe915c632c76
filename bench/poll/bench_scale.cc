// What a poll costs us on a machine with many CPUs and cgroups, without what it costs the kernel,
// which is a scripted one that answers at once.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/poll/instant_kernel.h"
#include "bench/support/cost.h"
#include "bench/support/synthetic_snapshot.h"
#include "collect/cpu_totals.h"
#include "collect/descriptor_source.h"
#include "collect/joining.h"
#include "collect/learning.h"
#include "collect/poll_cycle.h"
#include "exposition/renderer.h"

namespace pex::bench {
namespace {

constexpr std::size_t kEvents = 6;  ///< in one group

struct Machine {
  int cpus;
  std::size_t cgroups;
};
constexpr Machine kMachines[] = {{256, 200}, {64, 1000}, {256, 2000}};

struct Options {
  std::size_t rounds = 15;
};

double heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

/// CPU time: this program has one thread, and other programs may run.
template <typename Work>
double microseconds_of(Work work) {
  const auto start = process_cpu_time();
  work();
  return std::chrono::duration<double, std::micro>(process_cpu_time() - start).count();
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

std::shared_ptr<const collect::CountingPlan> plan_of(const collect::CountingPlan& synthetic,
                                                     bool shares_pmu) {
  collect::CountingPlan plan = synthetic;
  for (collect::GroupPlan& group : plan.cgroup.groups) group.shares_pmu = shares_pmu;
  return std::make_shared<const collect::CountingPlan>(std::move(plan));
}

/// Containers that are there, on as many CPUs.
collect::TargetSet targets_of(const collect::TargetSet& synthetic, int cpus) {
  collect::TargetSet targets = synthetic;
  collect::MachineCpus machine;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    machine.online.push_back(cpu);
    machine.places[cpu] = {.cpu = cpu};
  }
  targets.cpus = std::make_shared<const collect::MachineCpus>(std::move(machine));
  for (collect::CgroupTarget& target : targets.cgroups) {
    cgroup::Cgroup cgroup;
    cgroup.path = target.path;
    cgroup.id = target.series;
    target.cgroup = std::make_shared<const cgroup::Cgroup>(std::move(cgroup));
  }
  return targets;
}

/// One machine's data path, all of whose CPUs are polled one after the other.
class DataPath {
 public:
  using Targets = std::shared_ptr<const collect::TargetSet>;

  /// `kernel` outlives it.
  DataPath(InstantKernel& kernel, const Machine& machine, bool shares_pmu) {
    const collect::Snapshot synthetic =
        synthetic_snapshot({.name = "", .cgroups = machine.cgroups, .cpus = 0, .events = kEvents});
    plan_ = plan_of(*synthetic.plan, shares_pmu);
    targets_ =
        std::make_shared<const collect::TargetSet>(targets_of(*synthetic.targets, machine.cpus));
    models_ = std::make_unique<collect::EventModels>(*plan_);
    for (int cpu = 0; cpu < machine.cpus; ++cpu) {
      cycles_.push_back(std::make_unique<collect::PollCycle>(
          std::make_unique<collect::DescriptorSource>(kernel, cpu), plan_, cpu));
      totals_.emplace_back(*plan_, cpu);
      left_.emplace_back(*plan_, cpu);
    }
    for (const collect::CpuTotals& of_cpu : totals_) parts_.push_back(&of_cpu);
  }

  /// Another set of the same targets, as after a change elsewhere.
  Targets same_targets_anew() const {
    return std::make_shared<const collect::TargetSet>(*targets_);
  }

  /// How many groups were read. Each CPU ends its part with a copy of its totals, which takes the
  /// place of the one that was joined before, as in a Collector.
  std::size_t poll() {
    std::size_t read = 0;
    for (std::size_t cpu = 0; cpu < cycles_.size(); ++cpu) {
      read += cycles_[cpu]->run(targets_, *models_).report.groups_read;
      left_[cpu].copy(*cycles_[cpu], *targets_);
      std::swap(left_[cpu], totals_[cpu]);
    }
    return read;
  }
  void look(const Targets& targets) {
    targets_ = targets;
    for (const auto& cycle : cycles_) (void)cycle->reconcile(targets_, *models_);
  }
  collect::Snapshot join() const { return collect::join(plan_, targets_, *models_, parts_); }

  /// CPU time of the worker that takes longest, when there is one on each CPU to join: the one that
  /// prepares the pieces, and then joins as many as any other.
  double longest_join() const {
    std::optional<collect::Joining> joining;
    const double preparation =
        microseconds_of([&] { joining.emplace(plan_, targets_, *models_, parts_); });
    double longest = 0;
    for (std::size_t piece = 0; piece < joining->pieces(); ++piece) {
      longest = std::max(longest, microseconds_of([&] { joining->join(piece); }));
    }
    const std::size_t each = (joining->pieces() + cycles_.size() - 1) / cycles_.size();
    return preparation + longest * static_cast<double>(each);
  }

  std::size_t targets() const { return cycles_.size() * targets_->cgroups.size(); }

 private:
  std::shared_ptr<const collect::CountingPlan> plan_;
  Targets targets_;
  std::unique_ptr<collect::EventModels> models_;
  std::vector<std::unique_ptr<collect::PollCycle>> cycles_;
  std::vector<collect::CpuTotals> totals_;
  std::vector<collect::CpuTotals> left_;
  std::vector<const collect::CpuTotals*> parts_;
};

/// False when not every group was read.
bool measure(const Machine& machine, bool shares_pmu, const Options& options) {
  InstantKernel kernel{static_cast<std::size_t>(machine.cpus) * (machine.cgroups * kEvents + 1)};
  const double heap_before = heap_bytes();
  DataPath path{kernel, machine, shares_pmu};
  const double open_ms = microseconds_of([&] { (void)path.poll(); }) / 1000;
  (void)path.poll();
  const double heap = heap_bytes() - heap_before;
  const auto targets = static_cast<double>(path.targets());

  std::vector<double> polls, joins, longests, counts, looks, firsts, agains;
  std::size_t series = 0;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    std::size_t read = 0;
    polls.push_back(microseconds_of([&] { read = path.poll(); }));
    if (read != path.targets()) return false;
    collect::Snapshot snapshot;
    joins.push_back(microseconds_of([&] { snapshot = path.join(); }));
    longests.push_back(path.longest_join());
    counts.push_back(microseconds_of([&] { series = collect::count_series(snapshot); }));
    exposition::Renderer renderer;
    std::string text;
    const auto render = [&] { renderer.render(&snapshot, NoMetrics{}, {}, text); };
    firsts.push_back(microseconds_of(render));
    agains.push_back(microseconds_of(render));
    const DataPath::Targets changed = path.same_targets_anew();
    looks.push_back(microseconds_of([&] { path.look(changed); }));
  }
  std::printf("%4d x %-5zu %-8s %8.0f %8.0f %8.1f %8.0f %8.0f %8.2f %8zu %8.1f %8.1f %8.2f %8.2f\n",
              machine.cpus, machine.cgroups, shares_pmu ? "hardware" : "software", open_ms,
              heap / targets, median(polls) / machine.cpus, median(polls) * 1000 / targets,
              median(joins) * 1000 / targets, median(longests) / 1000, series, median(counts),
              median(looks) / machine.cpus, median(firsts) / 1000, median(agains) / 1000);
  std::fflush(stdout);
  return true;
}

int run(const Options& options) {
  std::printf(
      "CPU time of our own code alone, medians of %zu rounds; one group of %zu events in each "
      "cgroup, summed over CPUs.\nA target is a cgroup on a CPU. open: the first poll of all CPUs. "
      "heap: what is kept for a target. look: with a\nnew set of targets, in which nothing has "
      "changed. render: the text, for the first time and again.\n\n"
      "%-21s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n%-21s %8s %8s %8s %8s %8s %8s %8s %8s "
      "%8s %8s %8s\n",
      options.rounds, kEvents, "CPUs x cgroups, group", "open", "heap", "poll", "poll", "join",
      "longest", "series", "count", "look", "render", "again", "", "ms", "B/target", "us/CPU",
      "ns/target", "ns/target", "ms", "", "us", "us/CPU", "ms", "ms");
  for (const Machine& machine : kMachines) {
    for (const bool shares_pmu : {false, true}) {
      if (measure(machine, shares_pmu, options)) continue;
      std::fprintf(stderr, "bench_scale: not every group was read\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  pex::bench::Options options;
  CLI::App cli{
      "What a poll of many CPUs and cgroups costs us, over a kernel that answers at once."};
  cli.add_option("--rounds", options.rounds, "Rounds of each kind.")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  CLI11_PARSE(cli, argc, argv);
  return pex::bench::run(options);
}
