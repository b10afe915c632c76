#include "bench/support/stop_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace pex::bench {

StopSignals::StopSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
}

}  // namespace pex::bench
