#pragma once

#include <span>

#include "perf/abi.h"

namespace pex::perf {

/// The values of fields of records that have names in <linux/perf_event.h>, apart from those that a
/// table of their own decodes: sample_fields(), read_formats(), branch_options(),
/// callchain_contexts(), data_source_values(), record_types(), record_misc_entries(). Each row says
/// in which header their accessor is.
///
/// Example:
///   for (const AbiEntry& value : record_values()) {
///     std::cout << value.name << ": since Linux " << value.since << '\n';
///   }
std::span<const AbiEntry> record_values();

}  // namespace pex::perf
