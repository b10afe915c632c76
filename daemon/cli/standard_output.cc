#include "daemon/cli/standard_output.h"

#include <poll.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "base/utf8.h"
#include "daemon/cli/version.h"
#include "daemon/cli/words.h"

namespace pex::daemon {
namespace {

/// poll(2): a pipe whose other end is closed is in error.
bool has_no_reader() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

/// Why the output could not be written; 0 if it can be written again. The stream keeps no errno,
/// and may have failed long before its end, so that a line break is tried.
int refusal() { return ::write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0; }

/// For a shell, and another working directory: " --config.file='/etc/a b.yaml'"; nothing for none.
std::string path_option(const char* option, const std::string& path) {
  if (path.empty()) return {};
  std::error_code ignored;
  std::string quoted;
  for (const char c : std::filesystem::absolute(path, ignored).string()) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return std::string(" ") + option + "='" + quoted + "'";
}

Error not_written(int code) {
  if (code == 0) return {0, "write the result: a part of it is missing", "run the command again"};
  return {code, "write the result",
          code == ENOSPC || code == EDQUOT ? "free space where standard output is written to" : ""};
}

constexpr const char* kUnitEnvironment =
    "--property=Environment=CONFIG=/etc/perf_event_exporter/perf_event_exporter.yaml "
    "--property=EnvironmentFile=-/etc/default/perf_event_exporter "
    "--property=EnvironmentFile=-/etc/sysconfig/perf_event_exporter ";

}  // namespace

bool flush_output() {
  if (std::cout << std::flush) return true;
  if (has_no_reader()) return true;
  (void)fail(not_written(refusal()));
  return false;
}

void print_errors(const std::vector<Error>& errors) {
  for (const Error& error : errors) std::cerr << printable(worded(error)) << '\n';
}

/// In one piece, as the thread of the log writes there too.
ExitStatus fail(const Error& error) {
  std::cerr << std::string(kProgram) + ": " + printable(worded(error)) + "\n";
  return kFailed;
}

void print_note_for_root(const std::string& command, const Options& options) {
  if (::geteuid() != 0) return;
  std::string note = "with the rights of root";
  if (::sd_booted() > 0) {
    // The unit may have another file (CONFIG) than the one that packages install (systemd/).
    const bool is_of_unit = options.config_file == kInstalledConfig;
    note +=
        "; with those of the service: systemd-run --quiet --pipe --wait --property=DynamicUser=yes "
        "--property=AmbientCapabilities=CAP_PERFMON --property=ProtectHome=yes " +
        std::string(is_of_unit ? kUnitEnvironment : "") + "perf_event_exporter " + command +
        (is_of_unit ? " '--config.file=${CONFIG}'"
                    : path_option("--config.file", options.config_file)) +
        path_option("--web.config.file", options.web_config_file);
  }
  std::cout << printable(note) << '\n';
}

}  // namespace pex::daemon
