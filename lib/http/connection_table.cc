#include "http/connection_table.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <limits>
#include <set>

#include "http/conversation.h"
#include "http/service.h"

namespace pex::http {
namespace {

constexpr const char* kTooMany = "too many connections: closed for another client";
constexpr std::size_t kSpareDescriptors = 8;

auto most_of(const std::map<access::Peer, std::size_t>& shares) {
  return std::max_element(shares.begin(), shares.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

template <typename Visit>
void ConnectionTable::visit_open(Visit visit) const {
  for (const Connections* connections : {&served_, &refused_}) {
    for (const auto& each : *connections) {
      if (const auto connection = each.lock()) visit(connection);
    }
  }
}

void ConnectionTable::admit(access::Socket socket, const access::Peer& peer) {
  if (!has_room_for(peer)) return refuse(std::move(socket), peer);
  boost::system::error_code ignored;  // a larger buffer costs memory, and is no error
  const auto bytes = static_cast<int>(service_.site.limits.send_buffer_bytes);
  socket.set_option(boost::asio::socket_base::send_buffer_size{bytes}, ignored);
  served_.push_back(
      converse(std::move(socket), peer, service_.shared_from_this(), Connection::Kind::kServed));
}

void ConnectionTable::refuse(access::Socket socket, const access::Peer& peer) {
  ++service_.errors.connection_limit;
  report_connection_limit();
  if (count(refused_) >= service_.site.limits.max_refusals && !closes_oldest_refused()) {
    return service_.refused(peer, kTooMany);
  }
  refused_.push_back(
      converse(std::move(socket), peer, service_.shared_from_this(), Connection::Kind::kRefused));
}

bool ConnectionTable::has_room_for(const access::Peer& newcomer) {
  if (count(served_) < service_.site.limits.max_connections) return true;
  const Shares shares = this->shares();
  if (closes_stalled(shares)) return true;
  if (!closes_beyond_share_of(newcomer, shares)) return false;
  ++service_.errors.peer_share;
  report_connection_limit();
  return true;
}

/// One that has made no progress for a while, or that only has to leave; not one that waits for the
/// server. Of several: of the peer with the most connections, the one without progress for longest.
bool ConnectionTable::closes_stalled(const Shares& shares) {
  const auto latest = Clock::now() - service_.site.limits.stall_time;
  const auto closed = close_first(served_, [&](const Connection& each) -> std::optional<Rank> {
    const Standing standing = each.standing();
    if (standing.phase == Phase::kOver) return Rank{std::numeric_limits<long>::min(), {}};
    if (standing.phase == Phase::kServer || standing.since > latest) return {};
    return Rank{-static_cast<long>(shares.at(each.peer())), standing.since};
  });
  if (!closed) return false;
  const bool was_at_work = *closed == Phase::kAsking || *closed == Phase::kTaking;
  ++(was_at_work ? service_.errors.stalled_closed : service_.errors.idle_closed);
  if (was_at_work) report_connection_limit();
  return true;
}

/// One of the peer with the most, if it has more than `newcomer` will have with one more: the one
/// with the oldest progress, and one that waits for the server only if there are no others.
bool ConnectionTable::closes_beyond_share_of(const access::Peer& newcomer, const Shares& shares) {
  const auto most = most_of(shares);
  const auto share = shares.find(newcomer);
  const std::size_t with_one_more = (share == shares.end() ? 0 : share->second) + 1;
  if (most == shares.end() || most->second <= with_one_more) return false;
  const auto closed = close_first(served_, [&](const Connection& each) -> std::optional<Rank> {
    if (!(each.peer() == most->first)) return {};
    const Standing standing = each.standing();
    return Rank{standing.phase == Phase::kServer ? 1 : 0, standing.since};
  });
  return closed.has_value();
}

/// One that only has to leave, or else that made progress the longest time ago.
bool ConnectionTable::closes_oldest_refused() {
  const auto closed = close_first(refused_, [](const Connection& each) {
    const Standing standing = each.standing();
    return std::optional{Rank{standing.phase == Phase::kOver ? 0 : 1, standing.since}};
  });
  return closed.has_value();
}

std::optional<Phase> ConnectionTable::close_first(Connections& connections, const RankOf& rank_of) {
  auto first = connections.end();
  std::optional<Rank> lowest;
  for (auto each = connections.begin(); each != connections.end(); ++each) {
    const auto connection = each->lock();
    const std::optional<Rank> rank = connection ? rank_of(*connection) : std::nullopt;
    if (!rank || (lowest && *lowest <= *rank)) continue;
    first = each;
    lowest = rank;
  }
  if (first == connections.end()) return {};
  const auto connection = first->lock();
  const Phase phase = connection->standing().phase;
  connections.erase(first);
  const bool had_its_answer = phase == Phase::kOver;
  const bool has_no_request = phase == Phase::kIdle && !connection->is_refused();
  if (!had_its_answer && !has_no_request) service_.refused(connection->peer(), kTooMany);
  connection->give_way();
  return phase;
}

ConnectionTable::Freed ConnectionTable::free_descriptor() {
  if (closes_stalled(shares())) return Freed::kPlace;
  if (!spare_.empty()) {
    spare_.pop_back();
    return Freed::kSpare;
  }
  return closes_oldest_refused() ? Freed::kSpare : Freed::kNone;
}

void ConnectionTable::recover() {
  while (spare_.size() < kSpareDescriptors) {
    UniqueFd spare{::eventfd(0, EFD_CLOEXEC)};
    if (!spare) return;
    spare_.push_back(std::move(spare));
  }
}

void ConnectionTable::begin_sending(const Body& body) {
  const std::size_t most = service_.site.limits.max_unsent_bytes;
  most_unsent_ += body->capacity();
  while (most_unsent_ > most && unsent_bytes() > most) {
    std::shared_ptr<Connection> longest;
    visit_open([&](const std::shared_ptr<Connection>& each) {
      const Connection::Unsent& unsent = each->unsent();
      if (unsent.body == nullptr || unsent.body == body) return;
      if (!longest || unsent.since < longest->unsent().since) longest = each;
    });
    if (!longest) return;
    longest->drop_unsent();
  }
}

void ConnectionTable::end_sending(const Body& body) { most_unsent_ -= body->capacity(); }

/// Memory of the bodies, including unused capacity; each once however many clients it goes to.
std::size_t ConnectionTable::unsent_bytes() const {
  std::size_t bytes = 0;
  std::set<const std::string*> counted;
  visit_open([&](const std::shared_ptr<Connection>& each) {
    const std::string* const body = each->unsent().body.get();
    if (body != nullptr && counted.insert(body).second) bytes += body->capacity();
  });
  return bytes;
}

std::optional<Server::Share> ConnectionTable::busiest() const {
  const Shares shares = this->shares();
  const auto most = most_of(shares);
  if (most == shares.end()) return {};
  return Server::Share{most->first.text(), most->second};
}

ConnectionTable::Shares ConnectionTable::shares() const {
  Shares shares;
  for (const auto& each : served_) {
    if (const auto connection = each.lock()) ++shares[connection->peer()];
  }
  return shares;
}

std::size_t ConnectionTable::count(Connections& connections) {
  std::erase_if(connections, [](const auto& each) { return each.expired(); });
  return connections.size();
}

void ConnectionTable::close_all() {
  visit_open([](const std::shared_ptr<Connection>& each) { each->close(); });
}

void ConnectionTable::report_connection_limit() const {
  if (service_.site.on_connection_limit) service_.site.on_connection_limit();
}

}  // namespace pex::http
