#include "http/admission.h"

#include <sys/eventfd.h>

#include <chrono>

#include "http/conversation.h"

namespace pex::http {
namespace {

constexpr std::size_t kSpareDescriptors = 8;

}  // namespace

Admission::Admission(std::shared_ptr<Service> service) : service_(std::move(service)) { recover(); }

void Admission::admit(access::Socket socket, const access::Peer& peer) {
  if (!has_room_for(peer)) return refuse(std::move(socket), peer);
  boost::system::error_code ignored;  // a larger buffer costs memory, and is no error
  const auto bytes = static_cast<int>(service_->site.limits.send_buffer_bytes);
  socket.set_option(boost::asio::socket_base::send_buffer_size{bytes}, ignored);
  served_.add(converse(std::move(socket), peer, service_, Connection::Kind::kServed), peer);
}

void Admission::refuse(access::Socket socket, const access::Peer& peer) {
  ++service_->errors.connection_limit;
  report_connection_limit();
  const std::size_t most = service_->site.limits.max_refusals;
  if (refused_.count() >= most && !refused_.close_oldest()) return;
  refused_.add(converse(std::move(socket), peer, service_, Connection::Kind::kRefused), peer);
}

bool Admission::has_room_for(const access::Peer& newcomer) {
  if (served_.count() < service_->site.limits.max_connections) return true;
  if (closes_stalled()) return true;
  if (!served_.close_beyond_share_of(newcomer)) return false;
  ++service_->errors.peer_share;
  report_connection_limit();
  return true;
}

bool Admission::closes_stalled() {
  const auto closed =
      served_.close_stalled(OpenConnections::Clock::now(), service_->site.limits.stall_time);
  if (!closed) return false;
  const bool was_at_work = *closed == Phase::kAsking || *closed == Phase::kTaking;
  ++(was_at_work ? service_->errors.stalled_closed : service_->errors.idle_closed);
  if (was_at_work) report_connection_limit();
  return true;
}

Admission::Freed Admission::free_descriptor() {
  if (closes_stalled()) return Freed::kPlace;
  if (!spare_.empty()) {
    spare_.pop_back();
    return Freed::kSpare;
  }
  return refused_.close_oldest() ? Freed::kSpare : Freed::kNone;
}

void Admission::recover() {
  while (spare_.size() < kSpareDescriptors) {
    UniqueFd spare{::eventfd(0, EFD_CLOEXEC)};
    if (!spare) return;
    spare_.push_back(std::move(spare));
  }
}

void Admission::report_connection_limit() const {
  if (service_->site.on_connection_limit) service_->site.on_connection_limit();
}

void Admission::close_all() {
  service_->logins->stop();
  served_.close_all();
  refused_.close_all();
}

}  // namespace pex::http
