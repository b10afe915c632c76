#include "daemon/run/reloader.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace pex::daemon {

namespace asio = boost::asio;

Reloader::Reloader(asio::io_context& loop, Steps steps)
    : loop_(loop), steps_(std::move(steps)), pause_(loop) {}

Reloader::~Reloader() { thread_.join(); }

bool Reloader::ends_by(Clock::time_point deadline) {
  while (jobs_ > 0 && ended_.wait_until(deadline)) --jobs_;
  return jobs_ == 0;
}

template <typename Job, typename Then>
void Reloader::run(Job job, Then then) {
  ++jobs_;
  asio::post(thread_, [this, job = std::move(job), then = std::move(then)]() mutable {
    asio::post(loop_, [this, then = std::move(then), result = job()]() mutable {
      ended_.wait();
      --jobs_;
      then(result);
    });
    ended_.post();
  });
}

void Reloader::request(Answer answer, Clock::time_point now) {
  answered_next_.push_back(std::move(answer));
  is_next_for_clients_ = false;
  if (!is_running_) begin(now);
}

bool Reloader::request_for_client(Answer answer, Clock::time_point now) {
  const bool joins_others = is_running_ || !answered_next_.empty();
  if (!joins_others && is_too_soon(now)) return false;
  answered_next_.push_back(std::move(answer));
  if (!joins_others) begin(now);
  return true;
}

void Reloader::plan_again(Clock::time_point now) {
  if (!is_running_) begin(now, Configuration::kInForce);
}

void Reloader::ask(Question question, std::function<bool()> look, std::function<void(bool)> then) {
  if (!open_.insert(question).second) return;
  run(std::move(look), [this, question, then = std::move(then)](bool answer) {
    open_.erase(question);
    if (!is_running_) then(answer);
  });
}

void Reloader::begin(Clock::time_point now, Configuration configuration) {
  if (is_stopped_) return;
  pause_.cancel();
  is_running_ = true;
  began_ = now;
  configuration_ = configuration;
  if (configuration == Configuration::kFile) {
    is_next_for_clients_ = true;
    answered_now_ = std::exchange(answered_next_, {});
  }
  steps_.begin(configuration, [this, configuration] {
    if (is_stopped_) return;
    run([this, configuration] { return steps_.plan(configuration); },
        [this](auto& planned) { use(std::move(planned)); });
  });
}

void Reloader::use(Result<CountingSession, std::vector<Error>> planned) {
  if (is_stopped_) return;
  if (!planned) return end(planned.error());
  std::unique_ptr<collect::Collector> old = steps_.release(*planned);
  if (!old) return adopt(std::move(*planned));
  auto close = [old = std::move(old)]() mutable {
    std::vector<int> cpus = old->end();
    old.reset();
    return cpus;
  };
  run(std::move(close),
      [this, counting = std::move(*planned)](const std::vector<int>& cpus) mutable {
        if (is_stopped_) return;
        if (!cpus.empty()) steps_.left_behind(cpus);
        adopt(std::move(counting));
      });
}

void Reloader::adopt(CountingSession counting) {
  steps_.adopt(std::move(counting));
  end({});
}

void Reloader::end(const Outcome& outcome) {
  is_running_ = false;
  steps_.end(configuration_, outcome);
  for (const Answer& answer : std::exchange(answered_now_, {})) answer(outcome);
  if (!answered_next_.empty() && !is_running_) begin_next(Clock::now());
}

/// A second after the last one, unless the service manager or a signal waits for it.
void Reloader::begin_next(Clock::time_point now) {
  if (!is_next_for_clients_ || !is_too_soon(now)) return begin(now);
  pause_.expires_at(began_ + kBetweenClients);
  pause_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !is_running_ && !answered_next_.empty()) begin(Clock::now());
  });
}

void Reloader::stop() {
  is_stopped_ = true;
  pause_.cancel();
}

}  // namespace pex::daemon
