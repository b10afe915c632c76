#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "access/access.h"

namespace pex::access {

/// A stream socket of any family: TCP, unix, or passed by a service manager.
using Socket = boost::asio::generic::stream_protocol::socket;

using Finished = std::tuple<boost::system::error_code>;
using Transferred = std::tuple<boost::system::error_code, std::size_t>;

/// A completion condition of Asio, called after each part of a write: continues to the end, and
/// records the time of the last part.
struct NotesProgress {
  std::chrono::steady_clock::time_point* last;

  std::size_t operator()(const boost::system::error_code& error, std::size_t size) const {
    *last = std::chrono::steady_clock::now();
    return boost::asio::transfer_all()(error, size);
  }
};

/// Bytes from and to one client, plain or encrypted. The socket's owner cancels and closes it,
/// which ends pending operations; it must outlive this.
class Transport {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Transport() = default;

  /// Must be called first. On an error no communication with the client is possible.
  virtual boost::asio::awaitable<Finished> handshake() = 0;
  /// Why the handshake failed with `error`: "certificate verify failed (...): certificate has
  /// expired".
  virtual std::string why_refused(const boost::system::error_code& error) const {
    return error.message();
  }

  /// Reads at least one byte into the front of `room`.
  virtual boost::asio::awaitable<Transferred> read_some(boost::asio::mutable_buffer room) = 0;

  /// Writes both without copying; they must live until the end. `last_progress` is the time at
  /// which the last part was sent.
  virtual boost::asio::awaitable<Transferred> write(std::string_view head, std::string_view body,
                                                    Clock::time_point& last_progress) = 0;

  /// Notifies the client that no more data follows, where closing the socket does not.
  virtual boost::asio::awaitable<Finished> end() = 0;
};

std::unique_ptr<Transport> plain_transport(Socket& socket);

/// TLS as a server, with the context of `access`, which must have one, and is kept alive.
std::unique_ptr<Transport> tls_transport(Socket& socket,
                                         const std::shared_ptr<const Access>& access);

/// TLS as a client that accepts any certificate: for a server on the same machine.
std::unique_ptr<Transport> unverified_tls_transport(Socket& socket);

}  // namespace pex::access
