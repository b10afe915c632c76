#include "http/open_connections.h"

#include <algorithm>
#include <limits>

namespace pex::http {

std::size_t OpenConnections::count() {
  forget_closed();
  return entries_.size();
}

void OpenConnections::add(std::weak_ptr<Connection> connection, const access::Peer& peer) {
  const auto share = shares_.try_emplace(peer, 0).first;
  ++share->second;
  entries_.push_back({std::move(connection), share});
}

void OpenConnections::close_all() {
  for (const Entry& each : entries_) {
    if (const auto connection = each.connection.lock()) connection->close();
  }
}

std::optional<Phase> OpenConnections::close_stalled(Clock::time_point now,
                                                    Clock::duration stall_time) {
  return close_first([&](const Entry& entry, const Standing& standing) -> std::optional<Rank> {
    if (standing.phase == Phase::kOver) return Rank{std::numeric_limits<long>::min(), {}};
    if (standing.phase == Phase::kServer || now - standing.since < stall_time) return {};
    return Rank{-static_cast<long>(entry.share->second), standing.since};
  });
}

bool OpenConnections::close_beyond_share_of(const access::Peer& newcomer) {
  const auto most = busiest();
  const auto share = shares_.find(newcomer);
  const std::size_t with_one_more = (share == shares_.end() ? 0 : share->second) + 1;
  if (!most || most->second <= with_one_more) return false;
  const auto closed = close_first([&](const Entry& entry, const Standing& standing) {
    const bool waits_for_us = standing.phase == Phase::kServer;
    return entry.share->first == most->first
               ? std::optional{Rank{waits_for_us ? 1 : 0, standing.since}}
               : std::nullopt;
  });
  return closed.has_value();
}

bool OpenConnections::close_oldest() {
  const auto closed = close_first([](const Entry&, const Standing& standing) {
    return std::optional{Rank{standing.phase == Phase::kOver ? 0 : 1, standing.since}};
  });
  return closed.has_value();
}

std::optional<std::pair<access::Peer, std::size_t>> OpenConnections::busiest() {
  forget_closed();
  const auto most =
      std::max_element(shares_.begin(), shares_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == shares_.end()) return {};
  return *most;
}

void OpenConnections::forget_closed() {
  std::erase_if(entries_, [this](const Entry& each) {
    const bool is_closed = each.connection.expired();
    if (is_closed) forget(each);
    return is_closed;
  });
}

void OpenConnections::forget(const Entry& entry) {
  if (--entry.share->second == 0) shares_.erase(entry.share);
}

std::optional<Phase> OpenConnections::close_first(const RankOf& rank_of) {
  auto first = entries_.end();
  std::optional<Rank> lowest;
  Phase phase{};
  for (auto each = entries_.begin(); each != entries_.end(); ++each) {
    const auto connection = each->connection.lock();
    if (!connection) continue;
    const Standing standing = connection->standing();
    const std::optional<Rank> rank = rank_of(*each, standing);
    if (!rank || (lowest && *lowest <= *rank)) continue;
    first = each;
    lowest = rank;
    phase = standing.phase;
  }
  if (first == entries_.end()) return {};
  const auto connection = first->connection.lock();
  forget(*first);
  entries_.erase(first);
  connection->give_way();
  return phase;
}

}  // namespace pex::http
