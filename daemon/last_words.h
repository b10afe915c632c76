#pragma once

#include "daemon/logging.h"

namespace pex::daemon {

/// From now on, when memory runs out or nobody catches an exception, the program writes one line to
/// stderr and ends with status kUnable (options.h). Neither allocates, and a stderr that nobody
/// reads delays the end by 0.2 s at most.
void install_last_words(LogFormat format);

}  // namespace pex::daemon
