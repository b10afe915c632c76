#pragma once

#include "daemon/cli/options.h"

namespace pex::daemon {

/// Removes the state of the last start (CrashGuard).
ExitStatus reset_crashes(const Options& options);

}  // namespace pex::daemon
