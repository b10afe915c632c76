#include "daemon/web/connection_limit_log.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pex::daemon {
namespace {

constexpr std::chrono::seconds kDelay{1};
constexpr std::chrono::minutes kInterval{1};

}  // namespace

/// The line is delayed by a second, so that the first one has numbers as well.
void ConnectionLimitLog::add(const http::Server& server) {
  if (std::exchange(is_pending_, true)) return;
  const auto busiest = server.busiest_peer();
  logged_at_ = std::max(Clock::now() + kDelay, logged_at_ + kInterval);
  timer_.expires_at(logged_at_);
  timer_.async_wait([this, &server, busiest](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    is_pending_ = false;
    write(server, busiest.value_or(http::Server::Share{}));
  });
}

void ConnectionLimitLog::write(const http::Server& server, const http::Server::Share& busiest) {
  const http::ClientErrors now = server.errors();
  const auto more = [&](std::uint64_t http::ClientErrors::*count) {
    return std::to_string(now.*count - logged_.*count);
  };
  log_.warn(Error{0,
                  "clients were refused or closed at the limit of connections, or for lack of file "
                  "descriptors",
                  "find out what 'peer' is; if it is legitimate and LimitNOFILE= is below 7680, "
                  "raise it"},
            {{"refused", more(&http::ClientErrors::connection_limit)},
             {"closed_stalled", more(&http::ClientErrors::stalled_closed)},
             {"closed_beyond_share", more(&http::ClientErrors::peer_share)},
             {"peer", busiest.peer},
             {"peer_connections", std::to_string(busiest.connections)}});
  logged_ = now;
}

}  // namespace pex::daemon
