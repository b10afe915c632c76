#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "estimate/group_estimator.h"

namespace pex::collect {

/// At its end a total stands still, as a wrap would be a fall.
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

/// What one group added between two readings.
struct Increment {
  estimate::Coverage coverage = estimate::Coverage::kNone;
  std::span<const std::uint64_t> events;  ///< one element for each event of the group
  std::chrono::nanoseconds enabled{};     ///< wanted the PMU
  std::chrono::nanoseconds running{};     ///< had it
};

/// What one group has counted at one target on one CPU since the exporter first opened it, across
/// all reopenings. Takes increments only, so nothing in it can fall.
class GroupTotals {
 public:
  explicit GroupTotals(std::size_t events) : events_(events) {}

  void add(const Increment& increment);

  /// The group wants the PMU and does not have it: there is no value that could be known.
  void want_in_vain() { wanted_ = true; }

  std::span<const std::uint64_t> events() const { return events_; }
  std::chrono::nanoseconds enabled() const { return enabled_; }
  std::chrono::nanoseconds running() const { return running_; }
  bool measured() const { return measured_; }  ///< has been read at least once
  bool counted() const { return counted_; }    ///< has had the PMU at least once
  bool wanted() const { return wanted_; }      ///< has wanted the PMU at least once

 private:
  std::vector<std::uint64_t> events_;
  std::chrono::nanoseconds enabled_{};
  std::chrono::nanoseconds running_{};
  bool measured_ = false;
  bool counted_ = false;
  bool wanted_ = false;
};

}  // namespace pex::collect
