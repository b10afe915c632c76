#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/roots.h"

namespace pex::daemon {

/// The cloud or the hypervisor of a virtual machine.
struct Platform {
  std::string name;         ///< "Amazon EC2, m5.large"
  std::string_view remedy;  ///< what gives a machine there a PMU, or one with more events
};

/// By the hypervisor and the firmware's table; nothing for hardware, and for what the table of
/// platforms does not have.
std::optional<Platform> platform_of(const host::HostRoots& roots);

}  // namespace pex::daemon
