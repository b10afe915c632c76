#include "daemon/service/service_manager.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "daemon/log/outbox.h"

namespace pex::daemon {
namespace {

constexpr int kKeepEnvironment = 0;

constexpr std::size_t kMaxNotifications = 64;

/// Success and failure make no difference to the program.
void send(const std::string& state) { (void)::sd_notify(kKeepEnvironment, state.c_str()); }

}  // namespace

ServiceManager::ServiceManager() {
  if (std::getenv("NOTIFY_SOCKET") == nullptr) return;
  Result<std::unique_ptr<Outbox>> outbox = Outbox::create("notify", kMaxNotifications);
  if (outbox) outbox_ = std::move(*outbox);
}

ServiceManager::~ServiceManager() = default;

/// Without that thread the state is sent by the caller and may block.
void ServiceManager::notify(std::string state) {
  if (!outbox_) return send(state);
  (void)outbox_->post([state = std::move(state)] { send(state); });
}

void ServiceManager::ready(const std::string& status) { notify("READY=1\nSTATUS=" + status); }

void ServiceManager::reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void ServiceManager::stopping() { notify("STOPPING=1"); }

void ServiceManager::status(const std::string& status) { notify("STATUS=" + status); }

void ServiceManager::alive() { notify("WATCHDOG=1"); }

void ServiceManager::extend_timeout(std::chrono::microseconds time) {
  notify("EXTEND_TIMEOUT_USEC=" + std::to_string(time.count()));
}

Result<std::vector<int>> ServiceManager::take_sockets() {
  constexpr int kClearEnvironment = 1;
  const int passed = ::sd_listen_fds(kClearEnvironment);
  if (passed <= 0) {
    return Error{
        -passed, "serve on the sockets that systemd passes: there are none",
        "start the .socket unit instead of the service, or leave out --web.systemd-socket"};
  }
  std::vector<int> sockets(static_cast<std::size_t>(passed));
  std::iota(sockets.begin(), sockets.end(), SD_LISTEN_FDS_START);
  return sockets;
}

std::optional<std::chrono::microseconds> ServiceManager::watchdog() const {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(kKeepEnvironment, &microseconds) <= 0) return {};
  return std::chrono::microseconds{microseconds};
}

}  // namespace pex::daemon
