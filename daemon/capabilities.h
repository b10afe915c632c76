#pragma once

#include "base/result.h"

namespace pex::daemon {

/// Takes into use (effective) what this process was permitted of the capabilities that help to
/// count (host::kCapabilities). Nothing is gained that whoever installed or started the program did
/// not give it.
///
/// For a program with the file capability `cap_perfmon=p` (setcap(8)), which permits and does not
/// take into use: with `=ep` the kernel refuses to start it where the capability is withheld, as in
/// a container without --cap-add=PERFMON; with `=p` it starts and can say what it lacks.
///
/// A thread changes its own capabilities only, and new threads have those of their maker: to be
/// called while there is one thread, before anything is opened. Fails where the kernel does not
/// let us (a security module); nothing to take is no failure.
Result<> take_permitted_capabilities();

}  // namespace pex::daemon
