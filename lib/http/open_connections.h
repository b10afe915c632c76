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

/// The open connections, by peer. They end by themselves; this decides which of them is closed for
/// another one.
class OpenConnections {
 public:
  using Clock = std::chrono::steady_clock;

  std::size_t count();
  void add(std::weak_ptr<Connection> connection, const access::Peer& peer);
  void close_all();

  /// Closes one that has made no progress for `stall_time`, or that only has to leave; not one that
  /// waits for the server. Of several: of the peer with the most connections, the one without
  /// progress for longest. Returns what it waited for; nothing if there is none.
  std::optional<Phase> close_stalled(Clock::time_point now, Clock::duration stall_time);

  /// Closes a connection of the peer with the most, if it has more than `newcomer` will have with
  /// one more: the one with the oldest progress, and one that waits for the server only if there
  /// are no others. False: no peer has more.
  bool close_beyond_share_of(const access::Peer& newcomer);

  /// Closes the connection that only has to leave, or else made progress the longest time ago.
  /// False: there is none.
  bool close_oldest();

  /// The peer with the most connections, and their number; nothing without any.
  std::optional<std::pair<access::Peer, std::size_t>> busiest();

 private:
  using Shares = std::map<access::Peer, std::size_t>;  ///< none is 0
  struct Entry {
    std::weak_ptr<Connection> connection;
    Shares::iterator share;
  };
  using Entries = std::vector<Entry>;
  /// The lowest is closed first: classes first, then time.
  struct Rank {
    long preference = 0;
    Clock::time_point since;

    auto operator<=>(const Rank&) const = default;
  };
  /// Nothing: it stays open.
  using RankOf = std::function<std::optional<Rank>(const Entry&, const Standing&)>;

  void forget_closed();
  void forget(const Entry& entry);
  /// Closes the one with the lowest rank. Returns what it waited for; nothing if all stay.
  std::optional<Phase> close_first(const RankOf& rank_of);

  Entries entries_;
  Shares shares_;
};

}  // namespace pex::http
