#include "bench/poll/syscall_counter.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace pex::bench {
namespace {

/// Of a stop at the entry to or the return from a system call (PTRACE_O_TRACESYSGOOD).
constexpr int kSyscallStop = SIGTRAP | 0x80;

int attach_threads(pid_t process) {
  int attached = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    const pid_t thread = std::stoi(entry.path().filename());
    if (thread == process) continue;
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return 0;
    ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    ++attached;
  }
  return attached;
}

}  // namespace

SyscallCounter::SyscallCounter() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared{};
}

SyscallCounter::~SyscallCounter() {
  stop();
  ::munmap(shared_, sizeof(Shared));
}

bool SyscallCounter::start(pid_t process) {
  shared_->state = 0;
  tracer_ = ::fork();
  if (tracer_ == 0) trace(process);
  if (tracer_ < 0) return false;
  while (shared_->state == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return shared_->state > 0;
}

/// The kernel lets go of the threads of a tracer that dies, and they run on.
void SyscallCounter::stop() {
  if (tracer_ <= 0) return;
  ::kill(tracer_, SIGKILL);
  ::waitpid(std::exchange(tracer_, -1), nullptr, 0);
}

void SyscallCounter::trace(pid_t process) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int not_yet_stopped = attach_threads(process);
  if (not_yet_stopped == 0) {
    shared_->state = -1;
    ::_exit(1);
  }
  for (int status = 0;;) {
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0) {  // none is left
      shared_->state = -1;
      ::_exit(0);
    }
    if (!WIFSTOPPED(status)) continue;
    int signal = WSTOPSIG(status);
    if (signal == kSyscallStop) {
      __ptrace_syscall_info call{};
      ::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call);
      if (call.op == PTRACE_SYSCALL_INFO_ENTRY) ++shared_->calls;
    }
    const bool is_ours = signal == kSyscallStop || status >> 16 != 0;
    if (is_ours) signal = 0;
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
    if (not_yet_stopped > 0 && --not_yet_stopped == 0) shared_->state = 1;
  }
}

}  // namespace pex::bench
