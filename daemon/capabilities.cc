#include "daemon/capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "host/permissions.h"

namespace pex::daemon {
namespace {

/// As version 3 of the interface has it: 64 bits in words of 32, those of the lower numbers first.
using Sets = __user_cap_data_struct[_LINUX_CAPABILITY_U32S_3];

/// The C library has no functions for these two (capget(2)), and libcap no more to give.
bool get_own(Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, sets) == 0;
}

bool set_own(const Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, sets) == 0;
}

/// Whether there was anything to take.
bool take(Sets& sets) {
  bool taken = false;
  for (const host::Capability capability : host::kCapabilities) {
    const unsigned number = host::bit_of(capability);
    __user_cap_data_struct& word = sets[CAP_TO_INDEX(number)];
    const std::uint32_t waiting = CAP_TO_MASK(number) & word.permitted & ~word.effective;
    word.effective |= waiting;
    taken = taken || waiting != 0;
  }
  return taken;
}

}  // namespace

Result<> take_permitted_capabilities() {
  Sets sets{};
  if (get_own(sets) && (!take(sets) || set_own(sets))) return {};
  return Error{errno, "take permitted capabilities into use",
               "look for the denial in the log of the security module (SELinux, AppArmor); or "
               "give the program 'setcap cap_perfmon=ep', which needs nothing to be taken"};
}

}  // namespace pex::daemon
