#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pex::host {

/// The arguments in /proc/pid/cmdline (proc(5)); each ends with a zero byte.
std::vector<std::string> parse_command_line(std::string_view text);

/// The command line of process 1: in a container its program, with the arguments of the container.
/// Empty if /proc does not show it.
std::vector<std::string> command_line_of_init_process();

}  // namespace pex::host
