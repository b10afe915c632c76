#include "http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "base/text.h"

namespace pex::http {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_unsigned(text);
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return {};
  return static_cast<std::uint16_t>(*port);
}

/// With or without a zone: fe80::1%eth0.
bool is_ipv6(const std::string& text) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &ignored) == 1;
}

/// The host without its brackets. Nothing for an IPv6 address without them (it would be unclear
/// where its port begins), and for brackets around anything else.
std::optional<std::string> parse_host(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  const std::string host{bracketed ? text.substr(1, text.size() - 2) : text};
  if (host.find_first_of("[]/ \t") != std::string::npos) return {};
  const bool is_v6 = is_ipv6(host);
  if (bracketed != is_v6 || (!is_v6 && host.find(':') != std::string::npos)) return {};
  return host;
}

struct FreeFound {
  void operator()(addrinfo* found) const { ::freeaddrinfo(found); }
};

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
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* raw = nullptr;
  const char* const host = wanted.host.empty() ? nullptr : wanted.host.c_str();
  const int failure = ::getaddrinfo(host, std::to_string(wanted.port).c_str(), &hints, &raw);
  if (failure != 0) return std::string{::gai_strerror(failure)};
  const std::unique_ptr<addrinfo, FreeFound> found{raw};
  std::vector<Endpoint> endpoints;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    endpoints.emplace_back().size = each->ai_addrlen;
    std::memcpy(&endpoints.back().address, each->ai_addr, each->ai_addrlen);
  }
  std::stable_partition(endpoints.begin(), endpoints.end(),
                        [](const Endpoint& each) { return each.address.ss_family == AF_INET; });
  return endpoints;
}

}  // namespace pex::http
