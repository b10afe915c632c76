#pragma once

#include <string>
#include <string_view>

namespace pex::cgroup {

/// A unit's name as systemctl shows it: decodes the \xNN that systemd writes for bytes that a name
/// must not contain (systemd.unit(5)). No name contains a byte 0, so "\x00" is unchanged.
std::string systemd_unescape(std::string_view name);

}  // namespace pex::cgroup
