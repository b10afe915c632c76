#pragma once

#include <string_view>

namespace pex::perf {

/// One constant or field of the perf_event ABI that messages name. docs/development/abi.md has it,
/// with its header.
struct AbiEntry {
  std::string_view name;   ///< as <linux/perf_event.h> spells it: "PERF_SAMPLE_CGROUP"
  std::string_view since;  ///< the release of Linux that introduced it: "5.7"
};

}  // namespace pex::perf
