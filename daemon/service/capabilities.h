#pragma once

#include <cstdint>

#include "base/result.h"

namespace pex::daemon {

/// Permanently drops all capabilities of this process except `kept`, a set of capabilities(7) by
/// their bits, and makes those permitted ones effective that help to count (host::kCapabilities).
/// The process gains nothing that its installer or starter did not grant. No program that is
/// started later has more (no_new_privs, prctl(2)).
///
/// Making them effective is for programs with the file capability `cap_perfmon=p` (setcap(8)),
/// which only permits it. With `=ep` the kernel refuses to start the program where the capability
/// is withheld, as in a container without --cap-add=PERFMON; with `=p` the program starts and can
/// report what it lacks.
///
/// A thread changes only its own capabilities, and new threads inherit those of their creator: call
/// it while there is one thread, before anything is opened. Fails if a security module refuses;
/// having nothing to raise or drop is no failure.
Result<> limit_capabilities(std::uint64_t kept);

}  // namespace pex::daemon
