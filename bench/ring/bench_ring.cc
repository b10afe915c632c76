#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

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
constexpr std::size_t kRoundTrips = 5000;  // of one order to the ping-pong
constexpr std::size_t kKiB = 1024;

struct Options {
  double seconds = 5;  ///< of each of the two parts
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

void print_legend(int cpu, const Options& options) {
  utsname kernel{};
  ::uname(&kernel);
  std::printf(
      "%s %s %s\n\n"
      "On CPU %d two processes in two cgroups hand a byte to and fro, and a group of 7 software "
      "events writes a\nrecord of %zu bytes at each switch, into a ring of %zu KiB. A thread on "
      "the same CPU is woken up when the\nring is half full. ns: CPU time of that thread.\n\n",
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
  std::printf("\nGoal: 0 lost, at most %.0f ns a record drained and decoded: %s\n", kGoalNs,
              all_read && *ns <= kGoalNs ? "reached" : "missed");
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
