#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pex::http {

/// What stands before the path of a socket file, in place of a host.
inline constexpr std::string_view kUnix = "unix:";

/// "host:port", ":port" or "[IPv6]:port".
struct HostAndPort {
  std::string host;  ///< a name or a bare IP address; empty for every address of the machine
  std::uint16_t port;
};

/// Nothing for what is spelled otherwise.
std::optional<HostAndPort> parse_address(std::string_view address);

/// One address of a stream socket, of whichever family.
using Endpoint = boost::asio::generic::stream_protocol::endpoint;

/// Every address of the host, those of IPv4 first. Without a host: the ones that stand for every
/// address, which connect(2) takes for this machine. The error is the resolver's reason.
Result<std::vector<Endpoint>, std::string> resolve(const HostAndPort& wanted);

}  // namespace pex::http
