#pragma once

#include <string>

namespace pex::daemon {

/// Whether every user of the machine can read `file`: its mode lets others read it, and that of
/// each directory above it lets them pass. False where that cannot be determined.
bool is_readable_by_all(const std::string& file);

}  // namespace pex::daemon
