#include "http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

#include "http/request_head.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using Message = wire::response<wire::string_body>;

constexpr auto kReturnError = asio::as_tuple(asio::use_awaitable);
constexpr unsigned kHttp11 = 11;
constexpr std::size_t kReadBytes = 4096;            ///< a request is some hundred bytes
constexpr std::chrono::milliseconds kLinger{1000};  ///< for the client to read a last answer
constexpr unsigned kNobody = 0;  ///< in place of a status: nobody is there to be answered

/// The message as it goes out, but for Connection, which only keep_alive decides.
Message message_of(Response response, unsigned version, bool keep_alive) {
  Message message;
  message.version(version);
  message.result(response.status);
  message.set(wire::field::server, "perf_event_exporter");
  message.set(wire::field::content_type, response.content_type);
  if (response.status == 405) message.set(wire::field::allow, "GET, HEAD");
  message.body() = std::move(response.body);
  message.content_length(message.body().size());
  message.keep_alive(keep_alive);
  return message;
}

Message last_message(unsigned status) { return message_of(refusal(status), kHttp11, false); }

// In a co_await expression stand only names, moves of names and literals: g++ 12 destroys other
// temporaries there twice.
class ClientConnection final : public Connection,
                               public std::enable_shared_from_this<ClientConnection> {
 public:
  ClientConnection(tcp::socket socket, std::shared_ptr<const Site> site)
      : site_(std::move(site)), socket_(std::move(socket)), deadline_(socket_.get_executor()) {}

  void close() override {
    beast::error_code ignored;
    socket_.close(ignored);
  }

  tcp::socket::executor_type executor() { return socket_.get_executor(); }

  asio::awaitable<void> answer_requests();
  asio::awaitable<void> answer_busy(bool linger);

 private:
  using OnExpiry = void (ClientConnection::*)();

  asio::awaitable<bool> answer_next();
  asio::awaitable<unsigned> read_head(RequestHead& head);
  asio::awaitable<bool> receive();
  asio::awaitable<bool> send(Message& message, bool with_body);
  asio::awaitable<void> linger_and_close();

  void set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry);
  void stop_reading();
  void abort();
  Message answer_to(const RequestHead& head) const;

  std::shared_ptr<const Site> site_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  bool timed_out_ = false;     ///< the deadline set last has passed
  bool was_answered_ = false;  ///< at least one request; the next one may take its time
  /// Read from the socket and not yet parsed: pipelined requests wait here for their turn.
  beast::flat_buffer received_;
};

asio::awaitable<void> ClientConnection::answer_requests() {
  for (bool keep_alive = true; keep_alive;) {
    keep_alive = co_await answer_next();
  }
}

asio::awaitable<void> ClientConnection::answer_busy(bool linger) {
  Message busy = last_message(503);
  const bool sent = co_await send(busy, true);
  if (sent && linger) co_await linger_and_close();
}

/// Reads one request and answers it. True when the client may send another.
asio::awaitable<bool> ClientConnection::answer_next() {
  RequestHead head{site_->limits.header_bytes};
  const unsigned status = co_await read_head(head);
  if (status == kNobody || !socket_.is_open()) co_return false;  // closed by us: see close()

  Message message = status == 200 ? answer_to(head) : last_message(status);
  const bool with_body = status != 200 || head.method() != "HEAD";
  const bool sent = co_await send(message, with_body);
  if (!sent) co_return false;

  was_answered_ = true;
  const bool keep_alive = message.keep_alive();
  if (!keep_alive) co_await linger_and_close();
  co_return keep_alive;
}

Message ClientConnection::answer_to(const RequestHead& head) const {
  return message_of(answer(*site_, head.method(), head.target()), head.version(),
                    head.keep_alive());
}

/// The head's status, 408 when it does not arrive in time, 400 when the client ends it halfway.
asio::awaitable<unsigned> ClientConnection::read_head(RequestHead& head) {
  const Limits& limits = site_->limits;
  if (received_.size() == 0) {
    set_deadline(was_answered_ ? limits.idle_timeout : limits.read_timeout,
                 &ClientConnection::stop_reading);
    const bool arrived = co_await receive();
    if (!arrived) co_return kNobody;  // between two requests either side may just leave
  }
  if (head.take(received_)) co_return head.status();  // nearly always: it came in one packet

  set_deadline(limits.read_timeout, &ClientConnection::stop_reading);
  do {
    const bool arrived = co_await receive();
    if (!arrived) co_return timed_out_ ? 408 : 400;
  } while (!head.take(received_));
  co_return head.status();
}

/// Waits for bytes and appends them to what was received. False when none will come in time.
asio::awaitable<bool> ClientConnection::receive() {
  const auto room = received_.prepare(kReadBytes);
  const auto [error, size] = co_await socket_.async_read_some(room, kReturnError);
  if (error || timed_out_) co_return false;
  received_.commit(size);
  co_return true;
}

/// Header and body leave in one gathering write, the body from where the handler made it.
asio::awaitable<bool> ClientConnection::send(Message& message, bool with_body) {
  set_deadline(site_->limits.write_timeout, &ClientConnection::abort);
  wire::response_serializer<wire::string_body> serializer{message};
  if (!with_body) {
    const auto [error, size] = co_await wire::async_write_header(socket_, serializer, kReturnError);
    co_return !error;
  }
  const auto [error, size] = co_await wire::async_write(socket_, serializer, kReturnError);
  co_return !error;
}

/// A close while the client's bytes are still arriving would reset the connection, and the reset
/// could overtake our answer: so say that we are done, and let the client close first.
asio::awaitable<void> ClientConnection::linger_and_close() {
  beast::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  set_deadline(kLinger, &ClientConnection::close);
  for (bool more = true; more;) {
    received_.clear();
    more = co_await receive();
  }
  close();
}

/// From now on `on_expiry` is called when `allowed` has passed, unless a later call moves it.
void ClientConnection::set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry) {
  timed_out_ = false;
  deadline_.expires_after(allowed);
  deadline_.async_wait([weak = weak_from_this(), on_expiry](beast::error_code error) {
    const auto self = weak.lock();
    if (error || !self) return;
    // A wait that was over when the deadline moved is not told so; only the clock knows.
    if (self->deadline_.expiry() > asio::steady_timer::clock_type::now()) return;
    self->timed_out_ = true;
    (self.get()->*on_expiry)();
  });
}

/// Ends a pending receive and leaves the socket open for an answer.
void ClientConnection::stop_reading() {
  beast::error_code ignored;
  socket_.cancel(ignored);
}

/// Closes and drops what the client has not read: after a plain close the kernel would keep
/// offering it, megabytes of it, to a client that does not take it.
void ClientConnection::abort() {
  beast::error_code ignored;
  socket_.set_option(tcp::socket::linger{true, 0}, ignored);
  close();
}

/// Holds the connection for as long as its coroutine runs.
asio::awaitable<void> run_serving(std::shared_ptr<ClientConnection> connection) {
  co_await connection->answer_requests();
}

asio::awaitable<void> run_refusing(std::shared_ptr<ClientConnection> connection, bool linger) {
  co_await connection->answer_busy(linger);
}

}  // namespace

// `detached` drops an exception: it has ended the coroutine, and that closes the one connection it
// concerns. What a handler throws does not come this far.

std::weak_ptr<Connection> serve(tcp::socket socket, std::shared_ptr<const Site> site) {
  auto connection = std::make_shared<ClientConnection>(std::move(socket), std::move(site));
  asio::co_spawn(connection->executor(), run_serving(connection), asio::detached);
  return connection;
}

std::weak_ptr<Connection> refuse(tcp::socket socket, std::shared_ptr<const Site> site,
                                 bool linger) {
  auto connection = std::make_shared<ClientConnection>(std::move(socket), std::move(site));
  asio::co_spawn(connection->executor(), run_refusing(connection, linger), asio::detached);
  return connection;
}

}  // namespace pex::http
