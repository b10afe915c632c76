#pragma once

#include <chrono>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex {

/// Wakes one sleeping thread: at once, or at a time that can be put off or cancelled without waking
/// it. Takes no lock.
class Alarm {
 public:
  enum class Cause { kRung, kExpired };

  /// Fails when no descriptors are left: it takes two.
  static Result<std::unique_ptr<Alarm>> create();

  /// From any thread. Rung before wait() is called, it makes that return; rung twice, once.
  void ring();
  /// The time takes the place of the one that was set before.
  void expire_after(std::chrono::nanoseconds time);
  void cancel();

  /// Until it is rung, or its time has come. By one thread.
  Cause wait();

 private:
  Alarm(UniqueFd event, UniqueFd timer) : event_(std::move(event)), timer_(std::move(timer)) {}

  UniqueFd event_;
  UniqueFd timer_;
};

}  // namespace pex
