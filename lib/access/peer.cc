#include "access/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace pex::access {
namespace {

constexpr std::size_t kV4Bytes = 4;
constexpr std::size_t kV6NetworkBytes = 8;

}  // namespace

Peer Peer::at(const sockaddr_storage& address) {
  Peer peer;
  const auto take = [&peer](const void* bytes, std::size_t size) {
    std::memcpy(peer.network_.data(), bytes, size);
    peer.bytes_ = static_cast<std::uint8_t>(size);
  };
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    take(&v4.sin_addr, kV4Bytes);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    const std::uint8_t* const bytes = v6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      take(bytes + sizeof v6.sin6_addr - kV4Bytes, kV4Bytes);
    } else {
      take(bytes, kV6NetworkBytes);
    }
  }
  return peer;
}

std::string Peer::text() const {
  if (bytes_ == 0) return "unix";
  std::array<std::uint8_t, sizeof(in6_addr)> address{};
  std::copy(network_.begin(), network_.end(), address.begin());
  const bool is_v4 = bytes_ == kV4Bytes;
  char text[INET6_ADDRSTRLEN]{};
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return is_v4 ? text : std::string{text} + "/64";
}

}  // namespace pex::access
