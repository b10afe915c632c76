#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/commands/commands.h"
#include "daemon/run/crash_guard.h"

namespace pex::daemon {

ExitStatus reset_crashes(const Options& options) {
  const std::string file = start_state_file(options.state_directory);
  if (::unlink(file.c_str()) == 0) {
    std::cout << "the next start or reload counts everything\n";
    return flush_output() ? kOk : kFailed;
  }
  const int code = errno;
  if (code == ENOENT) {
    std::cout << printable("no start is remembered in '" + options.state_directory + "'") << '\n';
    return flush_output() ? kOk : kFailed;
  }
  return fail({code, "remove '" + file + "'", "run this command as root"});
}

}  // namespace pex::daemon
