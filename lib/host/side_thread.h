#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace pex::host {

/// Does a job that may hang, such as reading a file of a server that is away, on a thread of its
/// own: the caller decides how long it waits. Not thread-safe.
class SideThread {
 public:
  using Job = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  /// `name` of the thread, at most 15 characters. The job owns what it uses.
  SideThread(const char* name, Job job);
  /// A job that hangs is abandoned.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  /// Begins the job; not while it is busy. Without a thread (none can be started) it is done here.
  void begin();
  /// Until wait_until() has seen the end of the job.
  bool is_busy() const { return is_busy_; }
  /// False if it is still busy at `deadline`.
  bool wait_until(Clock::time_point deadline);

 private:
  struct State;

  const char* name_;
  std::shared_ptr<State> state_;  ///< also of the thread
  bool is_busy_ = false;
};

}  // namespace pex::host
