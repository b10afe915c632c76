#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "abi/record/abi_entry.h"
#include "abi/record/packed_span.h"

namespace pex::perf {

/// PERF_SAMPLE_BRANCH_COUNTERS, since Linux 6.8.
inline constexpr std::uint64_t kBranchCounters = 1u << 19;

/// A bit of branch_sample_type (perf_event_open(2)).
struct BranchOption {
  enum class Adds : std::uint8_t {
    kNothing,   ///< chooses branches, or fills or empties bits of BranchEntry::flags
    kHwIndex,   ///< a word before the entries
    kCounters,  ///< a word for each entry, after all entries
  };

  AbiEntry abi;
  std::uint64_t bit;
  Adds adds = Adds::kNothing;
};

/// All bits of branch_sample_type, from bit 0 on.
std::span<const BranchOption> branch_options();

/// What kind of branch: PERF_BR_*, where the hardware knows it (PERF_SAMPLE_BRANCH_TYPE_SAVE).
enum class BranchType : std::uint8_t {
  kUnknown,
  kConditional,
  kUnconditional,
  kIndirect,
  kCall,
  kIndirectCall,
  kReturn,
  kSyscall,
  kSyscallReturn,
  kConditionalCall,
  kConditionalReturn,
  kExceptionReturn,
  kInterrupt,
  kSystemError,
  kNotInTransaction,
  kExtended,  ///< see extended_type()
};

/// PERF_BR_NEW_*: what BranchType has no number for.
enum class ExtendedBranchType : std::uint8_t {
  kAlignmentFault,
  kDataFault,
  kInstructionFault,
  kArchitecture1,  ///< arm64: FIQ
  kArchitecture2,  ///< arm64: debug halt
  kArchitecture3,  ///< arm64: debug exit
  kArchitecture4,  ///< arm64: debug instruction
  kArchitecture5,  ///< arm64: debug data
};

enum class BranchSpeculation : std::uint8_t {
  kUnknown,
  kWrongPath,
  kNotSpeculative,
  kCorrectPath,
};

enum class BranchPrivilege : std::uint8_t {
  kUnknown,
  kUser,
  kKernel,
  kHypervisor,
};

/// A branch that was taken: struct perf_branch_entry.
struct BranchEntry {
  std::uint64_t from = 0;  ///< address of the branch; not always that of an instruction
  std::uint64_t to = 0;
  std::uint64_t flags = 0;  ///< as the kernel wrote them; what they mean follows, on machines that
                            ///< are little-endian: the kernel's are bit fields, which begin at the
                            ///< other end of the word on others

  /// Both are false where the hardware does not predict, or does not say so.
  bool mispredicted() const { return bits(0, 1) != 0; }
  bool predicted() const { return bits(1, 1) != 0; }
  bool in_transaction() const { return bits(2, 1) != 0; }
  bool aborts_transaction() const { return bits(3, 1) != 0; }
  /// CPU cycles since the branch before; 0 if not known.
  std::uint16_t cycles() const { return static_cast<std::uint16_t>(bits(4, 16)); }
  BranchType type() const { return static_cast<BranchType>(bits(20, 4)); }
  BranchSpeculation speculation() const { return static_cast<BranchSpeculation>(bits(24, 2)); }
  /// Of BranchType::kExtended.
  ExtendedBranchType extended_type() const { return static_cast<ExtendedBranchType>(bits(26, 4)); }
  BranchPrivilege privilege() const { return static_cast<BranchPrivilege>(bits(30, 3)); }

  bool operator==(const BranchEntry&) const = default;

 private:
  std::uint64_t bits(unsigned shift, unsigned count) const {
    return flags >> shift & ((std::uint64_t{1} << count) - 1);
  }
};
static_assert(sizeof(BranchEntry) == 24, "three words, as in the kernel's buffer");

/// The last branches before the sample, the last one first. Views of the buffer.
///
/// Example:
///   const std::array<std::uint64_t, 3> words{0x401000, 0x402000, 0b10 | 7 << 4};
///   const BranchStack stack{.entries = PackedSpan<BranchEntry>(std::as_bytes(std::span(words)))};
///   const BranchEntry last = stack.entries[0];
///   if (last.predicted()) std::cout << last.cycles() << " cycles\n";
struct BranchStack {
  PackedSpan<BranchEntry> entries;

  /// PERF_SAMPLE_BRANCH_HW_INDEX: the hardware's index of the last branch; all ones if it has none.
  /// Nothing without that option, and where the kernel writes an empty stack without an index.
  std::optional<std::uint64_t> hw_index = {};

  /// PERF_SAMPLE_BRANCH_COUNTERS: for each entry, how often the group's events happened since the
  /// branch before. What the bits are is in the PMU's caps/branch_counter_nr and _width in sysfs.
  PackedSpan<std::uint64_t> counters = {};
};

}  // namespace pex::perf
