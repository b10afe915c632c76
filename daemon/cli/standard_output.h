#pragma once

namespace pex::daemon {

/// Writes what is left of std::cout. False if a part could not be written: the disk is full, for
/// example. A reader of a pipe that has left, as in `list | head`, has what it wants.
bool flush_output();

}  // namespace pex::daemon
