#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/record/abi_entry.h"
#include "abi/sampling.h"
#include "perf/event_attr.h"

namespace pex::perf {

/// The tables of perf_event_attr: what a request becomes, and since which release the kernel knows
/// it. The bits of sample_type, read_format and branch_sample_type have tables in abi/record.
/// Sources: include/uapi/linux/perf_event.h and its history, by which some releases are later than
/// those in perf_event_open(2).
///
/// Example:
///   for (const AttrFlagEntry& entry : attr_flags()) {
///     std::cout << entry.abi.name << ": since Linux " << entry.abi.since << '\n';
///   }

/// A bit-field of one bit in perf_event_attr, and where a request has it; null for flags that
/// follow from other parts of a request.
struct AttrFlagEntry {
  AbiEntry abi;
  AttrFlag flag;
  bool SamplingRequest::*member = nullptr;
};
/// In the order of the kernel's header; precise_ip is not one of them, as it has two bits.
std::span<const AttrFlagEntry> attr_flags();

/// One of the bits of aux_action.
struct AuxActionEntry {
  AbiEntry abi;
  AuxAction action;
  bool SamplingRequest::*member;
};
std::span<const AuxActionEntry> aux_actions();

/// A field of perf_event_attr that is a number.
struct AttrFieldEntry {
  AbiEntry abi;
  std::size_t offset;  ///< bytes, in EventAttr
  std::size_t bytes;

  constexpr std::size_t end() const { return offset + bytes; }
};
/// In their order; of a union, its first member.
std::span<const AttrFieldEntry> attr_numbers();

/// Those that are not 0 in `attr`.
std::vector<const AttrFieldEntry*> numbers_set(const EventAttr& attr);

/// The smallest size of perf_event_attr (PERF_ATTR_SIZE_VER*) that contains all that is not 0 in
/// `attr`.
std::uint32_t size_needed(const EventAttr& attr);

}  // namespace pex::perf
