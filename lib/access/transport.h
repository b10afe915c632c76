#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>

#include "access/access.h"

namespace pex::access {

/// Of whichever family: TCP, unix, or what a service manager hands over.
using Socket = boost::asio::generic::stream_protocol::socket;

using Finished = std::tuple<boost::system::error_code>;
using Transferred = std::tuple<boost::system::error_code, std::size_t>;

/// A completion condition of Asio, which is asked after each part of a write: goes on to the end,
/// and notes when that was.
struct NotesProgress {
  std::chrono::steady_clock::time_point* last;

  std::size_t operator()(const boost::system::error_code& error, std::size_t size) const {
    *last = std::chrono::steady_clock::now();
    return boost::asio::transfer_all()(error, size);
  }
};

/// Bytes to and from one client, as they are or encrypted. The socket stays its owner's, who
/// cancels and closes it, which ends what is pending here; it must outlive this.
class Transport {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Transport() = default;

  /// To be done first. An error: the client and we have no way to talk.
  virtual boost::asio::awaitable<Finished> handshake() = 0;

  /// Puts what has come, at least a byte, at the front of `room`.
  virtual boost::asio::awaitable<Transferred> read_some(boost::asio::mutable_buffer room) = 0;

  /// Both from where they are, which must last until then. `last_progress` is when the last part of
  /// them left.
  virtual boost::asio::awaitable<Transferred> write(std::string_view head, std::string_view body,
                                                    Clock::time_point& last_progress) = 0;

  /// Tells the client that nothing more will come, where the socket's own end would not.
  virtual boost::asio::awaitable<Finished> end() = 0;
};

std::unique_ptr<Transport> plain_transport(Socket& socket);

/// Speaks TLS as a server, with the context of `access`, which must have one, and keeps it.
std::unique_ptr<Transport> tls_transport(Socket& socket,
                                         const std::shared_ptr<const Access>& access);

/// Speaks TLS as a client that takes any certificate: for a server on the same machine.
std::unique_ptr<Transport> unverified_tls_transport(Socket& socket);

}  // namespace pex::access
