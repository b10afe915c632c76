#pragma once

#include "base/unique_fd.h"

namespace pex::bench {

/// From here on SIGINT and SIGTERM no longer end the process; a descriptor reports them: what
/// was set up for a measurement is always taken down again. Made before any thread, so that all
/// inherit it. They stay blocked when it goes, as others may rely on it by then.
class StopSignals {
 public:
  StopSignals();

  /// Readable once one has arrived, and from then on.
  int descriptor() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace pex::bench
