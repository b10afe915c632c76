#include "daemon/run/reloader.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace pex::daemon {

namespace asio = boost::asio;

Reloader::Reloader(asio::io_context& loop, Steps steps)
    : loop_(loop), steps_(std::move(steps)), pause_(loop) {}

Reloader::~Reloader() { thread_.join(); }

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

void Reloader::plan_again_if(std::function<bool()> is_needed) {
  asio::post(thread_, [this, is_needed = std::move(is_needed)] {
    if (!is_needed()) return;
    asio::post(loop_, [this] { plan_again(Clock::now()); });
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
    is_planning_ = true;
    asio::post(thread_, [this, configuration] {
      asio::post(loop_, [this, planned = steps_.plan(configuration)]() mutable {
        use(std::move(planned));
      });
      ended_.post();
    });
  });
}

void Reloader::use(Result<CountingSession, std::vector<Error>> planned) {
  ended_.wait();
  is_planning_ = false;
  if (is_stopped_) return;
  if (!planned) return end(planned.error());
  std::unique_ptr<collect::Collector> old = steps_.release(*planned);
  if (!old) return adopt(std::move(*planned));
  asio::post(thread_, [this, old = std::move(old), counting = std::move(*planned)]() mutable {
    const std::vector<int> cpus = old->end();
    old.reset();
    asio::post(loop_, [this, cpus, counting = std::move(counting)]() mutable {
      if (is_stopped_) return;
      if (!cpus.empty()) steps_.left_behind(cpus);
      adopt(std::move(counting));
    });
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
