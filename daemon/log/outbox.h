#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"

namespace pex::daemon {

/// Runs jobs that may block, in order, on its own thread, so that the caller never waits. Takes no
/// lock, because the event loop posts to it.
class Outbox {
 public:
  using Job = std::function<void()>;

  /// `name` of the thread, at most 15 characters. Fails if no thread is available.
  static Result<std::unique_ptr<Outbox>> create(const char* name, std::size_t capacity);

  /// Runs the remaining jobs first, for at most one second. A thread that is still blocked then is
  /// abandoned: it is not joined, and what its job owns is never destroyed. It ends with the
  /// program.
  ~Outbox();

  /// `then` follows the job, but never after this object: it may use what the job does not own.
  /// False, and both are dropped, when `capacity` jobs are waiting.
  bool post(Job job, Job then = {});

 private:
  struct State;
  explicit Outbox(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  ///< also the thread's, which may outlive us
};

}  // namespace pex::daemon
