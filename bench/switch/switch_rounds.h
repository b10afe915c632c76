#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "bench/support/stop_signals.h"
#include "bench/switch/choices.h"
#include "bench/switch/counter_set.h"
#include "bench/switch/ping_pong.h"

namespace pex::bench {

/// What is open while a ping-pong is measured.
struct Variant {
  Choice choice;
  std::function<Result<std::unique_ptr<OpenCounters>>()> open;  ///< opens what was chosen
  std::size_t descriptors = 0;                                  ///< open ones
};

/// Nanoseconds for each switch, by Partner.
using Sample = std::array<double, kPartners.size()>;

struct Rounds {
  std::size_t number = 0;
  std::size_t round_trips = 0;  ///< of one measurement
  unsigned seed = 0;            ///< of the orders of variants
};

/// In each round every variant: its counters are opened, each partner is played with once, and they
/// are closed. The order is random, but those that count cgroups by descriptors follow one another,
/// first or last: the kernel needs a while to forget them. Returns a row of samples for each
/// variant, one of each round.
Result<std::vector<std::vector<Sample>>> measure_rounds(std::vector<Variant>& variants,
                                                        PingPong& game, const Rounds& rounds,
                                                        const StopSignals& stop);

/// Plays once more while each variant that counts by records is open, and returns what came of the
/// records. Not in the rounds: to get this takes a poll, in which the daemon's check of the records
/// opens descriptors of a cgroup.
Result<RecordsRead> count_records(std::vector<Variant>& variants, PingPong& game,
                                  std::size_t round_trips, const StopSignals& stop);

/// How one variant compares with the first one, of the same round each.
struct Comparison {
  double ns = 0;        ///< median
  double added_ns = 0;  ///< median of the differences
  double ratio = 0;     ///< median of the ratios
  double low_ratio = 0;
  double high_ratio = 0;  ///< their quartiles
};
Comparison compare(const std::vector<Sample>& samples, const std::vector<Sample>& bare,
                   Partner partner);

}  // namespace pex::bench
