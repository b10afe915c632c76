#include "access/peer.h"

#include <boost/asio/ip/network_v6.hpp>

namespace pex::access {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned short kNetworkBits = 64;

/// An IPv4-mapped IPv6 address as that IPv4 address.
ip::address unmapped(const ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

ip::address network_of(const ip::address& address) {
  if (address.is_loopback()) return ip::address_v4::loopback();  // stands for all of them
  if (address.is_v4()) return address;
  const ip::address_v6 without_zone{address.to_v6().to_bytes()};
  return ip::make_network_v6(without_zone, kNetworkBits).network();
}

}  // namespace

Peer::Peer(const ip::address& address) : network_(network_of(unmapped(address))) {}

std::string Peer::text() const {
  if (!network_) return "unix";
  if (network_->is_loopback()) return "loopback";
  return network_->is_v4() ? network_->to_string() : network_->to_string() + "/64";
}

bool is_loopback(const ip::address& address) { return unmapped(address).is_loopback(); }

}  // namespace pex::access
