#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pex::host {

/// The words of /proc/pid/cmdline (proc(5)), each of which ends with a zero byte.
std::vector<std::string> parse_command_line(std::string_view text);

/// The command line of process 1: in a container the program it was made for, with the arguments
/// it was given there. Empty where no /proc tells.
std::vector<std::string> command_line_of_init_process();

}  // namespace pex::host
