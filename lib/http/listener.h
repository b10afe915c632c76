#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "base/result.h"

namespace pex::http {

/// A socket that listens on `address`, spelled as Server::listen says. A name that has several
/// addresses is listened on at one of them, at IPv4 where it can be.
Result<boost::asio::ip::tcp::acceptor> open_listener(boost::asio::io_context& loop,
                                                     const std::string& address);

/// Asio opens and accepts without close-on-exec and cannot be asked for it, so it is set
/// afterwards.
void set_close_on_exec(int fd);

}  // namespace pex::http
