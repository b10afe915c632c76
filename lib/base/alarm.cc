#include "base/alarm.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace pex {
namespace {

/// Takes a notification without blocking. True if there was one.
bool take(const UniqueFd& fd) {
  std::uint64_t times = 0;
  return ::read(fd.get(), &times, sizeof times) == static_cast<ssize_t>(sizeof times);
}

void set(const UniqueFd& timer, std::chrono::nanoseconds time) {
  using std::chrono::seconds;
  const auto whole = std::chrono::duration_cast<seconds>(time);
  const itimerspec at{{}, {whole.count(), (time - whole).count()}};
  ::timerfd_settime(timer.get(), 0, &at, nullptr);
}

}  // namespace

Result<std::unique_ptr<Alarm>> Alarm::create() {
  UniqueFd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!event) return Error{errno, "create an eventfd", "raise " + ProgramTerm::kOpenFileLimit};
  UniqueFd timer{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  if (!timer) return Error{errno, "create a timer", "raise " + ProgramTerm::kOpenFileLimit};
  return std::unique_ptr<Alarm>{new Alarm(std::move(event), std::move(timer))};
}

void Alarm::ring() {
  const std::uint64_t once = 1;
  (void)!::write(event_.get(), &once, sizeof once);
}

void Alarm::expire_after(std::chrono::nanoseconds time) {
  set(timer_, std::max(time, std::chrono::nanoseconds{1}));  // 0 would cancel it
}

void Alarm::cancel() { set(timer_, std::chrono::nanoseconds{0}); }

Alarm::Cause Alarm::wait() {
  for (;;) {
    pollfd fds[] = {{event_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}};
    (void)::poll(fds, 2, -1);  // interrupted: no notification yet
    if (take(event_)) return Cause::kRung;
    if (take(timer_)) return Cause::kExpired;
  }
}

}  // namespace pex
