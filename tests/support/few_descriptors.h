#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace pex::test {

/// While it lives the process can have `spare` more descriptors and no others.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t spare) {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const UniqueFd lowest_free{::dup(STDERR_FILENO)};
    rlimit low = usual_;
    low.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + spare;
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }

 private:
  rlimit usual_{};
};

}  // namespace pex::test
