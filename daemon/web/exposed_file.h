#pragma once

#include <string>

namespace pex::daemon {

/// Whether every user of the machine can read `file`: its mode allows others to read it, and each
/// directory above it allows them to pass. False if that cannot be determined.
bool is_readable_by_all(const std::string& file);

}  // namespace pex::daemon
