#include "bench/workload/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "bench/support/cgroup_tree.h"

namespace pex::bench {
namespace {

constexpr int kNotStarted = 126;

void unblock_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

bool enter(const ChildProcess::Place& place) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  unblock_signals();
  return bind_to(place.cpus) && (place.cgroup.empty() || move_to_cgroup(place.cgroup, 0));
}

std::chrono::microseconds microseconds_of(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

void execute_here(const std::vector<std::string>& command, const std::string& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNotStarted);
}

}  // namespace

Result<ChildProcess> ChildProcess::fork(const Place& place, const std::function<void()>& what) {
  const pid_t process = ::fork();
  if (process < 0) return Error{errno, "fork", {}};
  if (process == 0) {
    if (!enter(place)) ::_exit(kNotStarted);
    what();
    ::_exit(0);
  }
  ::setpgid(process, process);  // here too: who is first does not matter
  return ChildProcess{process, UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, process, 0))}};
}

Result<ChildProcess> ChildProcess::execute(const Place& place,
                                           const std::vector<std::string>& command,
                                           const std::string& log) {
  return fork(place, [&] { execute_here(command, log); });
}

ChildProcess::~ChildProcess() {
  if (id_ < 0) return;
  ::kill(-id_, SIGKILL);  // its own children as well
  wait();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)), descriptor_(std::move(other.descriptor_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::chrono::nanoseconds ChildProcess::cpu_time() const {
  clockid_t clock{};
  timespec used{};
  ::clock_getcpuclockid(id_, &clock);
  ::clock_gettime(clock, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

ChildProcess::End ChildProcess::wait() {
  End end;
  rusage used{};
  ::wait4(std::exchange(id_, -1), &end.status, 0, &used);
  end.cpu_time = microseconds_of(used.ru_utime) + microseconds_of(used.ru_stime);
  return end;
}

}  // namespace pex::bench
