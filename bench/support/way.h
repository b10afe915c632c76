#pragma once

#include <cstddef>
#include <string_view>

namespace pex::bench {

/// What is counted while work is measured: the CPUs alone, or cgroups as well.
enum class Way { kNothing, kCpus, kDescriptors, kRecords };

constexpr std::string_view name_of(Way way) {
  constexpr std::string_view kNames[] = {"nothing", "the CPUs", "descriptors", "records"};
  return kNames[static_cast<std::size_t>(way)];
}

}  // namespace pex::bench
