#pragma once

#include <string_view>

namespace pex::perf {

/// One constant or field of the perf_event ABI: a row of the tables that docs/abi.md is generated
/// from. Each table is next to the code that it is about.
struct AbiEntry {
  std::string_view name;     ///< as <linux/perf_event.h> spells it: "PERF_SAMPLE_CGROUP"
  std::string_view since;    ///< the release of Linux that introduced it: "5.7"
  std::string_view meaning;  ///< a sentence without a full stop
  std::string_view where;    ///< the header of this library that has it: "perf/record/record.h"
  std::string_view test;     ///< the test that shows it: "RecordTest.DecodesForks"
  std::string_view not_used = {};  ///< why this library does not use it; empty if it does
};

}  // namespace pex::perf
