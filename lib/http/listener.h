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
  SocketFile file{};       ///< none but for a unix socket that we made
};

/// Listens on `address`, spelled as Listening::addresses says. A name that has several addresses is
/// listened on at one of them, at IPv4 where it can be.
Result<ListeningSocket> open_listener(const std::string& address);

/// Takes a socket that another program made and listens on. Its file is that program's.
Result<ListeningSocket> adopt_listener(UniqueFd fd);

/// A client's connection, non-blocking and close-on-exec.
struct AcceptedClient {
  UniqueFd fd;
  access::Peer peer;
};

/// The next one. Fails with accept(2)'s errno: EAGAIN when nobody is there.
Result<AcceptedClient, int> accept_client(int listener);

/// Whether other machines may reach a socket that listens: it is bound to no loopback address, and
/// is no unix socket.
bool is_reachable_from_elsewhere(int listener);

/// AF_INET, AF_INET6, AF_UNIX; -1 for what is no socket.
int family_of(int socket);

}  // namespace pex::http
