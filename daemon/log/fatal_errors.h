#pragma once

#include "daemon/log/logging.h"

namespace pex::daemon {

/// From now on, when memory runs out or an exception is unhandled, the program writes one line to
/// stderr and ends with status kUnable (options.h). The handlers do not allocate, and a full stderr
/// delays the end by 0.2 s at most. So does a crash (SIGSEGV and the like) in any thread, after which
/// the kernel ends the process as it always does, with a core dump where that is configured.
void install_fatal_error_handlers(LogFormat format);

}  // namespace pex::daemon
