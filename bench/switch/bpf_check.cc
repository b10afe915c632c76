#include "bench/switch/bpf_check.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pex::bench {
namespace {

constexpr int kTries = 3;
constexpr std::size_t kRoundTrips = 10'000;
constexpr std::uint64_t kOften = 1000;

using Sums = BpfCounters::Sums;
using SumsOfCgroups = std::map<std::uint64_t, Sums>;

std::uint64_t total(const SumsOfCgroups& all, std::size_t event) {
  std::uint64_t sum = 0;
  for (const auto& [id, sums] : all) sum += sums[event];
  return sum;
}

double deviation(std::uint64_t seen, std::uint64_t expected) {
  return std::abs(static_cast<double>(seen) / static_cast<double>(expected) - 1);
}

std::uint64_t value_of(const SumsOfCgroups& all, const std::string& directory, std::size_t event) {
  struct ::stat status {};
  if (::stat(directory.c_str(), &status) != 0) return 0;
  const auto found = all.find(status.st_ino);
  return found == all.end() ? 0 : found->second[event];
}

struct Instant {
  Sums counts;
  SumsOfCgroups sums;
};

Result<Instant> read_all(BpfCounters& counters, int cpu) {
  Result<Sums> counts = counters.counts(cpu);
  if (!counts) return counts.error();
  return Instant{std::move(*counts), counters.sums(cpu)};
}

double deviation_of_sums(const Instant& before, const Instant& after) {
  double worst = 0;
  for (std::size_t event = 0; event < after.counts.size(); ++event) {
    const std::uint64_t expected = after.counts[event] - before.counts[event];
    if (expected < kOften) continue;
    const std::uint64_t seen = total(after.sums, event) - total(before.sums, event);
    worst = std::max(worst, deviation(seen, expected));
  }
  return worst;
}

double deviation_of_switches(const Instant& before, const Instant& after, std::size_t event,
                             const SwitchCgroups& cgroups) {
  double worst = 0;
  for (const std::string& directory : cgroups.directories()) {
    const std::uint64_t seen =
        value_of(after.sums, directory, event) - value_of(before.sums, directory, event);
    worst = std::max(worst, deviation(seen, PingPong::with_warm_up(kRoundTrips)));
  }
  return worst;
}

}  // namespace

Result<BpfCheck> check_bpf(BpfCounters& counters, std::optional<std::size_t> switches, int cpu,
                           PingPong& game, const SwitchCgroups& cgroups, const StopSignals& stop) {
  BpfCheck check;
  for (int tries = 0; tries < kTries; ++tries) {
    const Result<Instant> before = read_all(counters, cpu);
    if (!before) return before.error();
    const Result<double> played = game.ns_per_switch(Partner::kInOtherCgroup, kRoundTrips, stop);
    if (!played) return played.error();
    const Result<Instant> after = read_all(counters, cpu);
    if (!after) return after.error();
    check.deviation = deviation_of_sums(*before, *after);
    if (switches) {
      check.switches_deviation = deviation_of_switches(*before, *after, *switches, cgroups);
    }
    if (check.is_right()) break;
  }
  return check;
}

}  // namespace pex::bench
