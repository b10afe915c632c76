#pragma once

#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>

namespace pex::access {

/// The origin of connections, for shares and limits: an IPv4 address, an IPv6 network of 64 bits,
/// as one host may have all its addresses, all loopback addresses together, as every program of
/// this host may use all of them, or all clients of unix sockets together.
class Peer {
 public:
  /// Clients of unix sockets.
  Peer() = default;

  /// The peer with this address. An IPv4-mapped IPv6 address is that IPv4 address.
  explicit Peer(const boost::asio::ip::address& address);

  /// "192.0.2.7", "2001:db8::/64", "loopback", "unix".
  std::string text() const;

  bool operator<(const Peer& other) const { return network_ < other.network_; }
  bool operator==(const Peer& other) const { return network_ == other.network_; }

 private:
  std::optional<boost::asio::ip::address> network_;
};

/// Whether it is 127.0.0.0/8, also as an IPv4-mapped IPv6 address, or ::1.
bool is_loopback(const boost::asio::ip::address& address);

}  // namespace pex::access
