#include "daemon/run/pause.h"

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "exposition/self_families.h"

namespace pex::daemon {

Pause::Pause(boost::asio::io_context& loop, OnChange on_change)
    : on_change_(std::move(on_change)), timer_(loop) {}

void Pause::begin(const PauseRequest& request) {
  if (request.counted < counted_) return;
  timer_.cancel();
  until_.reset();
  if (request.length) {
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(*request.length);
    timer_.expires_at(*until_);
    timer_.async_wait([this](const boost::system::error_code& cancelled) {
      // A wait that ended before another pause began reports no error.
      if (!cancelled && until_ && *until_ <= Clock::now()) end();
    });
  }
  if (std::exchange(counted_, request.counted) != request.counted) on_change_();
}

std::optional<std::string> Pause::begin_for_client(const PauseRequest& request) {
  const Clock::time_point now = Clock::now();
  if (now < begun_for_client_ + kBetweenClients) return {};
  begun_for_client_ = now;
  begin(request);
  if (request.counted < counted_ || !request.length) return text();
  return what() + " for " + format_duration(*request.length);
}

void Pause::end() {
  timer_.cancel();
  until_.reset();
  if (std::exchange(counted_, Counted::kAll) != Counted::kAll) on_change_();
}

void Pause::stop() { timer_.cancel(); }

std::string Pause::what() const {
  return counted_ == Counted::kNothing ? "all groups are paused"
                                       : "groups of hardware events are paused";
}

std::string Pause::text() const {
  std::string text = what();
  if (until_) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*until_ - Clock::now());
    text += " for another " + format_duration(std::max(left, std::chrono::seconds{0}));
  }
  return text + ": POST /-/resume ends the pause";
}

std::vector<prometheus::MetricFamily> Pause::Collect() const {
  if (!is_running()) return {};
  return {exposition::collected(exposition::self_family("perf_event_exporter_paused"), 1)};
}

}  // namespace pex::daemon
