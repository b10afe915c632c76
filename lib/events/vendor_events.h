#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "perf/perf_kernel.h"

namespace pex::events {

/// What a vendor's name means to one PMU.
struct VendorEncoding {
  std::string pmu;  ///< as libpfm4 calls it: "skl", "arm_n1"
  perf::EventAttributes attributes;
  std::string help;  ///< one sentence with its full stop
};

/// On every PMU of this machine's CPU that knows `name`, "INST_RETIRED:ANY_P"; "skl::..." asks just
/// one. Whose machine that is libpfm4 finds out by itself, from the CPU and /sys, unless the
/// environment has LIBPFM_FORCE_PMU. Fails with ENOENT when no PMU knows it, and with ENOTSUP in a
/// program that was built without libpfm4.
Result<std::vector<VendorEncoding>> encode_vendor_event(const std::string& name);

/// One event that a vendor gave a name.
struct VendorName {
  std::string name;  ///< "INST_RETIRED:ANY_P"
  std::string pmu;
  std::string help;  ///< one sentence with its full stop
};

/// Of all PMUs of this machine's CPU, in the order of libpfm4's tables. Each name once.
std::vector<VendorName> list_vendor_events();

}  // namespace pex::events
