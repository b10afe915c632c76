#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "http/gzip.h"

namespace pex::bench {

/// The least that an answer to a scrape can cost: Beast reads a request from a connection that is
/// kept alive and writes a text that is rendered and compressed for it, on the thread that waits
/// for the request. No limits, deadlines, logins or choice of formats.
class BareAnswer {
 public:
  explicit BareAnswer(std::function<std::string()> render);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  /// Waits for the next request and answers it. Throws what Beast throws.
  void serve();

 private:
  std::function<std::string()> render_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::optional<boost::asio::ip::tcp::socket> client_;
  boost::beast::flat_buffer received_;
  http::Gzip gzip_;
};

}  // namespace pex::bench
