#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace pex::collect {

/// What happened in one poll, on one CPU or, merged, on all: goes back by value to who asked for
/// the poll, for the log and for the exporter's own metrics.
struct PollReport {
  /// Refusals to open are counted by what was refused and why.
  struct Refusal {
    std::string event;
    int code = 0;
    auto operator<=>(const Refusal&) const = default;
  };

  std::chrono::nanoseconds duration{};  ///< from the first step of the poll to its snapshot
  std::size_t groups_opened = 0;
  std::size_t groups_closed = 0;
  std::size_t groups_read = 0;
  std::size_t groups_off_pmu = 0;  ///< pinned, and without their place on the PMU
  std::size_t open_events = 0;     ///< after the poll
  std::size_t read_failures = 0;   ///< groups that could not be read
  std::map<Refusal, std::uint64_t> refusals;
  std::vector<Error> failures;    ///< the first kMaxFailures, each ready to be logged
  std::size_t more_failures = 0;  ///< beyond those

  static constexpr std::size_t kMaxFailures = 16;

  void add_failure(const Error& error);
  void merge(const PollReport& part);
};

}  // namespace pex::collect
