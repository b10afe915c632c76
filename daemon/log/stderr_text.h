#pragma once

#include <chrono>
#include <string_view>

namespace pex::daemon {

/// Writes all of `text`, which is a line, however long its reader takes. False when it cannot be
/// written. If the last line was cut off, as on a full disk, a line break comes first.
bool write_to_stderr(std::string_view text);

/// The same with a line of less than 4096 bytes, if stderr accepts it within `timeout`. Allocates
/// nothing. O_NONBLOCK cannot be used: other processes share the open file, a terminal above all.
bool write_to_stderr_within(std::chrono::milliseconds timeout, std::string_view text);

/// Opens /dev/null as stdin, stdout and stderr where they are closed. Otherwise the first sockets
/// and counters would get these numbers, and the log would be written into one of them.
void open_missing_standard_files();

}  // namespace pex::daemon
