#include "http/fetch.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "access/return_error.h"
#include "access/transport.h"
#include "base/text.h"
#include "http/address.h"

// In a co_await expression stand only names: see connection.cc.

namespace pex::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Target = asio::generic::stream_protocol::endpoint;

constexpr std::size_t kMostBytes = 64 * 1024;

Result<std::vector<Target>, std::string> targets_of(const std::string& address) {
  if (address.starts_with(kUnix)) {
    const std::string path = address.substr(kUnix.size());
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return std::string{"no path"};
    return std::vector<Target>{asio::local::stream_protocol::endpoint{path}};
  }
  const auto wanted = parse_address(address);
  if (!wanted) return std::string{"no address"};
  const auto found = resolve(*wanted);
  if (!found) return found.error();
  std::vector<Target> targets;
  for (const Endpoint& each : *found) targets.emplace_back(each.get(), each.size);
  return targets;
}

std::string request_for(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

/// The server closes when it has answered, which is the end and no failure.
template <typename Stream>
asio::awaitable<error_code> exchange(Stream& stream, const std::string& request,
                                     std::string& answer) {
  const asio::const_buffer sent = asio::buffer(request);
  const auto [write_error, written] =
      co_await asio::async_write(stream, sent, access::kReturnError);
  if (write_error) co_return write_error;
  auto room = asio::dynamic_buffer(answer, kMostBytes);
  const auto [read_error, read] = co_await asio::async_read(stream, room, access::kReturnError);
  co_return answer.empty() ? read_error : error_code{};
}

asio::awaitable<error_code> exchange_encrypted(access::Socket& socket, const std::string& request,
                                               std::string& answer) {
  asio::ssl::context context{asio::ssl::context::tls_client};
  context.set_verify_mode(asio::ssl::verify_none);
  asio::ssl::stream<access::Socket&> stream{socket, context};
  const auto client = asio::ssl::stream_base::client;
  const auto [error] = co_await stream.async_handshake(client, access::kReturnError);
  if (error) co_return error;
  co_return co_await exchange(stream, request, answer);
}

asio::awaitable<error_code> connect(access::Socket& socket, const std::vector<Target>& targets) {
  error_code last = asio::error::host_not_found;
  for (const Target& target : targets) {
    error_code ignored;
    socket.close(ignored);
    const auto [error] = co_await socket.async_connect(target, access::kReturnError);
    if (!error) co_return error;
    last = error;
  }
  co_return last;
}

/// Nothing that `ask` refers to is touched once its loop has stopped to turn, whether it has ended
/// or not.
asio::awaitable<void> ask(access::Socket& socket, const std::vector<Target>& targets, bool tls,
                          const std::string& request, std::string& answer,
                          std::optional<error_code>& outcome) {
  const error_code refused = co_await connect(socket, targets);
  if (refused) {
    outcome = refused;
  } else if (tls) {
    outcome = co_await exchange_encrypted(socket, request, answer);
  } else {
    outcome = co_await exchange(socket, request, answer);
  }
}

/// "HTTP/1.1 200 OK", header fields, an empty line, the body (RFC 9112).
std::optional<Fetched> parse(std::string_view answer) {
  constexpr std::size_t kStatusAt = sizeof("HTTP/1.1");
  constexpr std::string_view kEndOfHead = "\r\n\r\n";
  const std::size_t end = answer.find(kEndOfHead);
  if (!answer.starts_with("HTTP/1.") || end == std::string_view::npos) return {};
  const auto status = parse_unsigned(answer.substr(kStatusAt, 3));
  if (!status) return {};
  return Fetched{static_cast<unsigned>(*status),
                 std::string{answer.substr(end + kEndOfHead.size())}};
}

Remedy remedy() {
  return "start it; or give the " + ProgramTerm::kListenAddress + " and " +
         ProgramTerm::kWebConfigFile + " that it was started with";
}

/// An errno where there is one behind it; else the text of whoever refused, such as OpenSSL.
Error failure(const error_code& error, const std::string& attempted) {
  if (error.category() == boost::system::system_category()) {
    return {error.value(), attempted, remedy()};
  }
  return {0, attempted + ": " + error.message(), remedy()};
}

}  // namespace

Result<Fetched> fetch(const Destination& destination, const std::string& path,
                      std::chrono::milliseconds patience) {
  const std::string attempted = std::string{"ask "} + destination.address + " for " + path +
                                (destination.tls ? " over TLS" : "");
  const auto targets = targets_of(destination.address);
  if (!targets) return Error{0, attempted + ": " + targets.error(), remedy()};

  const std::string request = request_for(path);
  std::string answer;
  std::optional<error_code> outcome;
  asio::io_context loop{1};
  access::Socket socket{loop};
  std::exception_ptr thrown;
  asio::co_spawn(loop, ask(socket, *targets, destination.tls, request, answer, outcome),
                 [&thrown](std::exception_ptr exception) { thrown = std::move(exception); });
  loop.run_for(patience);
  if (thrown) return Error{0, attempted + ": out of memory, or OpenSSL is unusable", {}};
  if (!outcome) return Error{ETIMEDOUT, attempted, remedy()};
  if (*outcome) return failure(*outcome, attempted);
  std::optional<Fetched> fetched = parse(answer);
  if (!fetched) return Error{0, attempted + ": the answer is not HTTP", remedy()};
  return *std::move(fetched);
}

}  // namespace pex::http
