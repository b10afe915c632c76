#include "daemon/run/pause.h"

#include <algorithm>
#include <utility>

#include "exposition/self_families.h"

namespace pex::daemon {

Pause::Pause(boost::asio::io_context& loop, OnChange on_change)
    : on_change_(std::move(on_change)), timer_(loop) {}

void Pause::begin(std::chrono::nanoseconds length) {
  const bool is_first = !is_running();
  until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(length);
  timer_.expires_at(*until_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    // A wait that ended before another pause began reports no error.
    if (!cancelled && until_ && *until_ <= Clock::now()) end();
  });
  if (is_first) on_change_(true);
}

bool Pause::begin_for_client(std::chrono::nanoseconds length) {
  const Clock::time_point now = Clock::now();
  if (now < begun_for_client_ + kBetweenClients) return false;
  begun_for_client_ = now;
  begin(length);
  return true;
}

void Pause::end() {
  timer_.cancel();
  if (std::exchange(until_, std::nullopt)) on_change_(false);
}

void Pause::stop() { timer_.cancel(); }

std::optional<std::chrono::seconds> Pause::left() const {
  if (!until_) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*until_ - Clock::now());
  return std::max(left, std::chrono::seconds{0});
}

std::vector<prometheus::MetricFamily> Pause::Collect() const {
  if (!is_running()) return {};
  return {exposition::collected(exposition::self_family("perf_event_exporter_paused"), 1)};
}

}  // namespace pex::daemon
