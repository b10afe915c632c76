#include "http/conversation.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include "http/answer.h"
#include "http/request_head.h"
#include "http/respond.h"
#include "http/same_origin.h"

namespace pex::http {
namespace {

namespace asio = boost::asio;
using Verdict = access::Logins::Verdict;

// In a co_await expression stand only names: see connection.cc.

class Conversation {
 public:
  Conversation(Connection& connection, Service& service)
      : connection_(connection), service_(service) {}

  asio::awaitable<bool> answer_next();

 private:
  asio::awaitable<Response> answer_to(const RequestHead& head, unsigned status);
  Response answer_to_refused(const RequestHead& head, unsigned status);
  asio::awaitable<std::optional<Response>> refused_at_door(const RequestHead& head);
  asio::awaitable<Verdict> login(std::optional<access::Credentials>& credentials);
  asio::awaitable<Response> answer_by_handler(const Route& route, const RequestHead& head);

  bool keeps_alive(const RequestHead& head, unsigned status, const Response& response) const;
  const access::AccessSettings& settings() const { return connection_.access().settings(); }

  Connection& connection_;
  Service& service_;
};

/// Reads one request and answers it. True if the client may send another.
asio::awaitable<bool> Conversation::answer_next() {
  RequestHead head{service_.site.limits.header_bytes};
  const unsigned status = co_await connection_.read(head);
  const bool is_waiting = status != 0 || connection_.is_refused();
  if (!is_waiting || !connection_.is_open()) co_return false;

  connection_.refresh_access();
  const Response response = co_await answer_to(head, status);
  if (!connection_.is_open()) co_return false;
  if (response.status >= 400) service_.refused(connection_.peer(), first_line(response));

  const bool keep_alive = keeps_alive(head, status, response);
  const Framing framing{.version = head.is_known() ? head.version() : 11,
                        .keep_alive = keep_alive,
                        .now = std::time(nullptr)};
  const bool with_body = !head.is_known() || head.method() != "HEAD";
  const bool sent = co_await connection_.send(response, framing, with_body);
  if (!sent) co_return false;
  if (!keep_alive) co_await connection_.linger_and_close();
  co_return keep_alive;
}

/// A client that connected under another TLS configuration, or under none, must reconnect. After a
/// 401 the connection ends, so that clients without a login cannot keep it.
bool Conversation::keeps_alive(const RequestHead& head, unsigned status,
                               const Response& response) const {
  return status == 200 && head.keep_alive() && !connection_.is_refused() &&
         connection_.uses_current_tls() && response.status != 401;
}

/// Only clients that may log in learn that a path does not exist.
asio::awaitable<Response> Conversation::answer_to(const RequestHead& head, unsigned status) {
  if (connection_.is_refused()) co_return answer_to_refused(head, status);
  if (status == 400) co_return bad_request(head.fault());
  if (status != 200) co_return refusal(status);
  const Route* const route = find_route(service_.site.routes, path_of(head.target()));
  if (route == nullptr || route->needs_login) {
    auto refused = co_await refused_at_door(head);
    if (refused) co_return *std::move(refused);
  }
  if (route == nullptr) co_return refusal(404);
  if (head.method() == "OPTIONS") co_return allowed_methods(*route);
  if (!takes_method(*route, head.method())) co_return wrong_method(*route);
  if (route->is_post && is_of_another_site(head)) co_return refusal(403);
  co_return co_await answer_by_handler(*route, head);
}

/// The usual answer, if no login is required and the answer is available at once; else 503.
Response Conversation::answer_to_refused(const RequestHead& head, unsigned status) {
  Response busy = unavailable("too many connections");
  if (status != 200) return busy;
  const Route* const route = find_route(service_.site.routes, path_of(head.target()));
  if (route == nullptr || route->needs_login || route->is_post ||
      !takes_method(*route, head.method())) {
    return busy;
  }
  const auto answer = std::make_shared<AsyncValue<Response>>(connection_.wakeup());
  ask(*route, request_of(head, connection_.peer().text()), answer);
  return answer->is_set() ? answer->take() : busy;
}

/// First the rate limit, which counts every attempt, then the login. Nothing: the client is
/// admitted.
asio::awaitable<std::optional<Response>> Conversation::refused_at_door(const RequestHead& head) {
  ClientErrors& errors = service_.errors;
  auto credentials = access::parse_credentials(head.value("Authorization"));
  const access::Logins::Users& users = settings().users;
  if (const auto& limit = settings().rate_limit) {
    const bool is_user =
        credentials && !users.empty() && service_.logins->has_accepted(*credentials, users);
    const auto wait = service_.rate_limiter.take(connection_.peer(), is_user, *limit,
                                                 std::chrono::steady_clock::now());
    if (wait) ++errors.rate_limit;
    if (wait) co_return too_many_requests(*wait);
  }
  if (users.empty()) co_return std::nullopt;
  const Verdict verdict = co_await login(credentials);
  if (verdict == Verdict::kAccepted) co_return std::nullopt;
  if (!connection_.is_open()) co_return Response{};  // closed during the check
  const bool is_busy = verdict == Verdict::kBusy;
  ++(is_busy ? errors.login_busy : errors.login_refused);
  co_return is_busy ? unavailable("too many logins are being checked") : refusal(401);
}

asio::awaitable<Verdict> Conversation::login(std::optional<access::Credentials>& credentials) {
  if (!credentials) co_return Verdict::kRefused;
  const auto verdict = std::make_shared<AsyncValue<Verdict>>(connection_.wakeup());
  const std::weak_ptr weak{verdict};
  service_.logins->check(connection_.peer(), *std::move(credentials), settings().users, weak,
                         [weak](Verdict given) {
                           if (const auto waiting = weak.lock()) waiting->set(given);
                         });
  const std::chrono::milliseconds allowed = service_.site.limits.answer_timeout;
  const bool arrived = co_await connection_.wait_for(*verdict, allowed);
  co_return arrived ? verdict->take() : Verdict::kBusy;
}

asio::awaitable<Response> Conversation::answer_by_handler(const Route& route,
                                                          const RequestHead& head) {
  if (!connection_.is_open()) co_return Response{};  // closed during the login
  const auto answer = std::make_shared<AsyncValue<Response>>(connection_.wakeup());
  ask(route, request_of(head, connection_.peer().text()), answer);
  const std::chrono::milliseconds allowed = service_.site.limits.answer_timeout;
  const bool arrived = co_await connection_.wait_for(*answer, allowed);
  if (!arrived) co_return unavailable("the answer took too long");
  co_return answer->take();
}

/// Keeps the connection alive while it runs.
asio::awaitable<void> answer_requests(std::shared_ptr<Connection> connection,
                                      std::shared_ptr<Service> service) {
  Conversation conversation{*connection, *service};
  for (bool goes_on = co_await connection->secure(); goes_on;) {
    goes_on = co_await conversation.answer_next();
  }
}

}  // namespace

std::weak_ptr<Connection> converse(access::Socket socket, const access::Peer& peer,
                                   std::shared_ptr<Service> service, Connection::Kind kind) {
  auto connection = std::make_shared<Connection>(std::move(socket), peer, service, kind);
  // `detached` drops an exception: it has ended the coroutine, which closes its connection only.
  // Exceptions of handlers do not get here.
  asio::co_spawn(connection->executor(), answer_requests(connection, std::move(service)),
                 asio::detached);
  return connection;
}

}  // namespace pex::http
