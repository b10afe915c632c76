#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "perf/perf_kernel.h"

namespace pex::events {

/// The encoding of a vendor's name for one PMU.
struct VendorEncoding {
  std::string pmu;  ///< libpfm4's name: "skl", "arm_n1"
  perf::EventAttributes attributes;
  std::string help;  ///< one sentence with its full stop
};

/// For every PMU of this machine's CPU that has `name`, "INST_RETIRED:ANY_P"; "skl::..." searches
/// only one. libpfm4 detects the CPU itself, unless the environment has LIBPFM_FORCE_PMU. Fails
/// with ENOENT if no PMU has it, and with ENOTSUP in a program that was built without libpfm4.
Result<std::vector<VendorEncoding>> encode_vendor_event(const std::string& name);

/// An event with a vendor's name.
struct VendorName {
  std::string name;  ///< "INST_RETIRED:ANY_P"
  std::string pmu;
  std::string help;  ///< one sentence with its full stop
};

/// For all PMUs of this machine's CPU, in the order of libpfm4's tables. Each name once.
std::vector<VendorName> list_vendor_events();

}  // namespace pex::events
