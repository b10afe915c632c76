#pragma once

#include <optional>

#include "host/roots.h"

namespace pex::host {

/// Whether KVM gives its virtual machines the PMU while they run (mediated vPMU, Linux 7.0):
/// enable_mediated_pmu of the module kvm_intel or kvm_amd. Such a machine does not start (EBUSY)
/// while a hardware event is open that counts in virtual machines as well, and while it runs, no
/// such event can be opened (EOPNOTSUPP): perf_create_mediated_pmu() and
/// mediated_pmu_account_event() in kernel/events/core.c.
/// Nothing: descriptors or memory are short, so that it cannot be read now.
std::optional<bool> gives_pmu_to_guests(const HostRoots& roots);

}  // namespace pex::host
