#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/stop_signals.h"
#include "bench/switch/ping_pong.h"
#include "bench/switch/switch_cgroups.h"
#include "bench/switch/switch_rounds.h"
#include "daemon/cli/version.h"
#include "host/self_process.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

/// Those that are switched between.
constexpr std::size_t kFewestCgroups = 2;
constexpr std::size_t kFewestOthers = 2;
constexpr unsigned kSeed = 1;
/// A bare run across two cgroups that takes so many times what one within a cgroup takes has some
/// other program's events of cgroups in it.
constexpr double kDisturbed = 1.3;

struct Options {
  std::vector<std::size_t> cgroups = {2, 10, 100, 1000};
  /// The events of the group `software` of the shipped configuration.
  std::string events = "task-clock, context-switches, cpu-migrations, minor-faults, major-faults";
  std::size_t rounds = 10;
  std::size_t round_trips = 10'000;
  bool quick = false;
};
constexpr std::size_t kQuickRounds = 3;
constexpr std::size_t kQuickRoundTrips = 2000;

/// What one variant counts. Without a scope, nothing.
struct Choice {
  std::string title;
  std::string events;
  std::string scope;
  std::vector<std::string> globs = {};
  std::size_t cgroups = 0;                  ///< that they match
  std::string_view source = "descriptors";  ///< of the counts of cgroups
};

std::string joined(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) {
    text += (text.empty() ? "\"" : ", \"") + pattern + "\"";
  }
  return text;
}

std::string config_text(const Choice& choice) {
  const std::string group = "groups:\n  - name: measured\n    events: [" + choice.events +
                            "]\n    scope: [" + choice.scope + "]\n";
  const std::string limits = "limits:\n  max_open_events: 10000000\n  max_series: 10000000\n";
  if (choice.cgroups == 0) return group + limits;
  return group + limits + "cgroups:\n  source: " + std::string(choice.source) +
         "\n  nesting: all\n  include: [" + joined(choice.globs) +
         "]\n  max: " + std::to_string(choice.cgroups) + "\n";
}

std::vector<std::string> both(std::vector<std::string> globs,
                              const std::vector<std::string>& more) {
  globs.insert(globs.end(), more.begin(), more.end());
  return globs;
}

/// The first is what the others are compared with.
std::vector<Choice> choices(const Options& options, const SwitchCgroups& cgroups) {
  const std::string& events = options.events;
  const std::string first_event = events.substr(0, events.find(','));
  const std::vector<std::string> two = cgroups.the_two();
  const std::vector<std::string> nested = both(two, cgroups.ancestors());
  const std::vector<std::string> others = cgroups.others(kFewestOthers);

  std::vector<Choice> all = {
      {"nothing", {}, {}}, {"nothing, once more", {}, {}}, {"the CPUs", events, "cpu"}};
  for (const std::size_t number : options.cgroups) {
    all.push_back({"the CPUs and " + std::to_string(number) + " cgroups", events, "cpu, cgroup",
                   both(two, cgroups.others(number - kFewestCgroups)), number});
  }
  all.push_back(
      {"the CPUs, 2 cgroups, 3 above them", events, "cpu, cgroup", nested, nested.size()});
  all.push_back({"2 cgroups, not the CPUs", events, "cgroup", two, two.size()});
  all.push_back({"2 cgroups, " + first_event + " alone", first_event, "cgroup", two, two.size()});
  all.push_back({"the CPUs and 2 other cgroups", events, "cpu, cgroup", others, others.size()});
  const std::size_t by_descriptors = all.size();
  for (std::size_t number = 0; number < by_descriptors; ++number) {
    if (all[number].cgroups == 0) continue;
    Choice by_records = all[number];
    by_records.title += ", records";
    by_records.source = "records";
    all.push_back(std::move(by_records));
  }
  return all;
}

/// Leaves out, and says so, what the limit of open files does not allow.
Result<std::vector<Variant>> plan_all(const std::vector<Choice>& all,
                                      const host::HostRoots& roots) {
  std::vector<Variant> variants;
  for (const Choice& choice : all) {
    Variant variant{choice.title, std::nullopt, choice.cgroups > 0};
    if (!choice.scope.empty()) {
      Result<CounterSet> set = CounterSet::plan(config_text(choice), choice.cgroups, roots);
      if (!set) return set.error();
      if (const Result<> allowed = set->check_limit(); !allowed) {
        std::printf("left out: %s: %s\n", choice.title.c_str(), describe(allowed.error()).c_str());
        continue;
      }
      variant.counters = std::move(*set);
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

void print_half(const Comparison& cost) {
  std::printf(" %8.0f %6.0f %6.2f %4.2f-%4.2f", cost.ns, cost.added_ns, cost.ratio, cost.low_ratio,
              cost.high_ratio);
}

void print_table(const std::vector<Variant>& variants,
                 const std::vector<std::vector<Sample>>& samples) {
  std::printf("\n%53s %36s\n", "within one cgroup", "across two cgroups");
  std::printf("%-42s %6s", "counted", "events");
  for (std::size_t i = 0; i < kPartners.size(); ++i) {
    std::printf(" %8s %6s %6s %9s", "ns/sw.", "+ ns", "ratio", "25-75%");
  }
  std::printf("\n");
  for (std::size_t number = 0; number < variants.size(); ++number) {
    const Variant& variant = variants[number];
    std::printf("%-42s %6zu", variant.title.c_str(),
                variant.counters ? variant.counters->events() : 0);
    for (const Partner partner : kPartners) {
      print_half(compare(samples[number], samples.front(), partner));
    }
    std::printf("\n");
  }
}

void print_disturbed(const std::vector<Sample>& bare) {
  const auto disturbed = std::count_if(bare.begin(), bare.end(), [](const Sample& sample) {
    return sample.back() > kDisturbed * sample.front();
  });
  if (disturbed == 0) return;
  std::printf(
      "\nIn %td of %zu rounds, with nothing counted, a switch across cgroups took more than %.1f "
      "times one\nwithin: another program seems to count events of cgroups, and then the ratios "
      "are too low.\n",
      disturbed, bare.size(), kDisturbed);
}

void print_legend(const Options& options, std::size_t cpus, int cpu) {
  utsname kernel{};
  ::uname(&kernel);
  std::printf(
      "perf_event_exporter %s, %s %s %s, %zu CPUs\n\n"
      "Two processes on CPU %d hand a byte to and fro over pipes, and what the daemon would count "
      "is open\nmeanwhile. ns/sw.: CPU time of both for each context switch (half a round trip), "
      "median of %zu rounds\nof %zu round trips. + ns, ratio, and its quartiles: against 'nothing' "
      "of the same round. Each round has\nall lines, in random order. Counted: %s.\nThe "
      "daemon's polls are not in this; see bench poll.\n",
      std::string(daemon::kVersion).c_str(), kernel.sysname, kernel.release, kernel.machine, cpus,
      cpu, options.rounds, options.round_trips, options.events.c_str());
  std::fflush(stdout);
}

Result<> measure(const Options& options, const StopSignals& stop) {
  const host::HostRoots roots;
  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return cpus.error();
  const int cpu = cpus->front();  // guests may write no records on others while they are idle
  const std::size_t most = *std::max_element(options.cgroups.begin(), options.cgroups.end());
  const Result<SwitchCgroups> cgroups =
      SwitchCgroups::make(roots, std::max(most - kFewestCgroups, kFewestOthers));
  if (!cgroups) return cgroups.error();
  Result<PingPong> game = PingPong::start(cpu, cgroups->directories());
  if (!game) return game.error();

  print_legend(options, cpus->size(), cpu);
  Result<std::vector<Variant>> variants = plan_all(choices(options, *cgroups), roots);
  if (!variants) return variants.error();
  const Result<std::vector<std::vector<Sample>>> samples =
      measure_rounds(*variants, *game, {options.rounds, options.round_trips, kSeed}, stop);
  if (!samples) return samples.error();
  print_table(*variants, *samples);
  print_disturbed(samples->front());
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App cli{
      "What counting cgroups costs a context switch, against the same with nothing counted. Needs "
      "root; takes about a minute."};
  cli.add_option("--cgroups", options.cgroups, "Numbers of counted cgroups")
      ->capture_default_str()
      ->check(CLI::Range(kFewestCgroups, std::size_t{100'000}));
  cli.add_option("--events", options.events, "What is counted, as in the configuration")
      ->capture_default_str();
  CLI::Option* rounds = cli.add_option("--rounds", options.rounds, "Rounds")
                            ->capture_default_str()
                            ->check(CLI::Range(1, 100'000));
  CLI::Option* trips =
      cli.add_option("--round-trips", options.round_trips, "Round trips of one measurement")
          ->capture_default_str()
          ->check(CLI::Range(100, 100'000'000));
  cli.add_flag("--quick", options.quick, "Few and short rounds: to see it work, not for figures")
      ->excludes(rounds)
      ->excludes(trips);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error);
  }
  if (options.quick) {
    options.rounds = kQuickRounds;
    options.round_trips = kQuickRoundTrips;
  }

  const StopSignals stop;
  const Result<> measured = measure(options, stop);
  if (measured) return 0;
  std::fprintf(stderr, "bench_cgroup: %s\n", describe(measured.error()).c_str());
  return 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) { return pex::bench::run(argc, argv); }
