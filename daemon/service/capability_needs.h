#pragma once

#include <cstdint>

#include "config/config.h"
#include "daemon/cli/options.h"

namespace pex::daemon {

/// Decides which capabilities a run needs.
struct CapabilityNeeds {
  bool is_root = false;          ///< has every capability, even if none was granted on purpose
  bool counts_as_admin = false;  ///< the kernel requires CAP_SYS_ADMIN to count
  bool listens_on_ports = false;
  bool makes_socket_files = false;
  bool looks_at_processes = false;  ///< of other users
  std::uint64_t permitted = 0;      ///< the capabilities that it has
};

/// Whether the kernel requires CAP_SYS_ADMIN to count one of the events: probes in programs, and
/// breakpoints on addresses of the kernel (docs/permissions.md). An event that cannot be parsed
/// needs nothing, as it is not counted.
bool needs_admin(const config::Config& config);

/// For a run with these options, by its configuration and the machine as they are now.
CapabilityNeeds capability_needs(const Options& options);

/// The capabilities to keep, as a set of their bits (linux/capability.h). A non-root process keeps
/// all that help to count, needed or not: they were granted by name. CAP_SYS_ADMIN and
/// CAP_DAC_OVERRIDE include what CAP_PERFMON and CAP_DAC_READ_SEARCH allow, and replace them where
/// those were not granted, as in containers.
std::uint64_t capabilities_kept(const CapabilityNeeds& needs);

}  // namespace pex::daemon
