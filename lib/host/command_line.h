#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pex::host {

using CommandLine = std::vector<std::string>;

/// The arguments in /proc/pid/cmdline (proc(5)); each ends with a zero byte.
CommandLine parse_command_line(std::string_view text);

/// Those of all processes but this one whose program has this file name, without directories. Those
/// that /proc does not show are missing: of other containers, or by its option hidepid.
std::vector<CommandLine> command_lines_of(std::string_view program);

}  // namespace pex::host
