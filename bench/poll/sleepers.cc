#include "bench/poll/sleepers.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <fstream>
#include <new>
#include <thread>

namespace pex::bench {
namespace {

using namespace std::chrono_literals;

long futex(std::atomic<unsigned>& word, int operation, unsigned value) {
  return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

[[noreturn]] void sleep_and_wake(std::atomic<unsigned>& rounds, std::atomic<std::size_t>& done,
                                 int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
  for (unsigned seen = 0;;) {
    while (rounds == seen) futex(rounds, FUTEX_WAIT, seen);
    seen = rounds;
    ++done;
  }
}

}  // namespace

Sleepers::Sleepers(const CgroupTree& tree, std::size_t number, int cpu)
    : shared_(new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared) {
  for (std::size_t each = 0; each < number; ++each) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      sleep_and_wake(shared_->rounds, shared_->done, cpu);
    }
    if (process < 0) continue;
    processes_.push_back(process);
    std::ofstream(tree.directory(each) + "/cgroup.procs") << process;
  }
}

Sleepers::~Sleepers() {
  for (const pid_t process : processes_) ::kill(process, SIGKILL);
  for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

void Sleepers::wake() {
  shared_->done = 0;
  ++shared_->rounds;
  futex(shared_->rounds, FUTEX_WAKE, INT_MAX);
  constexpr int kTries = 10'000;  // a process of them may be gone
  for (int i = 0; i < kTries && shared_->done < processes_.size(); ++i) {
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace pex::bench
