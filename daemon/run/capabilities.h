#pragma once

#include <cstdint>

#include "base/result.h"

namespace pex::daemon {

/// Gives up for good whatever this process has beyond `kept`, a set of capabilities(7) by their
/// bits, and takes into use (effective) what it was permitted of those that help to count
/// (host::kCapabilities). Nothing is gained that whoever installed or started the program did not
/// give it. No program that is started later has more (no_new_privs, prctl(2)).
///
/// Taking into use is for a program with the file capability `cap_perfmon=p` (setcap(8)), which
/// permits and does not take into use: with `=ep` the kernel refuses to start it where the
/// capability is withheld, as in a container without --cap-add=PERFMON; with `=p` it starts and can
/// say what it lacks.
///
/// A thread changes its own capabilities only, and new threads have those of their maker: to be
/// called while there is one thread, before anything is opened. Fails where the kernel does not
/// let us (a security module); nothing to take or to give up is no failure.
Result<> limit_capabilities(std::uint64_t kept);

}  // namespace pex::daemon
