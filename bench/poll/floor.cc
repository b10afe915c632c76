#include "bench/poll/floor.h"

#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace pex::bench {
namespace {

/// The group that this thread is opening: its events follow each other, and then it is started.
struct Opening {
  int cpu = 0;
  std::size_t events = 0;
};
thread_local Opening opening;

bool is_dummy(const perf::EventAttributes& event) {
  return event.type == PERF_TYPE_SOFTWARE && event.config == PERF_COUNT_SW_DUMMY;
}

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
  if (request.leader_fd < 0) opening = {request.cpu, 0};
  if (!is_dummy(request.event)) ++opening.events;
  return linux_.open(request);
}

Result<> RecordingKernel::enable_group(int leader_fd) {
  Result<> enabled = linux_.enable_group(leader_fd);
  if (enabled && opening.events > 0) {
    const std::lock_guard lock{mutex_};
    leaders_[opening.cpu].push_back(leader_fd);
    events_ += opening.events;
  }
  return enabled;
}

std::map<int, std::vector<int>> RecordingKernel::leaders() const {
  const std::lock_guard lock{mutex_};
  return leaders_;
}

std::size_t RecordingKernel::events() const {
  const std::lock_guard lock{mutex_};
  return events_;
}

void RecordingKernel::forget() {
  const std::lock_guard lock{mutex_};
  leaders_.clear();
  events_ = 0;
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
  std::array<std::uint64_t, perf::words_in_reading(perf::kMaxGroupMembers)> words;
  for (unsigned round = 0;; ++round) {
    while (rounds_ == round) sleep_while(rounds_, round);
    if (stopping_) return;
    for (const int leader : leaders) {
      if (::read(leader, words.data(), sizeof words) <= 0) failure_ = errno;
    }
    ++done_;
  }
}

}  // namespace pex::bench
