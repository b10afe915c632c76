#include "daemon/web/scrape_intervals.h"

#include <algorithm>
#include <numeric>

namespace pex::daemon {

void ScrapeIntervals::add(const std::string& client, Clock::time_point now) {
  const auto known = clients_.find(client);
  if (known == clients_.end()) {
    make_room();
    clients_[client].last = now;
    return;
  }
  Client& scrapes = known->second;
  scrapes.intervals[(scrapes.scrapes - 1) % kIntervals] = now - scrapes.last;
  scrapes.last = now;
  ++scrapes.scrapes;
}

/// Anybody may request anything: only those who came last are remembered.
void ScrapeIntervals::make_room() {
  if (clients_.size() < kMaxClients) return;
  clients_.erase(std::min_element(
      clients_.begin(), clients_.end(),
      [](const auto& one, const auto& other) { return one.second.last < other.second.last; }));
}

std::optional<ScrapeIntervals::Clock::duration> ScrapeIntervals::longest(
    Clock::time_point now) const {
  std::optional<Clock::duration> longest;
  for (const auto& [name, client] : clients_) longest = std::max(longest, client.interval(now));
  return longest;
}

std::optional<ScrapeIntervals::Clock::duration> ScrapeIntervals::Client::interval(
    Clock::time_point now) const {
  if (scrapes <= kIntervals) return {};
  const auto [shortest, longest] = std::minmax_element(intervals.begin(), intervals.end());
  const Clock::duration mean =
      std::accumulate(intervals.begin(), intervals.end(), Clock::duration{}) / kIntervals;
  const bool is_regular = *longest - *shortest <= mean / 4;
  const bool is_overdue = now - last > 2 * mean;
  if (!is_regular || is_overdue) return {};
  return mean;
}

}  // namespace pex::daemon
