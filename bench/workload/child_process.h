#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::bench {

/// A child of this process, in a process group of its own. It is killed with this, together with
/// its own children, and when this process ends. Signals are not blocked in it.
class ChildProcess {
 public:
  /// Where it runs.
  struct Place {
    std::string cgroup = {};     ///< a directory; empty: in that of this process
    std::vector<int> cpus = {};  ///< empty: on those of this process
  };

  /// Forks it; it calls `what`, and ends.
  static Result<ChildProcess> fork(const Place& place, const std::function<void()>& what);
  /// Executes a program, found as by a shell, whose output goes to the file `log`.
  static Result<ChildProcess> execute(const Place& place, const std::vector<std::string>& command,
                                      const std::string& log);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// Readable for poll(2) once it has ended.
  int descriptor() const { return descriptor_.get(); }
  /// Used so far by all its threads. That of a thread which is running on another CPU is in it only
  /// up to its last scheduler tick.
  std::chrono::nanoseconds cpu_time() const;

  struct End {
    int status = 0;                        ///< as of wait(2)
    std::chrono::microseconds cpu_time{};  ///< with that of its own children
  };
  /// Waits for its end, once.
  End wait();

 private:
  ChildProcess(pid_t id, UniqueFd descriptor) : id_(id), descriptor_(std::move(descriptor)) {}

  pid_t id_;  ///< -1: it has been waited for
  UniqueFd descriptor_;
};

}  // namespace pex::bench
