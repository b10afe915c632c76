#include "http/connection.h"

#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "access/access.h"
#include "access/return_error.h"
#include "http/answer.h"
#include "http/awaited.h"
#include "http/request_head.h"
#include "http/respond.h"
#include "http/same_origin.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = asio::steady_timer::clock_type;
using Verdict = access::Logins::Verdict;

constexpr std::size_t kReadBytes = 4096;            ///< a request is some hundred bytes
constexpr std::chrono::milliseconds kLinger{1000};  ///< for the client to read a last answer
constexpr unsigned kNobody = 0;       ///< in place of a status: nobody is there to be answered
constexpr char kTlsHandshake = 0x16;  ///< what a client of TLS sends first (RFC 8446, 5.1)
constexpr const char* kSpeaksHttps = "400 Bad Request: this port speaks HTTPS, and that was HTTP\n";

/// A body that one client is taking, for as long as this lives.
class Sending {
 public:
  Sending(std::shared_ptr<Service> service, const Body& body, std::function<void()> drop)
      : service_(std::move(service)), number_(service_->unsent.begin(body, std::move(drop))) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() { service_->unsent.end(number_); }

 private:
  std::shared_ptr<Service> service_;
  std::uint64_t number_;
};

// In a co_await expression stand only names, moves of names and literals: g++ 12 destroys other
// temporaries there twice.
class ClientConnection final : public Connection,
                               public std::enable_shared_from_this<ClientConnection> {
 public:
  enum class Kind { kServed, kRefused };

  ClientConnection(access::Socket socket, const access::Peer& peer,
                   std::shared_ptr<Service> service, Kind kind)
      : peer_(peer),
        is_refused_(kind == Kind::kRefused),
        service_(std::move(service)),
        access_(service_->site.access()),
        socket_(std::move(socket)),
        transport_(access::plain_transport(socket_)),
        deadline_(socket_.get_executor()),
        wakeup_(socket_.get_executor()) {}

  void close() override {
    error_code ignored;
    socket_.close(ignored);
    wakeup_.cancel();
  }

  /// The answer of a refused client is short, so it is with the kernel, which still sends it.
  void give_way() override {
    const bool has_no_answer = standing_.phase == Phase::kIdle || standing_.phase == Phase::kAsking;
    if (is_refused_ && has_no_answer && access_->tls() == nullptr) send_busy_head();
    const bool holds_memory = standing_.phase == Phase::kTaking && !is_refused_;
    holds_memory ? abort() : close();
  }

  Standing standing() const override { return standing_; }

  access::Socket::executor_type executor() { return socket_.get_executor(); }

  asio::awaitable<void> answer_requests();
  asio::awaitable<void> answer_once();

 private:
  using OnExpiry = void (ClientConnection::*)();

  asio::awaitable<bool> secure();
  asio::awaitable<bool> gets_turn();
  asio::awaitable<void> tell_about_https();

  asio::awaitable<bool> answer_next();
  asio::awaitable<unsigned> read_head(RequestHead& head);
  Response answer_to_refused(const RequestHead& head, unsigned status);
  asio::awaitable<bool> receive();
  asio::awaitable<Response> answer_to(const RequestHead& head, unsigned status);
  asio::awaitable<std::optional<Response>> refused_at_door(const RequestHead& head);
  asio::awaitable<Verdict> login(const RequestHead& head);
  asio::awaitable<Response> answer_by_handler(const Route& route, const RequestHead& head);
  template <typename T>
  asio::awaitable<bool> comes(const Awaited<T>& value, std::chrono::milliseconds allowed);
  asio::awaitable<bool> send(const Response& response, Framing framing, bool with_body);
  asio::awaitable<void> linger_and_close();
  std::function<void()> dropping();

  const Limits& limits() const { return service_->site.limits; }
  bool is_as_access_says() const { return transport_access_ == access_->tls(); }
  std::chrono::milliseconds head_timeout() const {
    return is_refused_ ? limits().refused_timeout : limits().read_timeout;
  }
  void enter(Phase phase) { standing_ = {phase, Clock::now()}; }
  void send_busy_head();
  bool peek(char& first);
  void set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry);
  void lift_deadline();
  void stop_reading();
  void give_up();
  void abort();

  const access::Peer peer_;
  const bool is_refused_;
  std::shared_ptr<Service> service_;
  std::shared_ptr<const access::Access> access_;  ///< as it was at the last request
  access::Socket socket_;
  std::unique_ptr<access::Transport> transport_;
  const void* transport_access_ = nullptr;  ///< the TLS context that transport_ was made with
  asio::steady_timer deadline_;
  asio::steady_timer wakeup_;  ///< for Awaited
  bool timed_out_ = false;     ///< the deadline set last has passed
  Standing standing_{Phase::kIdle, Clock::now()};
  bool was_answered_ = false;  ///< at least one request; the next one may take its time
  /// Read from the socket and not yet parsed: pipelined requests wait here for their turn.
  std::string received_;
};

asio::awaitable<void> ClientConnection::answer_requests() {
  for (bool keep_alive = co_await secure(); keep_alive;) {
    keep_alive = co_await answer_next();
  }
}

/// The one request of a client that is refused.
asio::awaitable<void> ClientConnection::answer_once() {
  const bool is_secure = co_await secure();
  if (!is_secure) co_return close();
  RequestHead head{limits().header_bytes};
  const unsigned status = co_await read_head(head);
  if (!socket_.is_open()) co_return;
  lift_deadline();
  const Response response = answer_to_refused(head, status);
  const Framing framing{.now = std::time(nullptr)};
  const bool with_body = status != 200 || head.method() != "HEAD";
  const bool sent = co_await send(response, framing, with_body);
  if (sent) co_await linger_and_close();
}

/// As it would be answered, where no login is needed and the answer is there at once; else 503.
Response ClientConnection::answer_to_refused(const RequestHead& head, unsigned status) {
  const Response busy = unavailable("too many connections");
  if (status != 200) return busy;
  const std::vector<Route>& routes = service_->site.routes;
  const auto index = find_route(routes, path_of(head.target()));
  if (!index || routes[*index].needs_login || routes[*index].is_post ||
      !takes_method(routes[*index], head.method())) {
    return busy;
  }
  const auto answer = std::make_shared<Awaited<Response>>(wakeup_);
  ask(routes[*index], request_of(head), answer);
  return answer->has_come() ? answer->take() : busy;
}

/// Speaks TLS from now on where Access says so. False: no request can follow.
asio::awaitable<bool> ClientConnection::secure() {
  if (access_->tls() == nullptr) co_return true;
  const std::chrono::milliseconds allowed = head_timeout();
  set_deadline(allowed, &ClientConnection::close);
  char first = 0;
  for (bool is_known = false; !is_known && socket_.is_open();) {
    co_await socket_.async_wait(access::Socket::wait_read, access::kReturnError);
    is_known = peek(first);
  }
  if (first != kTlsHandshake && first != 0) ++service_->troubles.tls_handshake;
  if (first >= 'A' && first <= 'Z') co_await tell_about_https();  // the letter of a method
  if (first != kTlsHandshake) co_return false;

  const bool is_our_turn = co_await gets_turn();
  if (!is_our_turn) co_return false;
  transport_ = tls_transport(socket_, access_);
  if (!transport_) co_return false;
  transport_access_ = access_->tls();
  enter(Phase::kAsking);
  const auto [error] = co_await transport_->handshake();
  if (error) ++service_->troubles.tls_handshake;
  if (error && socket_.is_open()) {  // the client is to read why, and not to be reset
    transport_ = access::plain_transport(socket_);
    co_await linger_and_close();
  }
  co_return !error && socket_.is_open();
}

/// Waits until the handshake may begin. False: the connection was closed meanwhile.
asio::awaitable<bool> ClientConnection::gets_turn() {
  enter(Phase::kServer);
  const auto turn = std::make_shared<Awaited<bool>>(wakeup_);
  service_->handshakes->ask(peer_, [weak = std::weak_ptr{turn}] {
    const auto waiting = weak.lock();
    if (waiting) waiting->give(true);
    return waiting != nullptr;
  });
  const std::chrono::milliseconds allowed = limits().read_timeout;
  const bool came = co_await comes(*turn, allowed);
  if (!came) co_return false;
  co_return socket_.is_open();
}

/// The first byte, which stays where it is; unchanged when the client has left. False: neither has
/// come yet, although Asio says so: it may find an event of the socket that had the same descriptor
/// just before.
bool ClientConnection::peek(char& first) {
  if (!socket_.is_open()) return true;
  const ssize_t size = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  return size >= 0 || (errno != EAGAIN && errno != EINTR);
}

asio::awaitable<void> ClientConnection::tell_about_https() {
  const Response response = plain_text(400, kSpeaksHttps);
  const Framing framing{.version = 10, .now = std::time(nullptr)};
  const bool sent = co_await send(response, framing, true);
  if (sent) co_await linger_and_close();
}

/// Reads one request and answers it. True when the client may send another.
asio::awaitable<bool> ClientConnection::answer_next() {
  RequestHead head{limits().header_bytes};
  const unsigned status = co_await read_head(head);
  if (status == kNobody || !socket_.is_open()) co_return false;  // closed by us: see close()

  access_ = service_->site.access();
  const Response response = co_await answer_to(head, status);
  if (!socket_.is_open()) co_return false;

  const bool is_good = status == 200;
  const bool is_stranger = response.status == 401;  // who could hold the connection for ever
  // Whoever came in under another TLS configuration, or under none, is to come in again.
  const bool keep_alive = is_good && !is_stranger && head.keep_alive() && is_as_access_says();
  const Framing framing{.version = is_good ? head.version() : 11,
                        .keep_alive = keep_alive,
                        .now = std::time(nullptr)};
  const bool with_body = !is_good || head.method() != "HEAD";
  const bool sent = co_await send(response, framing, with_body);
  if (!sent) co_return false;

  was_answered_ = true;
  if (!keep_alive) co_await linger_and_close();
  co_return keep_alive;
}

/// The head's status, 408 when it does not arrive in time, 400 when the client ends it halfway.
asio::awaitable<unsigned> ClientConnection::read_head(RequestHead& head) {
  if (received_.empty()) {
    set_deadline(was_answered_ ? limits().idle_timeout : head_timeout(),
                 &ClientConnection::stop_reading);
    enter(Phase::kIdle);
    const bool arrived = co_await receive();
    if (!arrived) co_return kNobody;  // between two requests either side may just leave
  }
  if (head.take(received_)) co_return head.status();  // nearly always: it came in one packet

  enter(Phase::kAsking);
  const std::chrono::milliseconds allowed = head_timeout();
  set_deadline(allowed, &ClientConnection::stop_reading);
  do {
    const bool arrived = co_await receive();
    if (!arrived) co_return timed_out_ ? 408 : 400;
  } while (!head.take(received_));
  co_return head.status();
}

/// Waits for bytes and appends them to what was received. False when none will come in time.
asio::awaitable<bool> ClientConnection::receive() {
  const std::size_t before = received_.size();
  received_.resize(before + kReadBytes);
  const asio::mutable_buffer room{received_.data() + before, kReadBytes};
  const auto [error, size] = co_await transport_->read_some(room);
  const bool arrived = !error && !timed_out_;
  received_.resize(before + (arrived ? size : 0));
  co_return arrived;
}

/// A path that leads nowhere is told only to those who may log in.
asio::awaitable<Response> ClientConnection::answer_to(const RequestHead& head, unsigned status) {
  lift_deadline();
  enter(Phase::kServer);
  if (status != 200) co_return refusal(status);
  const std::vector<Route>& routes = service_->site.routes;
  const auto index = find_route(routes, path_of(head.target()));
  if (!index || routes[*index].needs_login) {
    auto refused = co_await refused_at_door(head);
    if (refused) co_return *std::move(refused);
  }
  if (!index) co_return refusal(404);
  const Route& route = routes[*index];
  if (!takes_method(route, head.method())) co_return wrong_method(route);
  if (route.is_post && is_of_another_site(head)) co_return refusal(403);
  co_return co_await answer_by_handler(route, head);
}

/// By the rate limit, which counts every try, and then the login. Nothing: the client may come in.
asio::awaitable<std::optional<Response>> ClientConnection::refused_at_door(
    const RequestHead& head) {
  Troubles& troubles = service_->troubles;
  if (const auto& limit = access_->settings().rate_limit) {
    const auto wait = service_->bucket.take(*limit, Clock::now());
    if (wait) ++troubles.rate_limit;
    if (wait) co_return too_many_requests(*wait);
  }
  if (access_->settings().users.empty()) co_return std::nullopt;
  const Verdict verdict = co_await login(head);
  if (verdict == Verdict::kAccepted) co_return std::nullopt;
  const bool is_busy = verdict == Verdict::kBusy;
  ++(is_busy ? troubles.login_busy : troubles.login_refused);
  co_return is_busy ? unavailable("too many logins are being checked") : refusal(401);
}

asio::awaitable<Verdict> ClientConnection::login(const RequestHead& head) {
  auto credentials = access::parse_credentials(head.value("Authorization"));
  if (!credentials) co_return Verdict::kRefused;
  const auto verdict = std::make_shared<Awaited<Verdict>>(wakeup_);
  service_->logins->check(*std::move(credentials), access_->settings().users,
                          [weak = std::weak_ptr{verdict}](Verdict given) {
                            if (const auto waiting = weak.lock()) waiting->give(given);
                          });
  const std::chrono::milliseconds allowed = limits().answer_timeout;
  const bool came = co_await comes(*verdict, allowed);
  co_return came ? verdict->take() : Verdict::kBusy;
}

asio::awaitable<Response> ClientConnection::answer_by_handler(const Route& route,
                                                              const RequestHead& head) {
  if (!socket_.is_open()) co_return Response{};  // closed during the login
  const auto answer = std::make_shared<Awaited<Response>>(wakeup_);
  ask(route, request_of(head), answer);
  const std::chrono::milliseconds allowed = limits().answer_timeout;
  const bool came = co_await comes(*answer, allowed);
  if (!came) co_return unavailable("the answer took too long");
  co_return answer->take();
}

/// Waits for `value`. False: it takes longer than `allowed`, or the connection was closed.
template <typename T>
asio::awaitable<bool> ClientConnection::comes(const Awaited<T>& value,
                                              std::chrono::milliseconds allowed) {
  wakeup_.expires_after(allowed);
  while (!value.has_come() && socket_.is_open() && wakeup_.expiry() > Clock::now()) {
    co_await wakeup_.async_wait(access::kReturnError);
  }
  co_return value.has_come();
}

/// Head and body leave in one gathering write, the body from where the handler made it.
asio::awaitable<bool> ClientConnection::send(const Response& response, Framing framing,
                                             bool with_body) {
  set_deadline(limits().write_timeout, &ClientConnection::give_up);
  const std::string head = response_head(response, access_->settings().headers, framing);
  const bool has_body = with_body && response.body != nullptr;
  const std::string_view body = has_body ? std::string_view{*response.body} : std::string_view{};
  std::optional<Sending> sending;
  if (has_body) sending.emplace(service_, response.body, dropping());
  enter(Phase::kTaking);
  const auto [error, size] = co_await transport_->write(head, body, standing_.since);
  co_return !error;
}

/// Ends this connection, if it is still there, as too much is unsent.
std::function<void()> ClientConnection::dropping() {
  return [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    ++self->service_->troubles.unsent_limit;
    self->abort();
  };
}

/// A close while the client's bytes are still arriving would reset the connection, and the reset
/// could overtake our answer: so say that we are done, and let the client close first.
asio::awaitable<void> ClientConnection::linger_and_close() {
  enter(Phase::kOver);
  set_deadline(kLinger, &ClientConnection::close);
  co_await transport_->end();
  error_code ignored;  // the client may have been the first
  socket_.shutdown(access::Socket::shutdown_send, ignored);
  received_.resize(kReadBytes);
  const asio::mutable_buffer room{received_.data(), received_.size()};
  for (bool more = true; more;) {
    const auto [error, size] = co_await socket_.async_read_some(room, access::kReturnError);
    more = !error && !timed_out_;
  }
  close();
}

/// From now on `on_expiry` is called when `allowed` has passed, unless a later call moves it.
void ClientConnection::set_deadline(std::chrono::milliseconds allowed, OnExpiry on_expiry) {
  timed_out_ = false;
  deadline_.expires_after(allowed);
  deadline_.async_wait([weak = weak_from_this(), on_expiry](error_code error) {
    const auto self = weak.lock();
    if (error || !self) return;
    // A wait that was over when the deadline moved is not told so; only the clock knows.
    if (self->deadline_.expiry() > Clock::now()) return;
    self->timed_out_ = true;
    (self.get()->*on_expiry)();
  });
}

void ClientConnection::lift_deadline() {
  timed_out_ = false;
  deadline_.expires_at(Clock::time_point::max());
}

/// All or nothing, and without waiting for it.
void ClientConnection::send_busy_head() {
  if (!socket_.is_open()) return;
  ::send(socket_.native_handle(), kBusyHead.data(), kBusyHead.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// Ends a pending receive and leaves the socket open for an answer.
void ClientConnection::stop_reading() {
  error_code ignored;
  socket_.cancel(ignored);
}

/// On a client that takes too long for its answer.
void ClientConnection::give_up() {
  ++service_->troubles.slow_client;
  abort();
}

/// Closes and drops what the client has not read: after a plain close the kernel would keep
/// offering it, megabytes of it, to a client that does not take it.
void ClientConnection::abort() {
  error_code ignored;
  socket_.set_option(access::Socket::linger{true, 0}, ignored);
  close();
}

/// Holds the connection for as long as its coroutine runs.
asio::awaitable<void> run_serving(std::shared_ptr<ClientConnection> connection) {
  co_await connection->answer_requests();
}

asio::awaitable<void> run_refusing(std::shared_ptr<ClientConnection> connection) {
  co_await connection->answer_once();
}

}  // namespace

// `detached` drops an exception: it has ended the coroutine, and that closes the one connection it
// concerns. What a handler throws does not come this far.

std::weak_ptr<Connection> serve(access::Socket socket, const access::Peer& peer,
                                std::shared_ptr<Service> service) {
  auto connection = std::make_shared<ClientConnection>(std::move(socket), peer, std::move(service),
                                                       ClientConnection::Kind::kServed);
  asio::co_spawn(connection->executor(), run_serving(connection), asio::detached);
  return connection;
}

std::weak_ptr<Connection> refuse(access::Socket socket, const access::Peer& peer,
                                 std::shared_ptr<Service> service) {
  auto connection = std::make_shared<ClientConnection>(std::move(socket), peer, std::move(service),
                                                       ClientConnection::Kind::kRefused);
  asio::co_spawn(connection->executor(), run_refusing(connection), asio::detached);
  return connection;
}

}  // namespace pex::http
