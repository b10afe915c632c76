#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace pex::collect {

/// The time for which a group at one target was runnable while the kernel's clock of it was
/// stopped: it was stopped, so that others may count (rotation.h), or it is pinned and has lost its
/// place. Measured by `on_cpu`, the time for which the target was on the CPU, which events that
/// always count provide; without them, only the kernel's clock is known.
///
///   on the PMU --detect_loss(), lost()--> lost --regained(), closed()--> on the PMU
class WantedTime {
 public:
  using nanoseconds = std::chrono::nanoseconds;  // NOLINT(readability-identifier-naming)
  using Time = std::optional<nanoseconds>;

  /// It is opened.
  void open(Time on_cpu) { on_cpu_ = on_cpu; }

  /// At a reading on the PMU, `enabled` since the last one: that time, with that of being stopped.
  nanoseconds advance(nanoseconds enabled, Time on_cpu, bool is_rotated) {
    nanoseconds wanted = enabled;
    if (is_rotated && on_cpu && on_cpu_) wanted = std::max(wanted, *on_cpu - *on_cpu_);
    on_cpu_ = on_cpu;
    return wanted;
  }

  /// It has lost its place since the last reading.
  void detect_loss() {
    if (lost_since_) return;
    lost_since_ = on_cpu_;
    lost_ = {};
  }

  // The time lost since the last of these calls; nothing if it is unknown.

  /// It is without its place. The kernel still holds the counts from before the loss, so the time
  /// up to the first of these calls is accounted only once they are known.
  Time lost(Time on_cpu) {
    Time more;
    if (!lost_since_) {
      detect_loss();
      if (!lost_since_) lost_since_ = on_cpu;
    } else if (on_cpu && on_cpu_) {
      more = account(*on_cpu - *on_cpu_);
    }
    on_cpu_ = on_cpu;
    return more;
  }

  /// It is back: the kernel has counted a part of the time as `enabled` since the last reading.
  Time regained(nanoseconds enabled, Time on_cpu) { return end_loss(on_cpu, enabled); }

  /// It is closed, without another reading.
  Time closed(Time on_cpu) { return end_loss(on_cpu, {}); }

 private:
  Time end_loss(Time on_cpu, nanoseconds counted) {
    const Time since = std::exchange(lost_since_, {});
    if (!since || !on_cpu) return {};
    return account(*on_cpu - *since - lost_ - counted);
  }

  nanoseconds account(nanoseconds more) {
    more = std::max(more, nanoseconds{0});
    lost_ += more;
    return more;
  }

  Time on_cpu_;  ///< at the opening, at the last reading, or when it was found without its place
  Time lost_since_;     ///< in the time of on_cpu_
  nanoseconds lost_{};  ///< of the time since then, as far as it is accounted
};

}  // namespace pex::collect
