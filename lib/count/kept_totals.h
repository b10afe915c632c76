#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pex::collect {

/// What a group has counted at each target since its series began, and for how long: only of a
/// group by which others are estimated.
class KeptTotals {
 public:
  explicit KeptTotals(std::size_t events) : events_(events) {}

  void begin(std::size_t targets) {
    is_kept_ = true;
    resize(targets);
  }
  void resize(std::size_t targets) {
    if (!is_kept_) return;
    counts_.resize(targets * events_);
    times_.resize(targets);
  }
  void forget(std::size_t target) {
    if (!is_kept_) return;
    std::fill_n(counts_.data() + target * events_, events_, 0);
    times_[target] = {};
  }

  // Only if they are kept.

  bool is_kept() const { return is_kept_; }
  void add_count(std::size_t target, std::size_t event, std::uint64_t count) {
    counts_[target * events_ + event] += count;
  }
  void add_time(std::size_t target, std::chrono::nanoseconds time) { times_[target] += time; }

  std::uint64_t count(std::size_t target, std::size_t event) const {
    return counts_[target * events_ + event];
  }
  /// Enabled, and not unmeasured.
  std::chrono::nanoseconds time(std::size_t target) const { return times_[target]; }

 private:
  std::size_t events_;
  bool is_kept_ = false;
  std::vector<std::uint64_t> counts_;  ///< [target * events + event]
  std::vector<std::chrono::nanoseconds> times_;
};

}  // namespace pex::collect
