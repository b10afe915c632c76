#include "http/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/lookup.h"
#include "http/address.h"

namespace pex::http {
namespace {

struct RemedyEntry {
  int code;
  Remedy remedy;
};
constexpr const char* kInheritedRemedy =
    "let the .socket unit have ListenStream= with a port or a path, and Accept=no";

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
      {EACCES, "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one with " + kAddress},
      {EADDRNOTAVAIL,
       "this machine does not have this address: choose one of its own with " + kAddress},
      {EAFNOSUPPORT,
       "this machine has no IPv6: choose an IPv4 address with " + kAddress +
           "; a service of systemd may have no network of its own: choose the address in its "
           ".socket unit"},
      {EMFILE, "raise " + ProgramTerm::kOpenFileLimit},
  };
  const RemedyEntry* entry = lookup(kRemedies, &RemedyEntry::code, code);
  return entry != nullptr ? entry->remedy : Remedy();
}

Endpoint any_v6(std::uint16_t port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  Endpoint endpoint{.size = sizeof any};
  std::memcpy(&endpoint.address, &any, sizeof any);
  return endpoint;
}

Endpoint any_v4(std::uint16_t port) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  Endpoint endpoint{.size = sizeof any};
  std::memcpy(&endpoint.address, &any, sizeof any);
  return endpoint;
}

/// Where to listen, best first; the second is tried only where the first one's family is missing.
Result<std::vector<Endpoint>, std::string> endpoints_of(const HostAndPort& wanted) {
  if (!wanted.host.empty()) return resolve(wanted);
  return std::vector<Endpoint>{any_v6(wanted.port), any_v4(wanted.port)};
}

bool is_every_v6(const Endpoint& endpoint) {
  if (endpoint.address.ss_family != AF_INET6) return false;
  sockaddr_in6 address{};
  std::memcpy(&address, &endpoint.address, sizeof address);
  return IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr);
}

bool set(const UniqueFd& fd, int level, int option, int value) {
  return ::setsockopt(fd.get(), level, option, &value, sizeof value) == 0;
}

UniqueFd open_stream(int family) {
  return UniqueFd{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

/// Fails with errno.
Result<UniqueFd, int> listen_on(const Endpoint& endpoint) {
  UniqueFd fd = open_stream(endpoint.address.ss_family);
  // After a restart the port is still held by connections of the last run that wait to time out.
  const bool is_listening = fd && set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
                            (!is_every_v6(endpoint) || set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
                            ::bind(fd.get(), endpoint.get(), endpoint.size) == 0 &&
                            ::listen(fd.get(), SOMAXCONN) == 0;
  if (!is_listening) return int{errno};
  return fd;
}

std::uint16_t port_of(const UniqueFd& fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return 0;
  sockaddr_in both{};  // the port is at the same place in both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&both, &address, sizeof both);
  return ntohs(both.sin_port);
}

ListeningSocket listening(UniqueFd fd) {
  const std::uint16_t port = port_of(fd);
  return {.fd = std::move(fd), .port = port};
}

bool family_is_missing(int code) { return code == EAFNOSUPPORT || code == EADDRNOTAVAIL; }

Result<ListeningSocket> open_tcp(const std::string& address) {
  const auto wanted = parse_address(address);
  if (!wanted) return Error{0, "'" + address + "' is no listen address", spelling_remedy()};
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

/// An integer option of SOL_SOCKET; -1 for what is no socket.
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
                     " of the service manager is no stream socket that listens",
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
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  UniqueFd fd{::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!fd) return int{errno};
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);  // without it small answers are late, not wrong
  return AcceptedClient{std::move(fd), access::Peer::at(address)};
}

bool is_reachable_from_elsewhere(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24u != IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const bool is_v4_loopback =
      IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
  return !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) && !is_v4_loopback;
}

int family_of(int socket) { return option_of(socket, SO_DOMAIN); }

}  // namespace pex::http
