// What a scrape costs: rendering, beside a bare loop of memcpy and to_chars in the same run, and
// serving what was rendered.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/scrape/copy_floor.h"
#include "bench/scrape/heap_counter.h"
#include "bench/scrape/served_scrapes.h"
#include "bench/support/cost.h"
#include "bench/support/synthetic_snapshot.h"
#include "exposition/renderer.h"
#include "http/gzip.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoalMs = 5;        ///< for 100 000 samples
constexpr double kGoalRatio = 1.15;  ///< of rendering to the floor
constexpr double kGoalServedMs = 2;  ///< p99 of what was rendered before

constexpr Shape kShapes[] = {{"50 cgroups x 100 CPUs x 20 events", 50, 100, 20},
                             {"5000 cgroups x 20 events", 5000, 0, 20}};

struct Options {
  std::size_t rounds = 100;
  std::size_t scrapes = 100;
  bool quick = false;
};

template <typename Work>
double milliseconds_of(Work work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

/// Rendering and the floor in turns, so that the machine's moods meet both.
void measure_rendering(const Shape& shape, const collect::Snapshot& snapshot,
                       exposition::Format format, const Options& options) {
  exposition::Renderer renderer;
  const exposition::RenderOptions wanted{format, {}, false};
  const auto text = std::make_shared<std::string>();
  renderer.render(&snapshot, NoMetrics{}, wanted, text);
  CopyFloor floor{*text};
  std::vector<double> bare, ours, ratios;
  std::uint64_t allocated = 0;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    bare.push_back(milliseconds_of([&] { floor.run(); }));
    const std::uint64_t before = allocated_bytes();
    ours.push_back(milliseconds_of([&] { renderer.render(&snapshot, NoMetrics{}, wanted, text); }));
    allocated = allocated_bytes() - before;
    ratios.push_back(ours.back() / bare.back());
  }
  const double per_100k = median(ours) * 100'000 / static_cast<double>(floor.samples());
  std::printf("%-34s %-11s %7zu %6.1f %7.2f %7.2f %9.2f  %.2f (%.2f-%.2f) %9llu\n", shape.name,
              format == exposition::Format::kText ? "text" : "OpenMetrics", floor.samples(),
              static_cast<double>(floor.bytes()) / 1e6, median(bare), median(ours), per_100k,
              median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75),
              static_cast<unsigned long long>(allocated));
}

void measure_compression(const Shape& shape, const collect::Snapshot& snapshot) {
  const auto text = std::make_shared<std::string>();
  exposition::Renderer{}.render(&snapshot, NoMetrics{}, {}, text);
  http::Gzip gzip;
  std::string compressed;
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    times.push_back(milliseconds_of([&] { gzip.compress(*text, compressed); }));
  }
  std::printf("%-34s %8.1f %10.2f\n", shape.name, median(times),
              static_cast<double>(compressed.size()) / 1e6);
}

void measure_serving(const Shape& shape, const collect::Snapshot& snapshot,
                     const Options& options) {
  const auto shared = std::make_shared<const collect::Snapshot>(snapshot);
  const std::chrono::milliseconds apart{options.quick ? 50 : 1000};
  struct Row {
    const char* title;
    Asking asking;
  };
  const Row rows[] = {{"rendered before, gzip", {true, false, options.scrapes, apart}},
                      {"rendered before, as it is", {false, false, options.scrapes / 5, apart}},
                      {"rendered for it, gzip", {true, true, options.scrapes / 5, apart}}};
  for (const Row& row : rows) {
    const Served served = serve_scrapes(shared, row.asking);
    std::printf("%-34s %-26s %5zu %8.2f %8.2f %8.2f %8.2f %10llu\n", shape.name, row.title,
                served.milliseconds.size(), static_cast<double>(served.bytes) / 1e6,
                median(served.milliseconds), quantile(served.milliseconds, 0.99),
                quantile(served.milliseconds, 1),
                static_cast<unsigned long long>(served.allocated_bytes));
  }
}

void run(const Options& options) {
  std::vector<collect::Snapshot> snapshots;
  for (const Shape& shape : kShapes) snapshots.push_back(synthetic_snapshot(shape));
  const auto for_each_shape = [&](auto measure) {
    for (std::size_t i = 0; i < snapshots.size(); ++i) measure(kShapes[i], snapshots[i]);
  };

  std::printf(
      "Rendering; medians of %zu rounds, in turns with the floor, and the ratio's quartiles. "
      "Goals: %.0f ms for\n100 000 samples, %.2f times the floor, no memory for samples.\n",
      options.rounds, kGoalMs, kGoalRatio);
  std::printf("%-34s %-11s %7s %6s %7s %7s %9s  %-16s %9s\n", "", "", "samples", "MB", "floor",
              "ms", "per 100k", "ratio", "new bytes");
  for (const exposition::Format format :
       {exposition::Format::kText, exposition::Format::kOpenMetrics}) {
    for_each_shape([&](const Shape& shape, const collect::Snapshot& snapshot) {
      measure_rendering(shape, snapshot, format, options);
    });
  }
  std::printf("\ngzip, off the loop and once for all clients.\n%-34s %8s %10s\n", "", "ms", "MB");
  for_each_shape(measure_compression);
  std::printf(
      "\nServed on loopback to one client, ms from the first byte of the request to the last "
      "of the answer.\nGoal: p99 of %.0f ms for what was rendered before.\n",
      kGoalServedMs);
  std::printf("%-34s %-26s %5s %8s %8s %8s %8s %10s\n", "", "", "times", "MB", "p50", "p99", "max",
              "new bytes");
  for_each_shape([&](const Shape& shape, const collect::Snapshot& snapshot) {
    measure_serving(shape, snapshot, options);
  });
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  pex::bench::Options options;
  CLI::App cli{"What a scrape costs, from the snapshot to the client."};
  cli.add_option("--rounds", options.rounds, "Rounds of rendering.")->capture_default_str();
  cli.add_option("--scrapes", options.scrapes, "Scrapes over HTTP, one a second.")
      ->capture_default_str();
  cli.add_flag("--quick", options.quick, "Few of both: to see it work, not for figures.");
  CLI11_PARSE(cli, argc, argv);
  if (options.quick) options.rounds = options.scrapes = 10;
  pex::bench::run(options);
}
