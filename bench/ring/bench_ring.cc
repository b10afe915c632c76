#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "bench/ring/recording_reader.h"
#include "bench/ring/ring_reader.h"
#include "bench/ring/switch_records.h"
#include "bench/support/cost.h"
#include "bench/support/stop_signals.h"
#include "bench/switch/ping_pong.h"
#include "bench/switch/switch_cgroups.h"
#include "host/topology.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoalNs = 50;
constexpr double kGoalPercent = 0.1;  // of the worker's CPU, at this rate
constexpr double kGoalRate = 20'000;  // records/s
constexpr std::chrono::milliseconds kBurst{10};
constexpr std::size_t kRoundTrips = 5000;  // of one order to the ping-pong
constexpr std::size_t kKiB = 1024;

struct Options {
  double seconds = 5;  ///< of each part
  std::size_t ring = 256 * kKiB;
  bool quick = false;
};
constexpr double kQuickSeconds = 0.5;

/// So many seconds of switches across two cgroups, while a thread reads their records.
Result<> feed(PingPong& game, double seconds, const StopSignals& stop) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const Result<double> unused = game.ns_per_switch(Partner::kInOtherCgroup, kRoundTrips, stop);
    if (!unused) return unused.error();
  }
  return {};
}

/// The same at a rate of records, with work in between that keeps the CPU busy.
Result<> feed_evenly(PingPong& game, double seconds, double rate, const StopSignals& stop) {
  const std::chrono::nanoseconds every{static_cast<std::int64_t>(2e9 / rate)};
  constexpr std::size_t kInTurn = 1000;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const Result<double> unused = game.ns_per_switch(Partner::kInOtherCgroup, kInTurn, every, stop);
    if (!unused) return unused.error();
  }
  return {};
}

/// The same at a rate of records, in a burst each 10 ms, while the CPU is else idle.
Result<> feed_slowly(PingPong& game, double seconds, double rate, const StopSignals& stop) {
  const double records = rate * std::chrono::duration<double>(kBurst).count();
  const auto with_warm_up = static_cast<double>(PingPong::with_warm_up(kRoundTrips));
  const auto round_trips = static_cast<std::size_t>(records / 2 / with_warm_up * kRoundTrips);
  auto due = Clock::now();
  const auto end = due + std::chrono::duration<double>(seconds);
  for (; due < end; due += kBurst) {
    std::this_thread::sleep_until(due);
    const Result<double> unused = game.ns_per_switch(Partner::kInOtherCgroup, round_trips, stop);
    if (!unused) return unused.error();
  }
  return {};
}

void print_legend(int cpu, const Options& options) {
  utsname kernel{};
  ::uname(&kernel);
  std::printf(
      "%s %s %s\n\n"
      "On CPU %d two processes in two cgroups hand a byte to and fro, and a group of 7 software "
      "events writes a\nrecord of %zu bytes at each switch, into a ring of %zu KiB. A thread on "
      "the same CPU is woken up when the\nring is half full. ns: CPU time of that thread. 'As the "
      "daemon's worker does': the "
      "groups of the shipped library\n(SwitchRecording) with 6 software events. "
      "Its poll once a second is in it. Attributed: the context\nswitches of the two cgroups, to "
      "all "
      "records; others run too. In turns: two more groups, of which one counts at a time.\n\n",
      kernel.sysname, kernel.release, kernel.machine, cpu, SwitchRecords::kRecordBytes,
      options.ring / kKiB);
  std::fflush(stdout);
}

/// One way alone: the rate, what was lost, and the cost with the wake-ups.
Result<bool> measure_alone(Way way, SwitchRecords& records, int cpu, PingPong& game,
                           const Options& options, const StopSignals& stop) {
  RingReader reader{records, cpu, {way}};
  if (const Result<> fed = feed(game, options.seconds, stop); !fed) return fed.error();
  reader.stop();
  if (!reader.is_bound()) return Error{0, "bind a thread to a CPU", {}};
  const auto count = static_cast<double>(reader.records());
  std::printf("%-34s %9.0f %11.0f %6llu %10llu %9.1f %6.2f\n", name_of(way),
              count / reader.seconds(),
              static_cast<double>(reader.readings().size()) / reader.seconds(),
              static_cast<unsigned long long>(reader.lost()),
              static_cast<unsigned long long>(reader.unreadable()), reader.cpu_ns() / count,
              reader.cpu_ns() / reader.seconds() / 1e7);
  return reader.lost() == 0 && reader.unreadable() == 0;
}

std::vector<double> costs_of(Way way, const std::vector<Reading>& readings) {
  std::vector<double> costs;
  for (const Reading& reading : readings) {
    if (reading.way == way) costs.push_back(reading.ns);
  }
  return costs;
}

/// All ways, a wake-up each: the cost without the wake-ups. Returns that of the last.
Result<double> compare(SwitchRecords& records, int cpu, PingPong& game, const Options& options,
                       const StopSignals& stop) {
  RingReader reader{records, cpu, {kWays.begin(), kWays.end()}};
  if (const Result<> fed = feed(game, options.seconds, stop); !fed) return fed.error();
  reader.stop();
  std::printf("\n%-34s %9s %15s %10s\n", "without the wake-ups", "ns/record", "25-75%", "wake-ups");
  double last = 0;
  for (const Way way : kWays) {
    const std::vector<double> costs = costs_of(way, reader.readings());
    if (costs.empty()) return Error{0, "read the ring: no record was written", {}};
    last = quantile(costs, 0.5);
    std::printf("%-34s %9.1f %7.1f-%-7.1f %10zu\n", name_of(way), last, quantile(costs, 0.25),
                quantile(costs, 0.75), costs.size());
  }
  std::printf("(%llu lost, %zu cgroups)\n", static_cast<unsigned long long>(reader.lost()),
              reader.cgroups());
  return last;
}

double percent_of_cpu(const RecordingReader::Outcome& outcome) {
  return outcome.cpu_ns / outcome.seconds / 1e7;
}

void print_outcome(const char* feed, const RecordingReader::Outcome& outcome) {
  const auto records = static_cast<double>(outcome.records.records);
  std::printf("%-34s %9.0f %8.1f %7.1f %6llu %8llu %10llu ", feed, records / outcome.seconds,
              static_cast<double>(outcome.drains) / outcome.seconds,
              static_cast<double>(outcome.turns) / outcome.seconds,
              static_cast<unsigned long long>(outcome.records.lost),
              static_cast<unsigned long long>(outcome.records.skipped),
              static_cast<unsigned long long>(outcome.unreadable));
  if (records == 0) {
    std::printf("%9s %6.3f %12s\n", "-", percent_of_cpu(outcome), "-");
    return;
  }
  std::printf("%9.1f %6.3f %12.1f\n", outcome.cpu_ns / records, percent_of_cpu(outcome),
              100 * static_cast<double>(outcome.switches) / records);
}

/// Where the ping-pong is played.
struct Scene {
  int cpu = 0;
  const SwitchCgroups& cgroups;
  PingPong& game;
};

/// How the worker is fed, and what it counts.
enum class Feed { kFast, kEven, kBursts, kNone };
struct Work {
  const char* title;
  Feed feed;
  RecordingReader::Options counted = {};
};
constexpr std::array kWorks = {
    Work{"2 cgroups, at full speed", Feed::kFast},
    Work{"2 cgroups, evenly on a busy CPU", Feed::kEven},
    Work{"2 cgroups, in bursts, else idle", Feed::kBursts},
    Work{"and 3 above them, at full speed", Feed::kFast, {.with_ancestors = true}},
    Work{"and 3 above them, evenly", Feed::kEven, {.with_ancestors = true}},
    Work{"and 3 above them, in bursts", Feed::kBursts, {.with_ancestors = true}},
    Work{"2 cgroups, and groups in turns", Feed::kEven, {.in_turns = true}},
    Work{"idle", Feed::kNone},
    Work{"idle, and groups in turns", Feed::kNone, {.in_turns = true}},
};

Result<> feed(const Work& work, PingPong& game, double seconds, const StopSignals& stop) {
  switch (work.feed) {
    case Feed::kFast:
      break;
    case Feed::kEven:
      return feed_evenly(game, seconds, kGoalRate, stop);
    case Feed::kBursts:
      return feed_slowly(game, seconds, kGoalRate, stop);
    case Feed::kNone:
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      return {};
  }
  return feed(game, seconds, stop);
}

Result<RecordingReader::Outcome> measure_worker(const Work& work, const Scene& scene,
                                                const Options& options, const StopSignals& stop) {
  RecordingReader reader{scene.cpu, options.ring, scene.cgroups, work.counted};
  if (const Result<> fed = feed(work, scene.game, options.seconds, stop); !fed) return fed.error();
  Result<RecordingReader::Outcome> outcome = reader.stop();
  if (outcome) print_outcome(work.title, *outcome);
  return outcome;
}

/// Those of the first works, which have goals.
using Outcomes = std::array<RecordingReader::Outcome, 3>;
Result<Outcomes> measure_workers(const Scene& scene, const Options& options,
                                 const StopSignals& stop) {
  std::printf("\n%-34s %9s %8s %7s %6s %8s %10s %9s %6s %12s\n", "as the daemon's worker does",
              "records/s", "drains/s", "turns/s", "lost", "skipped", "unreadable", "ns/record",
              "CPU %", "attributed %");
  std::vector<RecordingReader::Outcome> all;
  for (const Work& work : kWorks) {
    const Result<RecordingReader::Outcome> outcome = measure_worker(work, scene, options, stop);
    if (!outcome) return outcome.error();
    all.push_back(*outcome);
  }
  return Outcomes{all[0], all[1], all[2]};
}

void print_goal(bool is_reached, const std::string& text) {
  std::printf("  %s: %s\n", text.c_str(), is_reached ? "reached" : "missed");
}

void print_goals(double ns, bool all_read, const Outcomes& outcomes) {
  const auto& [fast, even, bursts] = outcomes;
  std::printf("\nGoals\n");
  print_goal(all_read && ns <= kGoalNs, "0 lost, at most 50 ns a record drained and decoded");
  print_goal(fast.records.lost + fast.unreadable == 0, "the worker: 0 lost at full speed");
  for (const auto& [outcome, when] : {std::pair{even, "evenly on a busy CPU"},
                                      std::pair{bursts, "in bursts on one that is else idle"}}) {
    print_goal(
        outcome.records.lost + outcome.unreadable == 0 && percent_of_cpu(outcome) <= kGoalPercent,
        std::string("the worker: at most 0.1 % of its CPU at 20 000 records/s, ") + when);
  }
}

Result<> measure(const Options& options, const StopSignals& stop) {
  const host::HostRoots roots;
  const Result<std::vector<int>> cpus = host::online_cpus(roots);
  if (!cpus) return cpus.error();
  const int cpu = cpus->front();
  const Result<SwitchCgroups> cgroups = SwitchCgroups::make(roots, 0);
  if (!cgroups) return cgroups.error();
  Result<PingPong> game = PingPong::start(cpu, cgroups->directories());
  if (!game) return game.error();
  Result<SwitchRecords> records = SwitchRecords::open(cpu, options.ring, options.ring / 2);
  if (!records) return records.error();

  print_legend(cpu, options);
  std::printf("%-34s %9s %11s %6s %10s %9s %6s\n", "with the wake-ups", "records/s", "wake-ups/s",
              "lost", "unreadable", "ns/record", "CPU %");
  bool all_read = true;
  for (const Way way : {Way::kDrain, Way::kDecode}) {
    const Result<bool> alone = measure_alone(way, *records, cpu, *game, options, stop);
    if (!alone) return alone.error();
    all_read = all_read && *alone;
  }
  const Result<double> ns = compare(*records, cpu, *game, options, stop);
  if (!ns) return ns.error();
  const auto outcomes = measure_workers({cpu, *cgroups, *game}, options, stop);
  if (!outcomes) return outcomes.error();
  print_goals(*ns, all_read, *outcomes);
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App cli{"What reading the records of a ring costs, against bare reads. Needs root."};
  std::size_t ring_kib = options.ring / kKiB;
  CLI::Option* seconds = cli.add_option("--seconds", options.seconds, "Seconds of each part")
                             ->capture_default_str()
                             ->check(CLI::Range(0.1, 3600.0));
  cli.add_option("--ring", ring_kib, "KiB of the ring, a power of two")->capture_default_str();
  cli.add_flag("--quick", options.quick, "Short parts: to see it work, not for figures")
      ->excludes(seconds);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error);
  }
  options.ring = ring_kib * kKiB;
  if (options.quick) options.seconds = kQuickSeconds;

  const StopSignals stop;
  const Result<> measured = measure(options, stop);
  if (measured) return 0;
  std::fprintf(stderr, "bench_ring: %s\n", describe(measured.error()).c_str());
  return 1;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) { return pex::bench::run(argc, argv); }
