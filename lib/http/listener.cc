#include "http/listener.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/parse.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Remedy {
  int code;
  const char* text;
};
constexpr Remedy kListenRemedies[] = {
    {EADDRINUSE, "another program has this port: choose another with --web.listen-address"},
    {EACCES,
     "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one with --web.listen-address"},
    {EADDRNOTAVAIL,
     "this machine does not have this address: choose one of its own with --web.listen-address"},
    {EAFNOSUPPORT, "this machine has no IPv6: choose an IPv4 address with --web.listen-address"},
    {EMFILE, "raise LimitNOFILE= in the unit"},
};
constexpr const char* kSpellingRemedy =
    "write host:port, :port or [IPv6]:port in --web.listen-address, for example 127.0.0.1:10173";
constexpr const char* kNameRemedy =
    "use a name that this machine can resolve, or an IP address, in --web.listen-address";

std::string remedy_for(int code) {
  const auto row = std::find_if(std::begin(kListenRemedies), std::end(kListenRemedies),
                                [&](const Remedy& each) { return each.code == code; });
  return row != std::end(kListenRemedies) ? row->text : "";
}

struct HostAndPort {
  std::string host;  ///< a name or a bare IP address; empty for every address of the machine
  std::uint16_t port;
};

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_unsigned(text);
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) return {};
  return static_cast<std::uint16_t>(*port);
}

/// The host without its brackets. Nothing for an IPv6 address without them (it would be unclear
/// where its port begins), and for brackets around anything else.
std::optional<std::string> parse_host(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  const std::string host{bracketed ? text.substr(1, text.size() - 2) : text};
  if (host.find_first_of("[]/ \t") != std::string::npos) return {};
  error_code error;
  asio::ip::make_address_v6(host, error);
  const bool is_ipv6 = !error;
  if (bracketed != is_ipv6 || (!is_ipv6 && host.find(':') != std::string::npos)) return {};
  return host;
}

std::optional<HostAndPort> parse_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto host = parse_host(address.substr(0, colon));
  const auto port = parse_port(address.substr(colon + 1));
  if (!host || !port) return {};
  return HostAndPort{*host, *port};
}

std::vector<tcp::endpoint> resolve(asio::io_context& loop, const HostAndPort& wanted,
                                   error_code& error) {
  tcp::resolver resolver{loop};
  const auto found = resolver.resolve(wanted.host, std::to_string(wanted.port),
                                      tcp::resolver::numeric_service, error);
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  std::stable_partition(endpoints.begin(), endpoints.end(),
                        [](const tcp::endpoint& each) { return each.address().is_v4(); });
  return endpoints;
}

/// Where to listen, best first; the second is tried only where the first one's family is missing.
std::vector<tcp::endpoint> endpoints_of(asio::io_context& loop, const HostAndPort& wanted,
                                        error_code& error) {
  if (!wanted.host.empty()) return resolve(loop, wanted, error);
  return {{tcp::v6(), wanted.port}, {tcp::v4(), wanted.port}};
}

error_code start_listening(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  if (acceptor.open(endpoint.protocol(), error)) return error;
  set_close_on_exec(acceptor.native_handle());
  // After a restart the port is still held by connections of the last run that wait to time out.
  if (acceptor.set_option(tcp::acceptor::reuse_address{true}, error)) return error;
  if (endpoint.address().is_v6() && endpoint.address().is_unspecified() &&
      acceptor.set_option(asio::ip::v6_only{false}, error)) {
    return error;
  }
  if (acceptor.bind(endpoint, error)) return error;
  acceptor.listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

bool family_is_missing(const error_code& error) {
  return error.value() == EAFNOSUPPORT || error.value() == EADDRNOTAVAIL;
}

}  // namespace

Result<tcp::acceptor> open_listener(asio::io_context& loop, const std::string& address) {
  const auto wanted = parse_address(address);
  if (!wanted) return Error{0, "'" + address + "' is no listen address", kSpellingRemedy};

  error_code error;
  const auto endpoints = endpoints_of(loop, *wanted, error);
  if (error) return Error{0, "listen on " + address + ": " + error.message(), kNameRemedy};

  for (const tcp::endpoint& endpoint : endpoints) {
    tcp::acceptor acceptor{loop};
    error = start_listening(acceptor, endpoint);
    if (!error) return acceptor;
    if (!family_is_missing(error)) break;
  }
  return Error{error.value(), "listen on " + address, remedy_for(error.value())};
}

void set_close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace pex::http
