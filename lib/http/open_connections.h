#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "access/peer.h"
#include "http/connection.h"

namespace pex::http {

/// Connections that may still be open, and who has how many. They end by themselves; here is
/// decided which of them ends for another one.
class OpenConnections {
 public:
  using Clock = std::chrono::steady_clock;

  std::size_t count();
  void add(std::weak_ptr<Connection> connection, const access::Peer& peer);
  void close_all();

  /// Closes one that has made no progress for `stall_time`, or that only has to leave; not one that
  /// waits for us. Of several: of the peer with the most connections, the one that stands still for
  /// longest. What it waited for; nothing when there is none.
  std::optional<Phase> close_stalled(Clock::time_point now, Clock::duration stall_time);

  /// Closes one of the peer with the most connections, if it has more than `newcomer` will have
  /// with one more: the one with the oldest progress, of those that wait for us only when there are
  /// no others. False: nobody has more.
  bool close_beyond_share_of(const access::Peer& newcomer);

  /// Closes the one that only has to leave, or else made progress the longest time ago. False:
  /// there is none.
  bool close_oldest();

  /// The peer with the most connections, and how many; nothing without any.
  std::optional<std::pair<access::Peer, std::size_t>> busiest();

 private:
  using Shares = std::map<access::Peer, std::size_t>;  ///< none is 0
  struct Entry {
    std::weak_ptr<Connection> connection;
    Shares::iterator share;
  };
  using Entries = std::vector<Entry>;
  /// The lower the sooner: classes first, then time.
  struct Rank {
    long preference = 0;
    Clock::time_point since;

    auto operator<=>(const Rank&) const = default;
  };
  /// Nothing: it stays.
  using RankOf = std::function<std::optional<Rank>(const Entry&, const Standing&)>;

  void forget_closed();
  void forget(const Entry& entry);
  /// Closes the one with the lowest rank. What it waited for; nothing when all stay.
  std::optional<Phase> close_first(const RankOf& rank_of);

  Entries entries_;
  Shares shares_;
};

}  // namespace pex::http
