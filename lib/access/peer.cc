#include "access/peer.h"

#include <boost/asio/ip/network_v6.hpp>

namespace pex::access {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned short kNetworkBits = 64;

}  // namespace

Peer::Peer(const ip::address& address) : network_(address) {
  if (!address.is_v6()) return;
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    network_ = ip::make_address_v4(ip::v4_mapped, v6);
  } else {
    const ip::address_v6 without_zone{v6.to_bytes()};
    network_ = ip::make_network_v6(without_zone, kNetworkBits).network();
  }
}

std::string Peer::text() const {
  if (!network_) return "unix";
  return network_->is_v4() ? network_->to_string() : network_->to_string() + "/64";
}

}  // namespace pex::access
