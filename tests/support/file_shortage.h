#pragma once

#include <functional>

namespace pex::test {

/// Runs `call` in a thread where open(2) of anything but a directory fails with EMFILE, as it does
/// where other threads take the last descriptors in between; a limit would refuse directories too.
/// False, without a call: the kernel does not allow the filter (seccomp(2)).
bool without_files(const std::function<void()>& call);

}  // namespace pex::test
