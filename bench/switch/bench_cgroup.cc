#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/stop_signals.h"
#include "bench/switch/choices.h"
#include "bench/switch/counter_set.h"
#include "bench/switch/ping_pong.h"
#include "bench/switch/switch_cgroups.h"
#include "bench/switch/switch_report.h"
#include "bench/switch/switch_rounds.h"
#include "daemon/cli/version.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

constexpr unsigned kSeed = 1;
constexpr std::size_t kMaxCgroups = 16'000;

struct Options {
  Matrix matrix;
  std::size_t rounds = 20;
  bool quick = false;
  std::size_t round_trips = 5000;
};
constexpr std::size_t kQuickRounds = 2;
constexpr std::size_t kQuickRoundTrips = 1000;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Rising, each once, and none above `most`, which replaces those.
void normalise(std::vector<std::size_t>& numbers, std::size_t most) {
  for (std::size_t& number : numbers) number = std::min(number, most);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

void print_legend(const Options& options, std::size_t cpus, int cpu) {
  utsname kernel{};
  ::uname(&kernel);
  std::printf(
      "perf_event_exporter %s, %s %s %s, %zu CPUs\n\n"
      "Two processes on CPU %d hand a byte to and fro over pipes, and what the daemon would count "
      "is open\nmeanwhile. ns/sw.: CPU time of both for each context switch (half a round trip), "
      "median of %zu rounds\nof %zu round trips. + ns, ratio, and its quartiles: against 'nothing' "
      "of the same round. Each round has\nall lines, in random order. The CPUs are counted as "
      "well. Events, of which the first so many\nare counted: %s.\nThe daemon's polls are not in "
      "this; see bench poll.\n\n",
      std::string(daemon::kVersion).c_str(), kernel.sysname, kernel.release, kernel.machine, cpus,
      cpu, options.rounds, options.round_trips, joined(options.matrix.events).c_str());
  std::fflush(stdout);
}

/// Nothing if the limit of open files does not allow it, which is printed.
Result<std::optional<Variant>> plan_variant(const Choice& choice, const Matrix& matrix,
                                            const SwitchCgroups& cgroups,
                                            const host::HostRoots& roots) {
  using Opened = Result<std::unique_ptr<OpenCounters>>;
  if (choice.way == Way::kNothing) {
    return std::optional{
        Variant{choice, []() -> Opened { return std::make_unique<OpenCounters>(); }}};
  }
  Result<CounterSet> set = CounterSet::plan(configuration(choice, matrix, cgroups),
                                            choice.cgroups + choice.ancestors, roots);
  if (!set) return set.error();
  if (const Result<> allowed = set->check_limit(); !allowed) {
    std::printf("left out: %s, %zu cgroups, %zu events: %s\n", title_of(choice).c_str(),
                choice.cgroups, choice.events, describe(allowed.error()).c_str());
    return std::optional<Variant>{};
  }
  const auto shared = std::make_shared<CounterSet>(std::move(*set));
  return std::optional{Variant{choice, [shared] { return shared->open(); }}};
}

Result<std::vector<Variant>> plan_variants(const Matrix& matrix, const SwitchCgroups& cgroups,
                                           const host::HostRoots& roots) {
  std::vector<Variant> variants;
  for (const Choice& choice : choices_of(matrix)) {
    Result<std::optional<Variant>> variant = plan_variant(choice, matrix, cgroups, roots);
    if (!variant) return variant.error();
    if (*variant) variants.push_back(std::move(**variant));
  }
  return variants;
}

Result<> measure(const Options& options, const StopSignals& stop) {
  const host::HostRoots roots;
  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return cpus.error();
  const int cpu = cpus->front();  // guests may write no records on others while they are idle
  const Result<SwitchCgroups> cgroups =
      SwitchCgroups::make(roots, options.matrix.cgroups.back() - kFewestCgroups);
  if (!cgroups) return cgroups.error();
  Result<PingPong> game = PingPong::start(cpu, cgroups->directories());
  if (!game) return game.error();

  print_legend(options, cpus->size(), cpu);
  Result<std::vector<Variant>> variants = plan_variants(options.matrix, *cgroups, roots);
  if (!variants) return variants.error();
  const Result<std::vector<std::vector<Sample>>> samples =
      measure_rounds(*variants, *game, {options.rounds, options.round_trips, kSeed}, stop);
  if (!samples) return samples.error();
  const Result<RecordsRead> records = count_records(*variants, *game, options.round_trips, stop);
  if (!records) return records.error();
  const Measured measured{options.matrix, *variants, *samples};
  print_table(measured);
  print_goals(measured);
  print_records(*records);
  print_disturbed(samples->front());
  return {};
}

void add_matrix(CLI::App& cli, Matrix& matrix) {
  cli.add_option("--cgroups", matrix.cgroups, "Numbers of counted cgroups")
      ->capture_default_str()
      ->check(CLI::Range(kFewestCgroups, kMaxCgroups));
  cli.add_option("--events", matrix.events, "What is counted, separated by ','")
      ->delimiter(',')
      ->capture_default_str();
  cli.add_option("--event-numbers", matrix.event_numbers, "How many of the events are counted")
      ->capture_default_str()
      ->check(CLI::Range(1, 32));
}

int run(int argc, char** argv) {
  Options options;
  CLI::App cli{
      "What counting cgroups costs a context switch, against the same with nothing counted. Needs "
      "root; takes some 8 minutes."};
  add_matrix(cli, options.matrix);
  CLI::Option* rounds = cli.add_option("--rounds", options.rounds, "Rounds")
                            ->capture_default_str()
                            ->check(CLI::Range(1, 100'000));
  cli.add_flag("--quick", options.quick, "Few and short rounds: to see it work, not for figures")
      ->excludes(rounds);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error);
  }
  if (options.quick) {
    options.rounds = kQuickRounds;
    options.round_trips = kQuickRoundTrips;
  }
  normalise(options.matrix.cgroups, kMaxCgroups);
  normalise(options.matrix.event_numbers, options.matrix.events.size());

  const StopSignals stop;
  const Result<> measured = measure(options, stop);
  if (measured) return 0;
  std::fprintf(stderr, "bench_cgroup: %s\n", describe(measured.error()).c_str());
  return 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) { return pex::bench::run(argc, argv); }
