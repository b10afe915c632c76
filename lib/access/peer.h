#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace pex::access {

/// Whom connections come from, as far as shares are concerned: an IPv4 address, an IPv6 network of
/// 64 bits, of which one host may have every address, or all clients of unix sockets together.
class Peer {
 public:
  /// The one with this address, as accept(2) gives it. An IPv4 address in the form of IPv6 is that
  /// IPv4 address.
  static Peer at(const sockaddr_storage& address);

  /// "192.0.2.7", "2001:db8::/64", "unix".
  std::string text() const;

  auto operator<=>(const Peer&) const = default;

 private:
  std::uint8_t bytes_ = 0;  ///< of network_ that count: 4, 8, or 0 for a unix socket
  std::array<std::uint8_t, 8> network_{};
};

}  // namespace pex::access
