#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pex::http {

/// The prefix of a socket file's path, instead of a host.
inline constexpr std::string_view kUnix = "unix:";

/// "host:port", ":port" or "[IPv6]:port".
struct HostAndPort {
  std::string host;  ///< a name or a bare IP address; empty for the wildcard address
  std::uint16_t port;
};

/// Nothing for any other text.
std::optional<HostAndPort> parse_address(std::string_view address);

/// The address of a stream socket of any family.
using Endpoint = boost::asio::generic::stream_protocol::endpoint;

/// Every address of the host, IPv4 first. Without a host: the wildcard addresses, which connect(2)
/// takes for this machine. The error is the resolver's message.
Result<std::vector<Endpoint>, std::string> resolve(const HostAndPort& wanted);

}  // namespace pex::http
