#include "daemon/run/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

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

/// The bits of `kept` that are in word `index` of a set.
std::uint32_t word_of(std::uint64_t kept, unsigned index) {
  return static_cast<std::uint32_t>(kept >> (32 * index));
}

void give_up_all_but(std::uint64_t kept, Sets& sets) {
  for (unsigned index = 0; index < _LINUX_CAPABILITY_U32S_3; ++index) {
    const std::uint32_t word = word_of(kept, index);
    sets[index].permitted &= word;
    sets[index].effective &= word;
    sets[index].inheritable &= word;  // the kernel then takes them out of the ambient set, too
  }
}

void take_permitted(Sets& sets) {
  for (const host::Capability capability : host::kCapabilities) {
    const unsigned number = host::bit_of(capability);
    __user_cap_data_struct& word = sets[CAP_TO_INDEX(number)];
    word.effective |= CAP_TO_MASK(number) & word.permitted;
  }
}

bool are_equal(const Sets& one, const Sets& other) {
  return std::memcmp(one, other, sizeof(Sets)) == 0;
}

/// Of what a program that is started later could be given. It takes CAP_SETPCAP, so only root does
/// it, and others have to rely on no_new_privs.
void limit_bounding_set(std::uint64_t kept) {
  for (unsigned number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    const bool is_kept = (kept >> number & 1) != 0;
    if (!is_kept && ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) return;
  }
}

}  // namespace

Result<> limit_capabilities(std::uint64_t kept) {
  Sets before{};
  if (!get_own(before)) return Error{errno, "read the capabilities of this process", {}};
  limit_bounding_set(kept);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // known to every Linux that has perf events of cgroups
  Sets sets{};
  std::memcpy(sets, before, sizeof sets);
  give_up_all_but(kept, sets);
  take_permitted(sets);
  if (are_equal(sets, before) || set_own(sets)) return {};
  return Error{errno, "take permitted capabilities into use, and give up the others",
               "look for the denial in the log of the security module (SELinux, AppArmor); or "
               "give the program 'setcap cap_perfmon=ep', which needs nothing to be taken"};
}

}  // namespace pex::daemon
