#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pex::perf {

/// How a process ended (waitpid(2)).
struct CommandEnd {
  int status = 0;  ///< its exit status, 0 to 255; 0 if a signal ended it
  int signal = 0;  ///< the number of the signal that ended it, or 0

  /// As shells report it: its exit status, or 128 + the number of the signal.
  int shell_status() const { return signal == 0 ? status : 128 + signal; }
  bool operator==(const CommandEnd&) const = default;
};

/// A program that this process runs as its child. It is forked at once and waits, so that counters
/// can be opened in it before its first instruction. States:
///
///   waiting --start()--> running --> ended
///      \--destructor, or this process ends: ended, without having executed anything
///
/// The program gets the descriptors, the environment and the ignored signals of this process, but
/// no blocked signals, and the default action of SIGPIPE, which programs that serve ignore. It
/// stays in the process group, so Control-C reaches both. One thread at a time uses an object.
///
/// Example:
///   Result<Command> command = Command::prepare({"sh", "-c", "exit 3"});
///   ASSERT_TRUE(command);
///   // Here counters are opened in command->pid(), to be enabled by its exec.
///   ASSERT_TRUE(command->start());
///   const Result<CommandEnd> end = command->wait();
///   ASSERT_TRUE(end);
///   EXPECT_EQ(end->shell_status(), 3);
class Command {
 public:
  /// Whether the program goes on when the thread that has prepared it ends, however that ends. With
  /// kNothing the kernel sends it SIGKILL then (PR_SET_PDEATHSIG of prctl(2)): not to a program
  /// that becomes another user's, nor to what it has started itself.
  enum class Outlives { kThread, kNothing };

  /// Forks; in any thread, also in several at once. `arguments`: the program, found as execvp(3)
  /// does, and what it is given; at least one.
  /// Fails with EINVAL if there are none, else as fork(2) and socketpair(2) do.
  static Result<Command> prepare(const std::vector<std::string>& arguments,
                                 Outlives outlives = Outlives::kThread);

  Command(Command&& other) noexcept : state_(std::exchange(other.state_, {})) {}
  Command& operator=(Command&& other) noexcept;
  /// Ends the program with SIGKILL if it has not ended, and waits for that, so that no zombie is
  /// left. A program that became another user's (sudo) and may not be killed is left running.
  ~Command() { end(); }

  /// Also after its end; then another process may have the number.
  int pid() const { return state_.pid; }

  /// Lets it execute the program, and returns when it does. Fails with the errno of execve(2), such
  /// as ENOENT; then the process has ended. A second call fails with EALREADY.
  Result<> start();

  /// Readable once the process has ended (pidfd_open(2)); -1 before Linux 5.3.
  int end_fd() const { return state_.end_fd.get(); }

  /// How it ended; nothing while it has not. Fails with ECHILD if something else of this process
  /// has waited for it.
  Result<std::optional<CommandEnd>> poll_end();
  /// The same, waits for the end. Fails with EINVAL before start().
  Result<CommandEnd> wait();

  /// After its end: the user and system time since start() of the process, and of its descendants
  /// that were waited for (getrusage(2)). Includes some tenths of a millisecond before execve(2).
  std::chrono::nanoseconds cpu_time() const { return state_.cpu_time; }

  /// Fails as kill(2) does, such as EPERM for a program that became another user's. After the end
  /// was waited for, nothing is sent: ESRCH.
  Result<> send_signal(int signal);

 private:
  Command(int pid, UniqueFd channel);
  Result<std::optional<CommandEnd>> wait_with(int options);
  void end();

  struct State {
    std::string name = {};
    int pid = -1;
    bool is_reaped = false;
    UniqueFd channel = {};  ///< to the waiting process; empty once it is started
    UniqueFd end_fd = {};
    std::optional<CommandEnd> end = {};
    std::chrono::nanoseconds cpu_time{};  ///< until it ends: negative, that before start()
  };
  State state_;
};

}  // namespace pex::perf
