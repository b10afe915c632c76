#include "daemon/log/stderr_text.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace pex::daemon {
namespace {

constexpr int kForEver = -1;

/// The last line was cut off, as on a full disk: the next one must not continue it.
std::atomic<bool> is_cut = false;

bool becomes_writable(int milliseconds) {
  pollfd file{STDERR_FILENO, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&file, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (file.revents & POLLOUT) != 0;
}

/// The number of bytes written: all of them, unless there is an error.
std::size_t write_all(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
      continue;
    }
    const bool is_full = errno == EAGAIN;  // another program made the open file non-blocking
    if (errno != EINTR && !(is_full && becomes_writable(kForEver))) break;
  }
  return done;
}

/// After a line of `size` bytes: remembers whether it was cut off. Returns whether it is whole.
bool finish_line(std::size_t written, std::size_t size) {
  if (written > 0) is_cut = written < size;
  return written == size;
}

}  // namespace

bool write_to_stderr(std::string_view text) {
  if (is_cut && write_all("\n") == 0) return false;
  is_cut = false;
  return finish_line(write_all(text), text.size());
}

/// A pipe that can be written to has room for PIPE_BUF bytes at least.
bool write_to_stderr_within(std::chrono::milliseconds timeout, std::string_view text) {
  constexpr std::size_t kLineBreak = 1;
  if (kLineBreak + text.size() > PIPE_BUF) return false;  // it could be cut off, or wait
  if (!becomes_writable(static_cast<int>(timeout.count()))) return false;
  if (is_cut && ::write(STDERR_FILENO, "\n", kLineBreak) != 1) return false;
  is_cut = false;
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  return finish_line(written > 0 ? static_cast<std::size_t>(written) : 0, text.size());
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
