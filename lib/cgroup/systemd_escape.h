#pragma once

#include <string>
#include <string_view>

namespace pex::cgroup {

/// A unit's name as systemctl shows it: without the \xNN that systemd writes for bytes that a name
/// may not hold (systemd.unit(5)). No name holds a byte 0, so "\x00" stays as it is.
std::string systemd_unescape(std::string_view name);

}  // namespace pex::cgroup
