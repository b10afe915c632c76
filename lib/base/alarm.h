#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex {

/// Wakes one sleeping thread: at once, or at a time that can be changed or cancelled without waking
/// it. Takes no lock.
class Alarm {
 public:
  enum class Cause { kRung, kExpired };

  /// Fails if fewer than two descriptors are free.
  static Result<std::unique_ptr<Alarm>> create();

  /// From any thread. A ring before wait() makes it return at once; several rings count as one.
  void ring();
  /// Replaces the time that was set before.
  void expire_after(std::chrono::nanoseconds time);
  void cancel();

  /// Waits for a ring or the set time. Called by one thread.
  Cause wait();

 private:
  Alarm(UniqueFd event, UniqueFd timer) : event_(std::move(event)), timer_(std::move(timer)) {}

  UniqueFd event_;
  UniqueFd timer_;
};

}  // namespace pex
