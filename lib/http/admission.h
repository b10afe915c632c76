#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "access/peer.h"
#include "access/transport.h"
#include "base/unique_fd.h"
#include "http/open_connections.h"
#include "http/service.h"

namespace pex::http {

/// Decides which clients are served at the limit of connections, and without free descriptors:
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
class Admission {
 public:
  explicit Admission(std::shared_ptr<Service> service);

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

  ClientErrors& errors() { return service_->errors; }
  const ResponseCounts& responses() const { return service_->responses; }
  std::size_t count() { return served_.count() + refused_.count(); }
  std::optional<std::pair<access::Peer, std::size_t>> busiest() { return served_.busiest(); }
  void close_all();

 private:
  bool has_room_for(const access::Peer& newcomer);
  bool closes_stalled();
  void report_connection_limit() const;

  std::shared_ptr<Service> service_;
  OpenConnections served_;
  OpenConnections refused_;
  std::vector<UniqueFd> spare_;  ///< descriptors for clients that are refused when none is left
};

}  // namespace pex::http
