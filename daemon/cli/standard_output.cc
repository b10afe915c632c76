#include "daemon/cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

namespace pex::daemon {
namespace {

/// poll(2): a pipe whose other end is closed is in error.
bool has_no_reader() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace

bool flush_output() { return static_cast<bool>(std::cout << std::flush) || has_no_reader(); }

}  // namespace pex::daemon
