#include "host/side_thread.h"

#include <pthread.h>

#include <atomic>
#include <cassert>
#include <system_error>
#include <thread>
#include <utility>

#include "base/semaphore.h"
#include "host/self_process.h"

namespace pex::host {

struct SideThread::State {
  explicit State(Job to_do) : job(std::move(to_do)) {}
  void serve();

  const Job job;
  Semaphore wake;
  Semaphore ended;
  std::atomic<bool> must_end = false;
  std::thread thread;
};

void SideThread::State::serve() {
  block_signals();
  for (wake.wait(); !must_end; wake.wait()) {
    job();
    ended.post();
  }
}

SideThread::SideThread(const char* name, Job job)
    : name_(name), state_(std::make_shared<State>(std::move(job))) {}

SideThread::~SideThread() {
  if (!state_->thread.joinable()) return;
  state_->must_end = true;
  state_->wake.post();
  if (wait_until(Clock::now())) {
    state_->thread.join();
  } else {
    state_->thread.detach();
  }
}

void SideThread::begin() {
  assert(!is_busy_);
  if (!state_->thread.joinable()) {
    try {
      state_->thread = std::thread([state = state_] { state->serve(); });
    } catch (const std::system_error&) {
      return state_->job();
    }
    ::pthread_setname_np(state_->thread.native_handle(), name_);
  }
  is_busy_ = true;
  state_->wake.post();
}

bool SideThread::wait_until(Clock::time_point deadline) {
  if (is_busy_ && state_->ended.wait_until(deadline)) is_busy_ = false;
  return !is_busy_;
}

}  // namespace pex::host
