#include "daemon/log/outbox.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/semaphore.h"
#include "host/self_process.h"

namespace pex::daemon {
namespace {

constexpr std::chrono::seconds kFinalTimeout{1};

}  // namespace

struct Outbox::State {
  explicit State(std::size_t capacity) : jobs(capacity) {}

  void serve();
  void do_waiting();

  struct Waiting {
    Job job;
    Job then;
  };
  boost::lockfree::queue<Waiting*, boost::lockfree::fixed_sized<true>> jobs;
  Semaphore wake;
  Semaphore ended;
  std::atomic<bool> must_end = false;
  std::atomic<bool> is_left_behind = false;
  std::thread thread;
};

void Outbox::State::serve() {
  host::block_signals();  // they are the business of the loop's thread
  for (;;) {
    const bool is_last_time = must_end;
    do_waiting();
    if (is_last_time) break;
    wake.wait();
  }
  ended.post();
}

void Outbox::State::do_waiting() {
  for (Waiting* next = nullptr; jobs.pop(next);) {
    next->job();
    while (is_left_behind) ::pause();  // main() has returned: nothing may be accessed any more
    if (next->then) next->then();
    delete next;
  }
}

Result<std::unique_ptr<Outbox>> Outbox::create(const char* name, std::size_t capacity) {
  auto state = std::make_shared<State>(capacity);
  try {
    state->thread = std::thread([state] { state->serve(); });
  } catch (const std::system_error& refused) {
    return Error{refused.code().value(), "start the thread '" + std::string(name) + "'",
                 host::thread_remedy()};
  }
  ::pthread_setname_np(state->thread.native_handle(), name);
  return std::unique_ptr<Outbox>{new Outbox(std::move(state))};
}

Outbox::Outbox(std::shared_ptr<State> state) : state_(std::move(state)) {}

Outbox::~Outbox() {
  state_->must_end = true;
  state_->wake.post();
  if (state_->ended.wait_until(std::chrono::steady_clock::now() + kFinalTimeout)) {
    state_->thread.join();
    return;
  }
  state_->is_left_behind = true;
  state_->thread.detach();
}

bool Outbox::post(Job job, Job then) {
  auto* const waiting = new State::Waiting{std::move(job), std::move(then)};
  if (!state_->jobs.bounded_push(waiting)) {
    delete waiting;
    return false;
  }
  state_->wake.post();
  return true;
}

}  // namespace pex::daemon
