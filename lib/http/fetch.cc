#include "http/fetch.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "access/return_error.h"
#include "access/transport.h"
#include "http/address.h"

// In a co_await expression stand only names: see connection.cc.

namespace pex::http {
namespace {

namespace asio = boost::asio;
namespace wire = boost::beast::http;
using access::kReturnError;
using access::Socket;
using access::Transport;
using boost::system::error_code;
using Parser = wire::response_parser<wire::string_body>;

constexpr std::size_t kMaxBytes = 64 * 1024;
constexpr std::size_t kReceiveBytes = 4096;

Result<std::vector<Endpoint>, std::string> targets_of(const std::string& address) {
  if (address.starts_with(kUnix)) {
    const std::string path = address.substr(kUnix.size());
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return std::string{"no path"};
    return std::vector<Endpoint>{asio::local::stream_protocol::endpoint{path}};
  }
  const auto wanted = parse_address(address);
  if (!wanted) return std::string{"no address"};
  return resolve(*wanted);
}

/// Parses incrementally; the end of the connection may end the answer.
asio::awaitable<error_code> receive(Transport& transport, Parser& parser) {
  boost::beast::flat_buffer received;
  error_code error;
  while (!error && !parser.is_done()) {
    const asio::mutable_buffer room = received.prepare(kReceiveBytes);
    const auto [failure, size] = co_await transport.read_some(room);
    received.commit(size);
    if (failure && !parser.got_some()) co_return failure;
    if (failure) {
      parser.put_eof(error);
    } else {
      received.consume(parser.put(received.data(), error));
      if (error == wire::error::need_more) error = {};
    }
  }
  co_return error;
}

asio::awaitable<error_code> exchange(Transport& transport, const std::string& request,
                                     Parser& parser) {
  const auto [refused] = co_await transport.handshake();
  if (refused) co_return refused;
  Transport::Clock::time_point last_progress;
  const auto [failure, size] = co_await transport.write(request, {}, last_progress);
  if (failure) co_return failure;
  co_return co_await receive(transport, parser);
}

asio::awaitable<error_code> connect(Socket& socket, const std::vector<Endpoint>& targets) {
  error_code last = asio::error::host_not_found;
  for (const Endpoint& target : targets) {
    error_code ignored;
    socket.close(ignored);
    const auto [error] = co_await socket.async_connect(target, kReturnError);
    if (!error) co_return error;
    last = error;
  }
  co_return last;
}

/// Nothing that `ask` refers to is accessed once its loop has stopped, finished or not.
asio::awaitable<void> ask(Socket& socket, const std::vector<Endpoint>& targets, bool tls,
                          const std::string& request, Parser& parser,
                          std::optional<error_code>& outcome) {
  const error_code refused = co_await connect(socket, targets);
  if (refused) {
    outcome = refused;
    co_return;
  }
  const auto transport =
      tls ? access::unverified_tls_transport(socket) : access::plain_transport(socket);
  outcome = co_await exchange(*transport, request, parser);
}

Remedy remedy() {
  return "start it; or set the same " + ProgramTerm::kListenAddress + " and " +
         ProgramTerm::kWebConfigFile + " as it was started with";
}

/// An errno if there is one; else the text of the component that refused, such as OpenSSL.
Error failure(const error_code& error, const std::string& attempted) {
  if (error.category() == boost::system::system_category()) {
    return {error.value(), attempted, remedy()};
  }
  return {0, attempted + ": " + error.message(), remedy()};
}

}  // namespace

Result<Fetched> fetch(const Destination& destination, const std::string& path,
                      std::chrono::milliseconds timeout) {
  const std::string attempted = std::string{"ask "} + destination.address + " for " + path +
                                (destination.tls ? " over TLS" : "");
  const auto targets = targets_of(destination.address);
  if (!targets) return Error{0, attempted + ": " + targets.error(), remedy()};

  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  Parser parser;
  parser.body_limit(kMaxBytes);
  parser.eager(true);
  std::optional<error_code> outcome;
  asio::io_context loop{1};
  Socket socket{loop};
  std::exception_ptr thrown;
  asio::co_spawn(loop, ask(socket, *targets, destination.tls, request, parser, outcome),
                 [&thrown](std::exception_ptr exception) { thrown = std::move(exception); });
  loop.run_for(timeout);
  if (thrown) return Error{0, attempted + ": out of memory, or OpenSSL is unusable", {}};
  if (!outcome) return Error{ETIMEDOUT, attempted, remedy()};
  if (*outcome) return failure(*outcome, attempted);
  return Fetched{parser.get().result_int(), std::move(parser.get().body())};
}

}  // namespace pex::http
