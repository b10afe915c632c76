#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/poll/assistant.h"
#include "bench/poll/poll_rounds.h"
#include "bench/poll/sleepers.h"
#include "bench/support/cgroup_tree.h"
#include "bench/support/stop_signals.h"
#include "daemon/cli/version.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

struct Options {
  std::vector<std::size_t> cgroups = {0, 10, 100, 500};
  std::size_t rounds = 60;
  std::size_t spacing_ms = 50;
  bool records = false;
  std::vector<std::size_t> active = {100, 10};  ///< percent
  int cpu = 0;
};

constexpr std::size_t kManyCgroups = 100;
/// What we hold ourselves to: at most so many times the floor.
struct Target {
  double without_cgroups;
  double with_many;  ///< from kManyCgroups on
};
constexpr Target kPollTarget{3.0, 1.15};
constexpr Target kScrapeTarget{3.0, 1.6};
constexpr Target kGzipTarget{3.0, 3.0};

struct Table {
  const char* title;
  const char* heading;
  Target target;
  Result<Cost> (*measure)(const Scenario&, Assistant&);
  void (*print_rest)(const Cost&);
};

double per(double microseconds, std::size_t count) {
  return microseconds * 1000 / static_cast<double>(count);
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

constexpr Table kPollTable{"One poll, until its snapshot is published",
                           "ns/value  RSS-MiB open-us/group", kPollTarget, measure_poll,
                           [](const Cost& cost) {
                             std::printf("%8.0f %8.1f %13.1f", per(cost.daemon_us, cost.events),
                                         mebibytes(cost.resident_bytes), cost.open_us);
                           }};

void print_scrape(const Cost& cost) {
  std::printf("%8.0f %12llu %8.1f", per(cost.daemon_us, cost.events),
              static_cast<unsigned long long>(cost.scrape_bytes), mebibytes(cost.resident_bytes));
}

constexpr Table kScrapeTable{"One poll by the whole program and one scrape of it over HTTP",
                             "ns/value scrape-bytes  RSS-MiB", kScrapeTarget,
                             measure_poll_and_scrape, print_scrape};

constexpr Table kGzipTable{"The same with gzip; the floor renders, compresses and answers as well",
                           "ns/value scrape-bytes  RSS-MiB", kGzipTarget, measure_compressed_scrape,
                           print_scrape};

Result<Cost> measure_one(const Table& table, std::size_t cgroups, const Options& options) {
  Scenario scenario;
  scenario.rounds = options.rounds;
  scenario.spacing = std::chrono::milliseconds{options.spacing_ms};
  const Result<std::vector<int>> cpus = host::online_cpus(scenario.roots);
  if (!cpus) return cpus.error();
  const Result<CgroupTree> tree = CgroupTree::make(scenario.roots, cgroups);
  if (!tree) return tree.error();
  scenario.cgroups = cgroups;
  scenario.glob = tree->glob();
  scenario.cpus = cpus->size();
  return measure_apart([&](Assistant& assistant) { return table.measure(scenario, assistant); });
}

/// Prints the table line by line as it is measured. False when it could not be; `missed` counts the
/// lines that miss the target.
bool print_table(const Table& table, const Options& options, int& missed) {
  std::printf("\n%s\n\n", table.title);
  std::printf("cgroups groups events  floor-us daemon-us ratio    25-75%%   target %s\n",
              table.heading);
  for (const std::size_t cgroups : options.cgroups) {
    const Result<Cost> cost = measure_one(table, cgroups, options);
    if (!cost) {
      std::fprintf(stderr, "bench_poll: %s\n", describe(cost.error()).c_str());
      return false;
    }
    const bool applies = cgroups == 0 || cgroups >= kManyCgroups;
    const Target& target = table.target;
    const bool met = cost->ratio() <= (cgroups == 0 ? target.without_cgroups : target.with_many);
    if (applies && !met) ++missed;
    std::printf("%7zu %6zu %6zu %9.1f %9.1f %5.2f %4.2f-%4.2f %8s ", cgroups, cost->groups,
                cost->events, cost->floor_us, cost->daemon_us, cost->ratio(), cost->low_ratio,
                cost->high_ratio,
                !applies ? "-"
                : met    ? "met"
                         : "missed");
    table.print_rest(*cost);
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("\ntarget: at most %.2f times the floor without cgroups, %.2f from %zu on\n",
              table.target.without_cgroups, table.target.with_many, kManyCgroups);
  return true;
}

/// What one source costs on one CPU, where some of the cgroups run between two rounds.
Result<Cost> measure_source(const Table& table, const CgroupTree& tree, bool by_records,
                            const Options& options, Sleepers& sleepers) {
  Scenario scenario;
  scenario.rounds = options.rounds;
  scenario.spacing = std::chrono::milliseconds{options.spacing_ms};
  const Result<std::vector<int>> cpus = host::online_cpus(scenario.roots);
  if (!cpus) return cpus.error();
  for (const int cpu : *cpus) {
    if (cpu == options.cpu) continue;
    scenario.left_out += (scenario.left_out.empty() ? "" : ",") + std::to_string(cpu);
  }
  scenario.cgroups = tree.size();
  scenario.glob = tree.glob();
  scenario.cpus = 1;
  scenario.by_records = by_records;
  scenario.work = [&] { sleepers.wake(); };
  return measure_apart([&](Assistant& assistant) { return table.measure(scenario, assistant); });
}

struct SourceTable {
  const Table& table;
  double target;  ///< of the ratio with kManyCgroups of ten times as many active
};
constexpr SourceTable kSourceTables[] = {{kPollTable, 0.15}, {kScrapeTable, 0.3}, {kGzipTable, 0}};

bool print_sources(const SourceTable& of, const Options& options, int& missed) {
  std::printf("\n%s\n\ncgroups active descriptors-us records-us ratio target\n", of.table.title);
  for (const std::size_t cgroups : options.cgroups) {
    for (const std::size_t percent : options.active) {
      const Result<CgroupTree> tree = CgroupTree::make(host::HostRoots{}, cgroups);
      if (!tree) return std::fprintf(stderr, "%s\n", describe(tree.error()).c_str()), false;
      const std::size_t active = cgroups * percent / 100;
      Sleepers sleepers{*tree, active, options.cpu};
      double us[2] = {};
      for (const bool by_records : {false, true}) {
        const auto cost = measure_source(of.table, *tree, by_records, options, sleepers);
        if (!cost) return std::fprintf(stderr, "%s\n", describe(cost.error()).c_str()), false;
        us[by_records ? 1 : 0] = cost->daemon_us;
      }
      const double ratio = us[1] / us[0];
      const bool applies = of.target > 0 && active >= kManyCgroups && percent <= 10;
      if (applies && ratio > of.target) ++missed;
      std::printf("%7zu %6zu %14.1f %10.1f %5.2f %6s\n", cgroups, active, us[0], us[1], ratio,
                  !applies             ? "-"
                  : ratio <= of.target ? "met"
                                       : "missed");
      std::fflush(stdout);
    }
  }
  return true;
}

void print_legend(const Options& options, int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i) command += std::string(i > 0 ? " " : "") + argv[i];
  std::printf(
      "command: %s\nperf_event_exporter %s, %u CPUs\n\n"
      "us are CPU time of the whole process for one round: medians of %zu rounds of the floor and "
      "as many of the\ndaemon, taken in turns, %zu ms apart. The floor is one read(2) for each "
      "group "
      "the daemon has open, by a\nthread pinned to each CPU and woken once. 25-75%%: quartiles of "
      "the ratio of neighbouring rounds.\nA value is what one event counted at one target on one "
      "CPU. open: CPU of the first poll, by groups.\n",
      command.c_str(), daemon::kVersion, std::thread::hardware_concurrency(), options.rounds,
      options.spacing_ms);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App cli{"CPU time of one poll of the daemon, against the floor of bare reads. Needs root."};
  cli.add_option("--cgroups", options.cgroups, "Numbers of cgroups; 0 counts the CPUs themselves")
      ->capture_default_str();
  cli.add_option("--rounds", options.rounds, "Rounds of each kind")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  cli.add_option("--spacing", options.spacing_ms, "Milliseconds from one round to the next")
      ->capture_default_str()
      ->check(CLI::Range(1, 60'000));
  cli.add_flag("--records", options.records,
               "Compare records of switches with descriptors instead, on one CPU")
      ->needs("--cgroups");
  cli.add_option("--active", options.active, "With --records: percent of the cgroups that run")
      ->capture_default_str();
  cli.add_option("--cpu", options.cpu, "With --records: the CPU")->capture_default_str();
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error);
  }

  const StopSignals signals;  // the assistants' as well, so that cgroups are always removed
  print_legend(options, argc, argv);
  int missed = 0;
  if (options.records) {
    for (const SourceTable& table : kSourceTables) {
      if (!print_sources(table, options, missed)) return 1;
    }
  } else {
    for (const Table* table : {&kPollTable, &kScrapeTable, &kGzipTable}) {
      if (!print_table(*table, options, missed)) return 1;
    }
  }
  if (missed > 0) std::printf("\n%d of the lines above miss their target\n", missed);
  return 0;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) { return pex::bench::run(argc, argv); }
