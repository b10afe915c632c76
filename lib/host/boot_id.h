#pragma once

#include "host/roots.h"

namespace pex::host {

/// From 0 to 1, by the random text that the kernel chooses at each start (random(4), boot_id): the
/// same for all programs and containers of a machine, and another one for each machine. 0 if it
/// cannot be read.
double boot_fraction(const HostRoots& roots);

}  // namespace pex::host
