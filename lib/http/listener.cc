#include "http/listener.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/lookup.h"
#include "http/address.h"

namespace pex::http {
namespace {

namespace ip = boost::asio::ip;
using ip::tcp;

struct RemedyEntry {
  int code;
  Remedy remedy;
};
constexpr const char* kInheritedRemedy =
    "set ListenStream= in the .socket unit to a port or a path, and Accept=no";

Remedy spelling_remedy() {
  return "write host:port, :port, [IPv6]:port or unix:/path in " + ProgramTerm::kListenAddress +
         ", for example 127.0.0.1:10173";
}

Remedy name_remedy() {
  return "use a name that this machine can resolve, or an IP address, in " +
         ProgramTerm::kListenAddress;
}

Remedy remedy_for(int code) {
  constexpr auto kAddress = ProgramTerm::kListenAddress;
  static const RemedyEntry kRemedies[] = {
      {EADDRINUSE, "another program has this port: choose another with " + kAddress},
      {EACCES,
       "ports below 1024 require CAP_NET_BIND_SERVICE: choose a higher one with " + kAddress},
      {EADDRNOTAVAIL,
       "this machine does not have this address: choose one of its addresses with " + kAddress},
      {EAFNOSUPPORT, "if it is an IPv6 address, choose an IPv4 address with " + kAddress +
                         "; a systemd service may run without a network: choose the address in its "
                         ".socket unit"},
      {EINVAL,
       "a link-local address needs the interface that it is on: write [fe80::1%eth0]:10173 "
       "in " +
           kAddress},
      {EMFILE, "raise " + ProgramTerm::kOpenFileLimit},
  };
  const RemedyEntry* entry = lookup(kRemedies, &RemedyEntry::code, code);
  return entry != nullptr ? entry->remedy : Remedy();
}

/// The addresses to listen on, best first; the second is tried only if the first one's family is
/// missing.
Result<std::vector<Endpoint>, std::string> endpoints_of(const HostAndPort& wanted) {
  if (!wanted.host.empty()) return resolve(wanted);
  return std::vector<Endpoint>{tcp::endpoint{tcp::v6(), wanted.port},
                               tcp::endpoint{tcp::v4(), wanted.port}};
}

bool set(const UniqueFd& fd, int level, int option, int value) {
  return ::setsockopt(fd.get(), level, option, &value, sizeof value) == 0;
}

UniqueFd open_stream(int family) {
  return UniqueFd{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

/// Fails with errno.
Result<UniqueFd, int> listen_on(const Endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  UniqueFd fd = open_stream(family);
  // After a restart the port is still held by connections of the last run in TIME_WAIT. The IPv6
  // wildcard address includes IPv4.
  const bool is_listening = fd && set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
                            (family != AF_INET6 || set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
                            ::bind(fd.get(), endpoint.data(), endpoint.size()) == 0 &&
                            ::listen(fd.get(), SOMAXCONN) == 0;
  if (!is_listening) return int{errno};
  return fd;
}

/// The address of a TCP socket; nothing for a unix socket.
std::optional<tcp::endpoint> endpoint_of(int socket) {
  tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  ::getsockname(socket, endpoint.data(), &size);
  const int family = endpoint.data()->sa_family;
  if (family != AF_INET && family != AF_INET6) return {};
  return endpoint;
}

/// A TCP client is accepted with its first bytes, or after a second without any. A client that is
/// refused at the limit of connections is displaced by the next ones within milliseconds, so one
/// that is kept off its CPU between connect(2) and send(2) would be closed before its request
/// arrives.
ListeningSocket listening(UniqueFd fd) {
  set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);  // seconds; a unix socket has no such option
  const auto endpoint = endpoint_of(fd.get());
  return {.fd = std::move(fd), .port = endpoint ? endpoint->port() : std::uint16_t{0}};
}

bool family_is_missing(int code) { return code == EAFNOSUPPORT || code == EADDRNOTAVAIL; }

Result<ListeningSocket> open_tcp(const std::string& address) {
  const auto wanted = parse_address(address);
  if (!wanted) return Error{0, "'" + address + "' is not a listen address", spelling_remedy()};
  const auto endpoints = endpoints_of(*wanted);
  if (!endpoints) return Error{0, "listen on " + address + ": " + endpoints.error(), name_remedy()};

  int code = 0;
  for (const Endpoint& endpoint : *endpoints) {
    auto fd = listen_on(endpoint);
    if (fd) return listening(*std::move(fd));
    code = fd.error();
    if (!family_is_missing(code)) break;
  }
  return Error{code, "listen on " + address, remedy_for(code)};
}

Result<ListeningSocket> open_unix(const std::string& path) {
  const std::string attempted = "listen on unix:" + path;
  UniqueFd fd = open_stream(AF_UNIX);
  if (!fd) return Error{errno, attempted, remedy_for(errno)};
  auto file = SocketFile::bind(fd, path);
  if (!file) return file.error();
  if (::listen(fd.get(), SOMAXCONN) != 0) return Error{errno, attempted, ""};
  return ListeningSocket{.fd = std::move(fd), .file = *std::move(file)};
}

/// An integer option of SOL_SOCKET; -1 if it is not a socket.
int option_of(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

Result<ListeningSocket> open_listener(const std::string& address) {
  if (address.starts_with(kUnix)) return open_unix(address.substr(kUnix.size()));
  return open_tcp(address);
}

Result<ListeningSocket> adopt_listener(UniqueFd fd) {
  const int family = family_of(fd.get());
  const bool is_family = family == AF_INET || family == AF_INET6 || family == AF_UNIX;
  if (!is_family || option_of(fd.get(), SO_TYPE) != SOCK_STREAM ||
      option_of(fd.get(), SO_ACCEPTCONN) != 1) {
    return Error{0,
                 "descriptor " + std::to_string(fd.get()) +
                     " of the service manager is not a listening stream socket",
                 kInheritedRemedy};
  }
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return Error{errno, "use descriptor " + std::to_string(fd.get()) + " of the service manager",
                 ""};
  }
  return listening(std::move(fd));
}

Result<AcceptedClient, int> accept_client(int listener) {
  tcp::endpoint client;
  auto size = static_cast<socklen_t>(client.capacity());
  UniqueFd fd{::accept4(listener, client.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!fd) return int{errno};
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);  // without it small answers are late, not wrong
  const int family = client.data()->sa_family;
  const bool is_tcp = family == AF_INET || family == AF_INET6;
  return AcceptedClient{std::move(fd), is_tcp ? access::Peer{client.address()} : access::Peer{}};
}

std::string ip_of(int listener) {
  const auto endpoint = endpoint_of(listener);
  return endpoint ? endpoint->address().to_string() : std::string();
}

bool is_reachable_from_elsewhere(int listener) {
  const auto endpoint = endpoint_of(listener);
  return endpoint && !access::is_loopback(endpoint->address());
}

int family_of(int socket) { return option_of(socket, SO_DOMAIN); }

}  // namespace pex::http
