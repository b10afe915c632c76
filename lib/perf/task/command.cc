#include "perf/task/command.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "host/process.h"

namespace pex::perf {
namespace {

constexpr int kNotExecuted = 127;  // as shells report a program that is not there

/// All signals blocked in this thread, until the end of the scope: between fork and exec a handler
/// of this program must not run in the child.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Held while this process has the child's end of a channel. A child that is forked meanwhile would
/// keep a copy of that end until it executes, and start() of the other would wait for that.
std::mutex forking;

// In the child, between fork and exec: what signal-safety(7) allows, and execvp(3), which is not in
// its list. Those of glibc (since 2.24) and musl allocate nothing and take no lock; they read PATH,
// so no other thread may change the environment meanwhile.

void restore_signals() {
  struct sigaction as_default {};
  as_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN && signal != SIGPIPE;
    if (!is_ignored) ::sigaction(signal, &as_default, nullptr);  // SIGKILL, SIGSTOP: refused
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_child(int channel, char* const* arguments, Command::Outlives outlives,
                            pid_t parent) {
  restore_signals();
  if (outlives == Command::Outlives::kNothing) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kNotExecuted);  // it ended before
  }
  char go = 0;
  ssize_t got = 0;
  do {
    got = ::read(channel, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(kNotExecuted);  // nobody will start it
  ::execvp(arguments[0], arguments);
  const int code = errno;
  (void)!::write(channel, &code, sizeof code);
  ::_exit(kNotExecuted);
}

std::vector<char*> argument_pointers(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execvp(3) does not change them
  }
  pointers.push_back(nullptr);
  return pointers;
}

Remedy remedy_for(int code) {
  switch (code) {
    case ENOENT:
      return "check the name of the program, and PATH";
    case EACCES:
      return "check that it is a file that may be executed";
    case ENOEXEC:
      return "give its interpreter as the program, or begin it with #!";
    default:
      return {};
  }
}

std::chrono::nanoseconds as_time(const timespec& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

std::chrono::nanoseconds as_time(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

/// 0 if it cannot be read.
std::chrono::nanoseconds cpu_time_of(int pid) {
  clockid_t clock{};
  timespec time{};
  const bool is_read =
      ::clock_getcpuclockid(pid, &clock) == 0 && ::clock_gettime(clock, &time) == 0;
  return is_read ? as_time(time) : std::chrono::nanoseconds{0};
}

/// The errno of a failed exec; 0 if the other end was closed, as exec does.
int await_exec(int channel) {
  int code = 0;
  ssize_t got = 0;
  do {
    got = ::recv(channel, &code, sizeof code, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof code) ? code : 0;
}

}  // namespace

Command::Command(int pid, UniqueFd channel)
    : state_{.pid = pid, .channel = std::move(channel), .end_fd = host::watch_process(pid)} {}

Command& Command::operator=(Command&& other) noexcept {
  if (this == &other) return *this;
  end();
  state_ = std::exchange(other.state_, {});
  return *this;
}

Result<Command> Command::prepare(const std::vector<std::string>& arguments, Outlives outlives) {
  if (arguments.empty()) return Error{EINVAL, "execute a command without a program", {}};
  const std::string attempted = "start a process for '" + arguments.front() + "'";
  const std::vector<char*> pointers = argument_pointers(arguments);
  const std::lock_guard lock{forking};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{errno, attempted, {}};
  }
  UniqueFd ours{ends[0]};
  const UniqueFd childs{ends[1]};
  const BlockedSignals blocked;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error{errno, attempted, "raise the limit of processes (ulimit -u)"};
  if (pid == 0) {
    ::close(ours.get());  // or its end would keep the child waiting for itself
    run_child(childs.get(), pointers.data(), outlives, parent);
  }
  Command command{pid, std::move(ours)};
  command.state_.name = arguments.front();
  return command;
}

Result<> Command::start() {
  const std::string attempted = "execute '" + state_.name + "'";
  if (!state_.channel) return Error{EALREADY, attempted, {}};
  const UniqueFd channel = std::move(state_.channel);
  state_.cpu_time = -cpu_time_of(state_.pid);
  const char go = 1;
  // A child that a signal has ended meanwhile is a program that ended: wait() reports how.
  (void)!::send(channel.get(), &go, 1, MSG_NOSIGNAL);
  const int code = await_exec(channel.get());
  if (code == 0) return {};
  (void)wait();
  return Error{code, attempted, remedy_for(code)};
}

Result<std::optional<CommandEnd>> Command::wait_with(int options) {
  if (state_.end) return state_.end;
  int status = 0;
  rusage used{};
  pid_t ended = 0;
  do {
    ended = state_.is_reaped ? -1 : ::wait4(state_.pid, &status, options, &used);
  } while (ended < 0 && !state_.is_reaped && errno == EINTR);
  if (ended == 0) return std::optional<CommandEnd>{};
  if (ended < 0) {
    state_.is_reaped = true;
    return Error{ECHILD, "wait for the end of '" + state_.name + "'",
                 "wait for it in one place, and do not ignore SIGCHLD"};
  }
  state_.is_reaped = true;
  state_.cpu_time += as_time(used.ru_utime) + as_time(used.ru_stime);
  state_.end =
      WIFSIGNALED(status) ? CommandEnd{0, WTERMSIG(status)} : CommandEnd{WEXITSTATUS(status), 0};
  return state_.end;
}

Result<std::optional<CommandEnd>> Command::poll_end() { return wait_with(WNOHANG); }

Result<CommandEnd> Command::wait() {
  if (state_.channel)
    return Error{EINVAL, "wait for the end of '" + state_.name + "'", "start it first"};
  const Result<std::optional<CommandEnd>> end = wait_with(0);
  if (!end) return end.error();
  return **end;
}

Result<> Command::send_signal(int signal) {
  const bool is_there = state_.pid > 0 && !state_.is_reaped;
  if (is_there && ::kill(state_.pid, signal) == 0) return {};
  return Error{is_there ? errno : ESRCH, "send a signal to '" + state_.name + "'", {}};
}

void Command::end() {
  if (state_.pid < 0 || state_.is_reaped) return;
  const bool will_end = bool{send_signal(SIGKILL)};
  (void)wait_with(will_end ? 0 : WNOHANG);
}

}  // namespace pex::perf
