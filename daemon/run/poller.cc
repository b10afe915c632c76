#include "daemon/run/poller.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace pex::daemon {

namespace asio = boost::asio;
using boost::system::error_code;

Poller::Poller(asio::io_context& loop, OnPoll on_poll)
    : loop_(loop), on_poll_(std::move(on_poll)), timer_(loop) {}

void Poller::use(collect::Collector& collector, std::chrono::nanoseconds interval) {
  collector_ = &collector;
  const std::uint64_t skipped = schedule_.restart(Clock::now(), interval);
  if (!is_on_schedule_) return;
  metrics_.add_overruns(skipped);
  arm();
}

void Poller::release() {
  ++generation_;
  collector_ = nullptr;
  is_poll_due_ = false;  // use() is followed by one
}

bool Poller::poll(std::function<void()> done) {
  if (!begin(std::move(done))) return false;
  if (is_on_schedule_) {
    metrics_.add_overruns(schedule_.begin_early(Clock::now()));
    arm();
  }
  return true;
}

bool Poller::begin(std::function<void()> done) {
  if (collector_ == nullptr) return false;
  return collector_->poll(
      [this, generation = generation_, done = std::move(done)](
          collect::PollReport report, std::shared_ptr<const collect::Snapshot> snapshot) {
        asio::post(loop_, [this, generation, done, report = std::move(report),
                           snapshot = std::move(snapshot)]() mutable {
          if (generation == generation_) finish(report, std::move(snapshot));
          if (done) done();
        });
      });
}

void Poller::finish(const collect::PollReport& report,
                    std::shared_ptr<const collect::Snapshot> snapshot) {
  polled_at_ = Clock::now();
  metrics_.add(report, std::move(snapshot));
  on_poll_(report);
  if (std::exchange(is_poll_due_, false)) poll_after_change();
}

void Poller::poll_after_change(std::function<void()> done) {
  if (done) after_change_.push_back(std::move(done));
  const bool has_begun = poll([all = after_change_] {
    for (const std::function<void()>& each : all) each();
  });
  if (has_begun) after_change_.clear();
  is_poll_due_ = !has_begun;
}

void Poller::start() {
  is_on_schedule_ = true;
  schedule_.start(Clock::now());
  on_timer();
}

void Poller::stop() {
  is_on_schedule_ = false;
  timer_.cancel();
}

void Poller::arm() {
  timer_.expires_at(schedule_.due());
  timer_.async_wait([this](const error_code& cancelled) {
    // A wait that ended before it was cancelled reports no error.
    if (!cancelled && is_on_schedule_ && schedule_.due() <= Clock::now()) on_timer();
  });
}

void Poller::on_timer() {
  const bool is_skipped = collector_ != nullptr && !begin({});  // else a reload polls soon
  metrics_.add_overruns(schedule_.advance(Clock::now()) + (is_skipped ? 1 : 0));
  arm();
}

}  // namespace pex::daemon
