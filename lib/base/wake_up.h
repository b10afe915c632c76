#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "base/semaphore.h"
#include "base/unique_fd.h"

namespace pex {

/// Wakes one sleeping thread, as a semaphore does, and lets it also wait for a descriptor. Until it
/// first waits for one, it costs no more than the semaphore.
class WakeUp {
 public:
  enum class Cause { kPosted, kReadable, kTimeout };

  /// Lets one wait() return, now or later. From any thread.
  void post();

  /// Waits for a post, or until `fd` is readable; -1: only for a post. For as long as `at_most`;
  /// nothing: for ever. Several posts before it may count as one. Called by one thread.
  Cause wait(int fd = -1, std::optional<std::chrono::nanoseconds> at_most = {});

 private:
  bool prepare_to_poll();

  Semaphore semaphore_;
  UniqueFd event_;                   ///< an eventfd, created by the waiting thread
  std::atomic<int> published_ = -1;  ///< the same, once posts must write to it
};

}  // namespace pex
