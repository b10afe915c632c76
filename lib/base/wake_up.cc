#include "base/wake_up.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace pex {
namespace {

using std::chrono::nanoseconds;

/// Without a descriptor to poll, the other one is looked at so often.
constexpr std::chrono::milliseconds kWithoutEvent{50};

}  // namespace

/// The waiting thread publishes the descriptor before it looks at the semaphore for the last time:
/// so it sees this post there, or this sees the descriptor.
void WakeUp::post() {
  semaphore_.post();
  const int event = published_;
  if (event < 0) return;
  const std::uint64_t once = 1;
  (void)!::write(event, &once, sizeof once);
}

bool WakeUp::prepare_to_poll() {
  if (event_) return true;
  event_ = UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  published_ = event_.get();
  return bool{event_};
}

WakeUp::Cause WakeUp::wait(int fd, std::optional<nanoseconds> at_most) {
  if (fd < 0 && !at_most) {
    semaphore_.wait();
    return Cause::kPosted;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (fd < 0 || !prepare_to_poll()) {
    const bool is_posted =
        semaphore_.wait_until(begin + (fd < 0 ? *at_most : nanoseconds{kWithoutEvent}));
    return is_posted ? Cause::kPosted : fd < 0 ? Cause::kTimeout : Cause::kReadable;
  }
  for (;;) {
    if (semaphore_.take()) return Cause::kPosted;
    pollfd fds[] = {{event_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
    const auto passed = std::chrono::steady_clock::now() - begin;
    const timespec rest = at_most ? timespec_of(*at_most - passed) : timespec{};
    const int ready = ::ppoll(fds, 2, at_most ? &rest : nullptr, nullptr);
    if (ready < 0) continue;  // interrupted
    if (ready == 0) return Cause::kTimeout;
    std::uint64_t posts = 0;
    if (fds[0].revents != 0) (void)!::read(event_.get(), &posts, sizeof posts);
    if (fds[0].revents == 0) return Cause::kReadable;
  }
}

}  // namespace pex
