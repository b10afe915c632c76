#pragma once

namespace CLI {
class App;
}

namespace pex::daemon {

/// Before commands are added: gives --help at most 80 columns, and ends that of a command with a
/// reference to that of the program.
void set_help_of_commands(CLI::App& app);

/// After that: signals and exit statuses.
void set_help_of_program(CLI::App& app);

}  // namespace pex::daemon
