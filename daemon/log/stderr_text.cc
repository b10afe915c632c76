#include "daemon/log/stderr_text.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>

namespace pex::daemon {
namespace {

constexpr int kForEver = -1;

bool becomes_writable(int milliseconds) {
  pollfd file{STDERR_FILENO, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&file, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (file.revents & POLLOUT) != 0;
}

}  // namespace

bool write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const bool is_full = errno == EAGAIN;  // another program made the open file non-blocking
    if (errno != EINTR && !(is_full && becomes_writable(kForEver))) return false;
  }
  return true;
}

/// A pipe that can be written to has room for PIPE_BUF bytes at least.
bool write_to_stderr_within(std::chrono::milliseconds timeout, std::string_view text) {
  if (text.size() > PIPE_BUF) return false;  // it could be cut off, or wait
  if (!becomes_writable(static_cast<int>(timeout.count()))) return false;
  return ::write(STDERR_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void open_missing_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is used, which is this one. Without a /dev/null, the root directory
    // takes the number: writes to it fail.
    if (::open("/dev/null", O_RDWR) < 0) (void)::open("/", O_PATH);
  }
}

}  // namespace pex::daemon
