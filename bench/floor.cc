#include "floor.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace pex::bench {
namespace {

/// Straight to futex(2): std::atomic::wait and std::binary_semaphore first spin and yield.
void sleep_while(std::atomic<unsigned>& word, unsigned value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<unsigned>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

Result<perf::OpenCounter> RecordingKernel::open(const perf::CounterRequest& request) {
  Result<perf::OpenCounter> counter = linux_.open(request);
  if (counter) {
    const std::lock_guard lock{mutex_};
    cpu_of_[counter->fd.get()] = request.cpu;  // a number used again overwrites what it was
  }
  return counter;
}

Result<> RecordingKernel::enable_group(int leader_fd) {
  Result<> enabled = linux_.enable_group(leader_fd);
  if (enabled) {
    const std::lock_guard lock{mutex_};
    leaders_[cpu_of_[leader_fd]].push_back(leader_fd);
  }
  return enabled;
}

std::map<int, std::vector<int>> RecordingKernel::leaders() const {
  const std::lock_guard lock{mutex_};
  return leaders_;
}

Floor::Floor(const std::map<int, std::vector<int>>& leaders) {
  for (const auto& [cpu, fds] : leaders) {
    threads_.emplace_back([this, cpu = cpu, fds = fds] { serve(cpu, fds); });
  }
}

Floor::~Floor() {
  stopping_ = true;
  start_round();
  for (std::thread& thread : threads_) thread.join();
}

void Floor::start_round() {
  ++rounds_;
  wake_all(rounds_);
}

void Floor::serve(int cpu, const std::vector<int>& leaders) {
  pin_to(cpu);
  std::array<std::uint64_t, perf::words_in_reading(perf::kMaxGroupEvents)> words;
  for (unsigned round = 0;; ++round) {
    while (rounds_ == round) sleep_while(rounds_, round);
    if (stopping_) return;
    bool all_read = true;
    for (const int leader : leaders) {
      all_read = ::read(leader, words.data(), sizeof words) > 0 && all_read;
    }
    if (all_read) ++done_;
  }
}

}  // namespace pex::bench
