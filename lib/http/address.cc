#include "http/address.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <limits>

#include "base/text.h"

namespace pex::http {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_unsigned(text);
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return {};
  return static_cast<std::uint16_t>(*port);
}

/// With or without a zone: fe80::1%eth0.
bool is_ipv6(const std::string& text) {
  error_code error;
  boost::asio::ip::make_address_v6(text, error);
  return !error;
}

/// The host without its brackets. Nothing for an IPv6 address without them (its port would be
/// ambiguous), and for brackets around anything else.
std::optional<std::string> parse_host(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  const std::string host{bracketed ? text.substr(1, text.size() - 2) : text};
  if (host.find_first_of("[]/ \t") != std::string::npos) return {};
  const bool is_v6 = is_ipv6(host);
  if (bracketed != is_v6 || (!is_v6 && host.find(':') != std::string::npos)) return {};
  return host;
}

}  // namespace

std::optional<HostAndPort> parse_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto host = parse_host(address.substr(0, colon));
  const auto port = parse_port(address.substr(colon + 1));
  if (!host || !port) return {};
  return HostAndPort{*host, *port};
}

Result<std::vector<Endpoint>, std::string> resolve(const HostAndPort& wanted) {
  boost::asio::io_context unused;
  error_code error;
  const auto found =
      tcp::resolver{unused}.resolve(wanted.host, std::to_string(wanted.port),
                                    tcp::resolver::numeric_service | tcp::resolver::passive, error);
  if (error) return error.message();
  std::vector<Endpoint> endpoints;
  for (const auto& each : found) endpoints.emplace_back(each.endpoint());
  std::stable_partition(endpoints.begin(), endpoints.end(),
                        [](const Endpoint& each) { return each.protocol().family() == AF_INET; });
  return endpoints;
}

}  // namespace pex::http
