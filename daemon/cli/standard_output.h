#pragma once

namespace pex::daemon {

/// Writes what is left of std::cout. False if a part of it could not be written, as on a full disk;
/// then stderr has one line with the reason. A reader of a pipe that has left, as in `list | head`,
/// has what it wants.
bool flush_output();

}  // namespace pex::daemon
