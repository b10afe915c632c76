#include "cgroup/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

namespace pex::cgroup {

bool still_exists(const Cgroup& cgroup) {
  return cgroup.directory && ::faccessat(cgroup.directory.get(), "cgroup.procs", F_OK, 0) == 0;
}

}  // namespace pex::cgroup
