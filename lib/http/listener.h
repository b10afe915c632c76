#pragma once

#include <cstdint>
#include <string>

#include "access/peer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/socket_file.h"

namespace pex::http {

/// A socket that listens: stream, non-blocking, close-on-exec.
struct ListeningSocket {
  UniqueFd fd;
  std::uint16_t port = 0;  ///< 0 for a unix socket
  SocketFile file{};       ///< none, except for a unix socket that we created
};

/// Listens on `address`, in the format of Listening::addresses. For a name with several addresses,
/// listens on one of them, an IPv4 one if possible.
Result<ListeningSocket> open_listener(const std::string& address);

/// Takes over a listening socket of another program, which keeps its file.
Result<ListeningSocket> adopt_listener(UniqueFd fd);

/// A client's connection, non-blocking and close-on-exec.
struct AcceptedClient {
  UniqueFd fd;
  access::Peer peer;
};

/// Accepts the next one. Fails with accept(2)'s errno: EAGAIN if no client waits.
Result<AcceptedClient, int> accept_client(int listener);

/// The IP address that a socket is bound to; empty for a unix socket.
std::string ip_of(int listener);

/// Whether other machines may reach a listening socket: it is neither bound to a loopback address,
/// nor a unix socket.
bool is_reachable_from_elsewhere(int listener);

/// AF_INET, AF_INET6, AF_UNIX; -1 if it is not a socket.
int family_of(int socket);

}  // namespace pex::http
