#include "daemon/cli/standard_output.h"

#include <poll.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/text.h"
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

/// In single quotes of a shell.
std::string for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// For another working directory: " --config.file='/etc/a b.yaml'"; nothing for no path.
std::string path_option(const char* option, const std::string& path) {
  if (path.empty()) return {};
  std::error_code ignored;
  return std::string(" ") + option + "=" +
         for_shell(std::filesystem::absolute(path, ignored).string());
}

Error not_written(int code) {
  if (code == 0) return {0, "write the result: a part of it is missing", "run the command again"};
  return {code, "write the result",
          code == ENOSPC || code == EDQUOT ? "free space where standard output is written to" : ""};
}

/// What decides which files and events the shipped unit may open, as systemctl shows it.
constexpr const char* kShippedUnit =
    "DynamicUser=yes\nAmbientCapabilities=CAP_PERFMON\nProtectHome=yes\n"
    "Environment=CONFIG=/etc/perf_event_exporter/perf_event_exporter.yaml\n"
    "EnvironmentFiles=/etc/default/perf_event_exporter (ignore_errors=yes)\n"
    "EnvironmentFiles=/etc/sysconfig/perf_event_exporter (ignore_errors=yes)\n";
constexpr const char* kShowUnit =
    "timeout 5 systemctl show --property=LoadState,DynamicUser,User,Group,SupplementaryGroups,"
    "AmbientCapabilities,ProtectHome,Environment,EnvironmentFiles perf_event_exporter.service "
    "2>/dev/null";

/// The same of the installed unit with its drop-ins, if there is one.
std::string installed_unit() {
  FILE* const output = ::popen(kShowUnit, "r");
  if (output == nullptr) return kShippedUnit;
  std::string text;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, output)) > 0;) {
    text.append(part, got);
  }
  ::pclose(output);
  constexpr std::string_view kIsThere = "LoadState=loaded\n";
  const std::size_t at = text.find(kIsThere);
  return at == text.npos ? kShippedUnit : text.erase(at, kIsThere.size());
}

/// A line of systemctl as systemd-run takes it: EnvironmentFiles=PATH (ignore_errors=yes) is
/// EnvironmentFile=-PATH.
std::string as_property(std::string_view line) {
  constexpr std::string_view kFiles = "EnvironmentFiles=";
  if (!line.starts_with(kFiles)) return std::string(line);
  const std::string_view path = line.substr(kFiles.size(), line.rfind(" (") - kFiles.size());
  return "EnvironmentFile=" + std::string(line.ends_with("=yes)") ? "-" : "") + std::string(path);
}

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
    note += "; with those of the service: systemd-run --quiet --pipe --wait";
    const std::string unit = installed_unit();
    for (const std::string_view line : split(unit, '\n')) {
      const bool is_set = line.find('=') + 1 < line.size();
      if (is_set) note += " --property=" + for_shell(as_property(line));
    }
    note += " perf_event_exporter " + command +
            (is_of_unit ? " '--config.file=${CONFIG}'"
                        : path_option("--config.file", options.config_file)) +
            path_option("--web.config.file", options.web_config_file);
  }
  std::cout << printable(note) << '\n';
}

}  // namespace pex::daemon
