#pragma once

#include <chrono>
#include <string_view>

namespace pex::daemon {

/// Writes all of `text`, however long its reader takes. False when it cannot be written.
bool write_to_stderr(std::string_view text);

/// Writes `text`, of which at most 4096 bytes, if stderr takes them within `patience`. Allocates
/// nothing. O_NONBLOCK would be no way: others have the same open file, a terminal above all.
bool write_to_stderr_within(std::chrono::milliseconds patience, std::string_view text);

/// Opens /dev/null as stdin, stdout and stderr where they are closed. Else the first sockets and
/// counters would get their numbers, and the log would be written into one of them.
void open_missing_standard_files();

}  // namespace pex::daemon
