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
#include "access/transport.h"
#include "base/unique_fd.h"
#include "http/server.h"

namespace pex::http {

class Connection;
enum class Phase;
struct Service;

/// The open connections, which end by themselves. Decides which clients are served at the limit of
/// connections, and without free descriptors:
///
///   newcomer --> below the limit? --> served
///                    |no
///                    v
///                a client makes no progress? --> it is closed, the newcomer served
///                    |no
///                    v
///                a peer has more than the newcomer's will have? --> one of that peer is closed
///                    |no
///                    v
///                refused: 503, or the answer of a route such as health; of too many refused
///                clients the oldest is closed
///
/// So a client that sends nothing, sends slowly, or does not read its answer holds a place for a
/// second, and no host holds a place that another host needs.
class ConnectionTable {
 public:
  /// `service` has the limits, and contains the table.
  explicit ConnectionTable(Service& service) : service_(service) { recover(); }

  void admit(access::Socket socket, const access::Peer& peer);
  void refuse(access::Socket socket, const access::Peer& peer);

  /// Called if accept(2) has no free descriptor and a client waits: frees one.
  enum class Freed {
    kNone,   ///< there was none to free
    kPlace,  ///< of a client without progress: the next client may be admitted
    kSpare,  ///< reserved for this, or of a refused client: the next client must be refused
  };
  Freed free_descriptor();

  /// Called periodically: reserves the spare descriptors again.
  void recover();

  /// Called when the sending of `body` begins (Connection::unsent). While the bodies that clients
  /// have not read exceed Limits::max_unsent_bytes, the client with the longest transfer of another
  /// body is dropped: slow clients would otherwise each hold another version of the text.
  void begin_sending(const Body& body);
  void end_sending(const Body& body);

  std::size_t count() { return count(served_) + count(refused_); }

  /// The peer with the most connections that are served; nothing without any.
  std::optional<Server::Share> busiest() const;

  void close_all();

 private:
  using Clock = std::chrono::steady_clock;
  using Connections = std::vector<std::weak_ptr<Connection>>;
  using Shares = std::map<access::Peer, std::size_t>;
  /// The lowest is closed first: classes first, then time.
  struct Rank {
    long preference = 0;
    Clock::time_point since;

    auto operator<=>(const Rank&) const = default;
  };
  /// Nothing: it stays open.
  using RankOf = std::function<std::optional<Rank>(const Connection&)>;

  static std::size_t count(Connections& connections);
  /// Closes the one with the lowest rank. Returns what it waited for; nothing if all stay.
  std::optional<Phase> close_first(Connections& connections, const RankOf& rank_of);

  template <typename Visit>
  void visit_open(Visit visit) const;
  Shares shares() const;
  std::size_t unsent_bytes() const;
  bool has_room_for(const access::Peer& newcomer);
  bool closes_stalled(const Shares& shares);
  bool closes_beyond_share_of(const access::Peer& newcomer, const Shares& shares);
  bool closes_oldest_refused();
  void report_connection_limit() const;

  Service& service_;
  Connections served_;
  Connections refused_;
  std::size_t most_unsent_ = 0;  ///< bytes, as if no two clients were sent the same body
  std::vector<UniqueFd> spare_;  ///< descriptors for clients that are refused when none is left
};

}  // namespace pex::http
