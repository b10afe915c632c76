#include "http/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

namespace pex::http {
namespace {

namespace asio = boost::asio;
using access::kReturnError;
using access::Socket;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 4096;            ///< a request is some hundred bytes
constexpr std::chrono::milliseconds kLinger{1000};  ///< for the client to read a final answer
constexpr unsigned kNoStatus = 0;     ///< in place of a status: no client waits for an answer
constexpr char kTlsHandshake = 0x16;  ///< the first byte of a TLS client (RFC 8446, 5.1)
constexpr const char* kNoProtocol = "neither TLS nor HTTP";
constexpr const char* kLateHandshake = "TLS handshake: not complete in time";
constexpr const char* kSpeaksHttps = "400 Bad Request: this port speaks HTTPS, and that was HTTP\n";

}  // namespace

// A co_await expression contains only names, moves of names and literals: g++ 12 destroys other
// temporaries in it twice.

Connection::Connection(Socket socket, const access::Peer& peer, std::shared_ptr<Service> service,
                       Kind kind)
    : peer_(peer),
      kind_(kind),
      service_(std::move(service)),
      access_(service_->site.access()),
      socket_(std::move(socket)),
      transport_(access::plain_transport(socket_)),
      deadline_(socket_.get_executor()),
      wakeup_(socket_.get_executor()) {}

void Connection::close() {
  error_code ignored;
  unsent_ = {};
  socket_.close(ignored);
  wakeup_.cancel();
}

/// The answer of a refused client is short, so it is in the kernel's buffer, which still sends it.
void Connection::give_way() {
  const bool holds_memory = standing_.phase == Phase::kTaking && !is_refused();
  holds_memory ? abort() : close();
}

asio::awaitable<bool> Connection::secure() {
  if (access_->tls() == nullptr) co_return true;
  set_deadline(head_timeout(), &Connection::close);
  char first = 0;
  for (bool is_known = false; !is_known && socket_.is_open();) {
    co_await socket_.async_wait(Socket::wait_read, kReturnError);
    is_known = peek(first);
  }
  const bool is_http = first >= 'A' && first <= 'Z';  // the letter of a method
  if (first != kTlsHandshake && first != 0) ++service_->errors.tls_handshake;
  if (first != kTlsHandshake && first != 0 && !is_http) service_->refused(peer_, kNoProtocol);
  if (is_http) co_await refuse_plain_http();
  if (first != kTlsHandshake) co_return false;

  const bool may_begin = co_await wait_for_handshake();
  if (!may_begin) co_return false;
  transport_ = access::tls_transport(socket_, access_);
  transport_access_ = access_->tls();
  enter(Phase::kAsking);
  const auto [error] = co_await transport_->handshake();
  if (error) report_handshake(error);
  if (error && socket_.is_open()) {  // the client should read the reason instead of a reset
    transport_ = access::plain_transport(socket_);
    co_await linger_and_close();
  }
  co_return !error && socket_.is_open();
}

/// Not a connection that was closed for another client, which is reported there.
void Connection::report_handshake(const error_code& error) {
  ++service_->errors.tls_handshake;
  if (deadline_.has_passed()) {
    service_->refused(peer_, kLateHandshake);
  } else if (socket_.is_open()) {
    service_->refused(peer_, "TLS handshake: " + transport_->why_refused(error));
  }
}

/// Peeks at the first byte; unchanged if the client has left. False: nothing has arrived, although
/// Asio reports it: the event may be that of an earlier socket with the same descriptor.
bool Connection::peek(char& first) {
  if (!socket_.is_open()) return true;
  const ssize_t size = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  return size >= 0 || (errno != EAGAIN && errno != EINTR);
}

asio::awaitable<void> Connection::refuse_plain_http() {
  const Response response = plain_text(400, kSpeaksHttps);
  service_->refused(peer_, first_line(response));
  const Framing framing{.version = 10, .now = std::time(nullptr)};
  const bool sent = co_await send(response, framing, true);
  if (sent) co_await linger_and_close();
}

/// Waits for permission to begin the handshake. False: the connection was closed meanwhile.
asio::awaitable<bool> Connection::wait_for_handshake() {
  enter(Phase::kServer);
  const auto permission = std::make_shared<AsyncValue<bool>>(wakeup_);
  service_->handshakes->ask(peer_, [weak = std::weak_ptr{permission}] {
    const auto waiting = weak.lock();
    if (waiting) waiting->set(true);
    return waiting != nullptr;
  });
  const std::chrono::milliseconds allowed = limits().read_timeout;
  const bool arrived = co_await wait_for(*permission, allowed);
  if (!arrived && socket_.is_open()) service_->refused(peer_, kLateHandshake);
  co_return arrived&& socket_.is_open();
}

asio::awaitable<unsigned> Connection::read(RequestHead& head) {
  if (received_.empty()) {
    set_deadline(was_answered_ ? limits().idle_timeout : head_timeout(), &Connection::stop_reading);
    enter(Phase::kIdle);
    const bool arrived = co_await receive();
    if (!arrived) co_return kNoStatus;  // between two requests either side may leave
    if (received_.front() == kTlsHandshake && access_->tls() == nullptr) {
      service_->refused(peer_, "TLS, and this server speaks plain HTTP");  // as a probe tries it
      co_return kNoStatus;
    }
  }
  if (!head.take(received_)) {  // rarely: it does not arrive in one packet
    enter(Phase::kAsking);
    set_deadline(head_timeout(), &Connection::stop_reading);
    do {
      const bool arrived = co_await receive();
      if (!arrived) co_return deadline_.has_passed() ? 408 : 400;
    } while (!head.take(received_));
  }
  deadline_.lift();
  enter(Phase::kServer);
  co_return head.status();
}

/// Waits for bytes and appends them to what was received. False if none arrive in time.
asio::awaitable<bool> Connection::receive() {
  const std::size_t before = received_.size();
  received_.resize(before + kReadBytes);
  const asio::mutable_buffer room{received_.data() + before, kReadBytes};
  const auto [error, size] = co_await transport_->read_some(room);
  const bool arrived = !error && !deadline_.has_passed();
  received_.resize(before + (arrived ? size : 0));
  co_return arrived;
}

asio::awaitable<bool> Connection::send(const Response& response, Framing framing, bool with_body) {
  set_deadline(limits().write_timeout, &Connection::drop_slow_client);
  const std::string head = response_head(response, access_->settings().headers, framing);
  const bool has_body = with_body && response.body != nullptr;
  const std::string_view body = has_body ? std::string_view{*response.body} : std::string_view{};
  if (has_body) {
    unsent_ = {response.body, std::chrono::steady_clock::now()};
    service_->connections.begin_sending(response.body);
  }
  enter(Phase::kTaking);
  const auto [error, size] = co_await transport_->write(head, body, standing_.since);
  if (has_body) service_->connections.end_sending(response.body);
  unsent_ = {};
  was_answered_ = true;
  co_return !error;
}

void Connection::drop_unsent() {
  ++service_->errors.unsent_limit;
  service_->refused(peer_, "dropped: clients do not read their responses, and this one least");
  abort();
}

/// A close while the client's bytes are still arriving would reset the connection, and the reset
/// could overtake our answer: shut down our side, and let the client close first.
asio::awaitable<void> Connection::linger_and_close() {
  enter(Phase::kOver);
  set_deadline(kLinger, &Connection::close);
  co_await transport_->end();
  error_code ignored;  // the client may have closed first
  socket_.shutdown(Socket::shutdown_send, ignored);
  received_.resize(kReadBytes);
  const asio::mutable_buffer room{received_.data(), received_.size()};
  for (bool more = true; more;) {
    const auto [error, size] = co_await socket_.async_read_some(room, kReturnError);
    more = !error && !deadline_.has_passed();
  }
  close();
}

void Connection::set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry) {
  deadline_.set(allowed, weak_from_this(), [this, on_expiry] { (this->*on_expiry)(); });
}

/// Ends a pending receive and leaves the socket open for an answer.
void Connection::stop_reading() {
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::drop_slow_client() {
  ++service_->errors.slow_client;
  service_->refused(peer_, "dropped: it did not read its response in time");
  abort();
}

/// Closes and drops what the client has not read: after a plain close the kernel would keep
/// offering it, possibly megabytes, to a client that does not read it.
void Connection::abort() {
  error_code ignored;
  socket_.set_option(Socket::linger{true, 0}, ignored);
  close();
}

}  // namespace pex::http
