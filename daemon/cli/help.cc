#include "daemon/cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

namespace pex::daemon {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kDescriptionColumn = 30;

constexpr const char* kOfCommand = "Global options: see perf_event_exporter --help.";

constexpr const char* kOfProgram =
    "Options may follow a command. 'perf_event_exporter COMMAND --help' prints those\n"
    "of a command.\n"
    "\n"
    "Signals:\n"
    "  SIGTERM, SIGINT  Stop.\n"
    "  SIGHUP           Reload the configuration.\n"
    "  SIGUSR1          With --web.enable-lifecycle: stop all groups of hardware\n"
    "                   events for 5 minutes.\n"
    "  SIGUSR2          With --web.enable-lifecycle: start them again.\n"
    "\n"
    "Exit status:\n"
    "  0  Success.\n"
    "  1  The start failed, the configuration has an error, or the result cannot be\n"
    "     written. --config.check, doctor: a configured event cannot be counted.\n"
    "     list: no event matches. cgroups: there is no such cgroup. health: not\n"
    "     healthy. size: it does not fit into the limits. stat: nothing can be\n"
    "     counted, or there is no such process.\n"
    "  2  The command line has an error.\n"
    "  3  Out of memory, or an unhandled error.\n"
    "'stat -- COMMAND' exits with the status of the command, or with 128 plus the\n"
    "number of the signal that ended it. 127: there is no such program. 126: it\n"
    "cannot be executed.";

/// Breaks a line that is too long at spaces. What follows begins in the column of the descriptions.
std::string wrapped(std::string_view line) {
  std::string lines;
  while (line.size() > kColumns - (lines.empty() ? 0 : kDescriptionColumn)) {
    const std::size_t room = kColumns - (lines.empty() ? 0 : kDescriptionColumn);
    const std::size_t space = line.rfind(' ', room);
    if (space == line.npos || line.find_last_not_of(' ', space) == line.npos) break;
    lines += std::string(line.substr(0, space)) + "\n" + std::string(kDescriptionColumn, ' ');
    line.remove_prefix(space + 1);
  }
  return lines + std::string(line);
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kDescriptionColumn); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::istringstream written{CLI::Formatter::make_help(app, std::move(name), mode)};
    std::string help;
    for (std::string line; std::getline(written, line);) help += wrapped(line) + "\n";
    return help;
  }

  /// Only its value: options that need another one say so when they are alone.
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
};

}  // namespace

void set_help_of_commands(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.footer(kOfCommand);
}

void set_help_of_program(CLI::App& app) { app.footer(kOfProgram); }

}  // namespace pex::daemon
