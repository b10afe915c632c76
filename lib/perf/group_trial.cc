#include "perf/group_trial.h"

#include <cerrno>
#include <thread>

namespace pex::perf {
namespace {

using Clock = std::chrono::steady_clock;

/// Nothing while it is unknown: the group has not been enabled on a running task yet.
std::optional<bool> was_scheduled(PerfKernel& kernel, const CounterGroup& group) {
  GroupReading reading;
  if (!group.read(kernel, reading)) return true;  // the polls report read errors
  if (reading.state == GroupReading::State::kOffPmu) return false;
  if (reading.time_enabled.count() == 0) return {};
  return reading.time_running.count() > 0;
}

bool is_scheduled(PerfKernel& kernel, const CounterGroup& group) {
  constexpr std::chrono::milliseconds kPause{2};
  for (const Clock::time_point end = Clock::now() + kTrialTimeout;;) {
    const std::optional<bool> scheduled = was_scheduled(kernel, group);
    if (scheduled == true) return true;
    if (Clock::now() >= end) return !scheduled.has_value();
    std::this_thread::sleep_for(kPause);
  }
}

bool counts(PerfKernel& kernel, std::span<const CounterSpec> events, const Place& place,
            GroupMode mode) {
  return try_group(kernel, events, place, mode).outcome == Trial::Outcome::kCounts;
}

/// The longest prefix of the events that fits as one group, at least `least` of them. Fewer events
/// always fit if more do, so a binary search finds it.
Piece largest_fitting(PerfKernel& kernel, std::span<const CounterSpec> events, const Place& place,
                      GroupMode mode, std::size_t least) {
  if (!counts(kernel, events.first(least), place, mode)) return {least, false};
  std::size_t fits = least;
  std::size_t too_many = events.size() + 1;
  while (too_many - fits > 1) {
    const std::size_t tried = (fits + too_many) / 2;
    (counts(kernel, events.first(tried), place, mode) ? fits : too_many) = tried;
  }
  return {fits, true};
}

}  // namespace

Trial try_group(PerfKernel& kernel, std::span<const CounterSpec> events, const Place& place,
                GroupMode mode) {
  if (events.size() > kMaxGroupEvents) {
    return {Trial::Outcome::kRefused,
            OpenFailure{kMaxGroupEvents, Error{E2BIG, "open a group of more than 64 events",
                                               "put fewer events in one group"}},
            {}};
  }
  Result<CounterGroup, OpenFailure> group = CounterGroup::open(kernel, events, place, mode);
  if (!group) return {Trial::Outcome::kRefused, group.error(), {}};
  if (!is_scheduled(kernel, *group)) return {Trial::Outcome::kNeverScheduled, {}, {}};
  return {Trial::Outcome::kCounts, {}, std::move(*group)};
}

std::vector<Piece> split_to_fit(PerfKernel& kernel, std::span<const CounterSpec> events,
                                const Place& place, GroupMode mode, std::size_t together) {
  std::vector<Piece> pieces;
  while (!events.empty()) {
    const std::size_t least = pieces.empty() ? together : 1;
    pieces.push_back(largest_fitting(kernel, events, place, mode, least));
    events = events.subspan(pieces.back().events);
  }
  return pieces;
}

}  // namespace pex::perf
