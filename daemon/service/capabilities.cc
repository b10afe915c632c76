#include "daemon/service/capabilities.h"

#include <sys/capability.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "host/permissions.h"

namespace pex::daemon {
namespace {

struct FreeSets {
  void operator()(cap_t sets) const { ::cap_free(sets); }
};
using Sets = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeSets>;

bool is_in(std::uint64_t set, cap_value_t capability) { return (set >> capability & 1) != 0; }

void drop_all_but(std::uint64_t kept, cap_t sets) {
  for (cap_value_t number = 0; number < ::cap_max_bits(); ++number) {
    if (is_in(kept, number)) continue;
    // The kernel removes what is not inheritable from the ambient set, too.
    for (const cap_flag_t set : {CAP_PERMITTED, CAP_EFFECTIVE, CAP_INHERITABLE}) {
      ::cap_set_flag(sets, set, 1, &number, CAP_CLEAR);
    }
  }
}

void take_permitted(cap_t sets) {
  for (const host::Capability capability : host::kCapabilities) {
    const auto number = static_cast<cap_value_t>(capability);
    cap_flag_value_t is_permitted = CAP_CLEAR;
    ::cap_get_flag(sets, number, CAP_PERMITTED, &is_permitted);
    if (is_permitted == CAP_SET) ::cap_set_flag(sets, CAP_EFFECTIVE, 1, &number, CAP_SET);
  }
}

/// Of what a program that is started later could get. Requires CAP_SETPCAP, so only root does it;
/// others rely on no_new_privs.
void limit_bounding_set(std::uint64_t kept) {
  for (cap_value_t number = 0; number < ::cap_max_bits(); ++number) {
    if (!is_in(kept, number) && ::cap_drop_bound(number) != 0) return;
  }
}

}  // namespace

Result<> limit_capabilities(std::uint64_t kept) {
  const Sets before{::cap_get_proc()};
  const Sets sets{before ? ::cap_dup(before.get()) : nullptr};
  if (!sets) return Error{errno, "read the capabilities of this process", {}};
  limit_bounding_set(kept);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // since Linux 3.5
  drop_all_but(kept, sets.get());
  take_permitted(sets.get());
  if (::cap_compare(sets.get(), before.get()) == 0 || ::cap_set_proc(sets.get()) == 0) return {};
  return Error{errno, "make permitted capabilities effective, and drop the others",
               "look for the denial in the log of the security module (SELinux, AppArmor); or "
               "give the program 'setcap cap_perfmon=ep', which makes them effective at once"};
}

}  // namespace pex::daemon
