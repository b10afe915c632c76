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

/// Decides who is served at the limit of connections, and where descriptors run out:
///
///   newcomer --> below the limit? --> served
///                    |no
///                    v
///                somebody makes no progress? --> that one is closed, the newcomer served
///                    |no
///                    v
///                a peer has more than the newcomer's will have? --> one of that peer is closed
///                    |no
///                    v
///                refused: 503, or the answer of a route such as health; the oldest of too many
///                refused gives way to the next one
///
/// So whoever sends nothing, little by little, or takes no answer holds a place for a second, and
/// one host holds no place that another host wants.
class Admission {
 public:
  explicit Admission(std::shared_ptr<Service> service);

  void admit(access::Socket socket, const access::Peer& peer);
  void refuse(access::Socket socket, const access::Peer& peer);

  /// To be called when accept(2) finds no descriptor left and somebody waits: frees one.
  enum class Freed {
    kNone,   ///< there was none to free
    kPlace,  ///< of a client that made no progress: the next one may be admitted
    kSpare,  ///< kept for this, or of one who was refused: the next one has to be refused
  };
  Freed free_descriptor();

  /// To be called now and then: takes back the spare descriptors that were freed.
  void recover();

  ClientErrors& errors() { return service_->errors; }
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
