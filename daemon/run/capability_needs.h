#pragma once

#include <cstdint>

#include "config/config.h"
#include "daemon/cli/options.h"

namespace pex::daemon {

/// What decides which capabilities a run has a use for.
struct CapabilityNeeds {
  bool is_root = false;          ///< has every capability, whether or not anybody meant to grant it
  bool counts_as_admin = false;  ///< the kernel asks for CAP_SYS_ADMIN where it counts
  bool listens_on_ports = false;
  bool makes_socket_files = false;
  std::uint64_t permitted = 0;  ///< the capabilities that it has
};

/// Whether the kernel lets only CAP_SYS_ADMIN count one of the events: probes in programs, and
/// breakpoints on addresses of the kernel (docs/permissions.md). What cannot be parsed needs
/// nothing: it is not counted either.
bool needs_admin(const config::Config& config);

/// Of a run with these options, by what its configuration and the machine say now.
CapabilityNeeds capability_needs(const Options& options);

/// The capabilities to keep, as a set of their bits (linux/capability.h). Of one that is not root,
/// those that help to count are kept whether they are needed or not: somebody granted them by name.
/// CAP_SYS_ADMIN and CAP_DAC_OVERRIDE include what CAP_PERFMON and CAP_DAC_READ_SEARCH allow, and
/// take their place where those were not granted, as in containers.
std::uint64_t capabilities_kept(const CapabilityNeeds& needs);

}  // namespace pex::daemon
