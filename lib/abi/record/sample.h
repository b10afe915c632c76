#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "abi/record/branch_stack.h"
#include "abi/record/data_source.h"
#include "abi/record/packed_span.h"
#include "abi/record/read_format.h"

namespace pex::perf {

/// A thread, in the PID namespace of the process that opened the event. A number is 0 for the idle
/// task and for threads outside of that namespace, and 0xffffffff once the thread has ended.
struct TaskId {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;

  bool operator==(const TaskId&) const = default;
};

/// Where the CPU was when the record was written.
enum class CpuMode : std::uint8_t {
  kUnknown,
  kKernel,
  kUser,
  kHypervisor,
  kGuestKernel,
  kGuestUser,
};

/// The field `misc` of a record's header. What bits 13 and 14 mean depends on the record: each
/// struct has them by name.
struct RecordMisc {
  std::uint16_t bits = 0;

  /// A number that is not known is returned as it is.
  CpuMode cpu_mode() const { return static_cast<CpuMode>(bits & 7); }
  /// Not by the kernel: perf(1) gave up on /proc/PID/maps, so mappings are missing.
  bool maps_incomplete() const { return has(12); }
  /// Reserved for records with an extended header; no kernel sets it so far.
  bool extended() const { return has(15); }
  bool has(unsigned bit) const { return (bits >> bit & 1) != 0; }

  bool operator==(const RecordMisc&) const = default;
};

/// Which values the registers have.
enum class RegisterAbi : std::uint64_t {
  kNone = 0,  ///< there are no values, such as those of user space in a kernel thread
  k32 = 1,    ///< of a 32-bit process
  k64 = 2,
};

/// CPU registers. A view of the buffer.
struct Registers {
  RegisterAbi abi = RegisterAbi::kNone;
  std::uint64_t mask = 0;            ///< which ones; bit numbers are those of <asm/perf_regs.h>
  PackedSpan<std::uint64_t> values;  ///< one for each bit of `mask`, from bit 0 on; none for kNone

  /// The register of this number below 64; nothing if it was not asked for or has no value.
  std::optional<std::uint64_t> value_of(unsigned number) const {
    const std::uint64_t bit = std::uint64_t{1} << (number & 63);
    const auto index = static_cast<std::size_t>(std::popcount(mask & (bit - 1)));
    if ((mask & bit) == 0 || index >= values.size()) return std::nullopt;
    return values[index];
  }
};

/// A copy of the top of the stack of user space, from the stack pointer on.
struct StackDump {
  std::span<const std::byte> bytes;  ///< as many as were asked for, or none
  std::uint64_t valid = 0;           ///< of these, as many could be read

  std::span<const std::byte> valid_bytes() const {
    return bytes.first(valid < bytes.size() ? static_cast<std::size_t>(valid) : bytes.size());
  }
};

/// PERF_SAMPLE_WEIGHT_STRUCT: what the parts mean depends on the CPU. On Intel: the latency of the
/// access, the latency of the instruction, the instructions that retired at once.
struct WeightParts {
  std::uint32_t var1 = 0;
  std::uint16_t var2 = 0;
  std::uint16_t var3 = 0;

  bool operator==(const WeightParts&) const = default;
};

/// PERF_SAMPLE_TRANSACTION: why a hardware transaction was aborted.
struct Transaction {
  std::uint64_t value = 0;  ///< as the kernel wrote it: PERF_TXN_*

  bool elision() const { return has(0); }
  bool transaction() const { return has(1); }
  bool by_this_instruction() const { return has(2); }
  bool by_another_event() const { return has(3); }
  bool may_retry() const { return has(4); }
  bool by_conflict() const { return has(5); }
  bool by_write_capacity() const { return has(6); }
  bool by_read_capacity() const { return has(7); }
  /// What the program passed to the instruction that aborts.
  std::uint32_t abort_code() const { return static_cast<std::uint32_t>(value >> 32); }

  bool operator==(const Transaction&) const = default;

 private:
  bool has(unsigned bit) const { return (value >> bit & 1) != 0; }
};

/// PERF_RECORD_SAMPLE, since Linux 2.6.31. Exactly the fields that sample_type asks for have a
/// value. Views are of the record's buffer. perf_event_open(2) explains the fields.
///
/// Example:
///   const Sample sample = std::get<Sample>(*decode_record(layout, encoded));
///   if (sample.cgroup && sample.time) {
///     std::cout << sample.time->count() << " ns: cgroup " << *sample.cgroup << '\n';
///   }
struct Sample {
  /// Not defaulted: it would be filled with zeros first, which takes longer than decoding it.
  Sample() noexcept {}  // NOLINT(modernize-use-equals-default)

  RecordMisc misc;
  /// `ip` is exactly that of the instruction that caused the event (precise_ip).
  bool exact_ip() const { return misc.has(14); }

  std::optional<std::uint64_t> identifier;       ///< id of the event, as in SampleId
  std::optional<std::uint64_t> ip;               ///< address of the instruction
  std::optional<TaskId> task;                    ///< which thread
  std::optional<std::chrono::nanoseconds> time;  ///< on the event's clock
  std::optional<std::uint64_t> address;          ///< of the memory access, fault, breakpoint
  std::optional<std::uint64_t> id;               ///< of the event; of an inherited one, its parent
  std::optional<std::uint64_t> stream_id;        ///< of the event itself
  std::optional<std::uint32_t> cpu;
  std::optional<std::uint64_t> period;                 ///< events that the sample stands for
  std::optional<ReadValues> values;                    ///< of the event or its group
  std::optional<PackedSpan<std::uint64_t>> callchain;  ///< see visit_frames()
  std::optional<std::span<const std::byte>> raw;       ///< of a tracepoint: its record
  std::optional<BranchStack> branches;
  std::optional<Registers> user_registers;
  std::optional<StackDump> user_stack;
  std::optional<std::uint64_t> weight;      ///< cost of the event; the unit depends on the CPU
  std::optional<WeightParts> weight_parts;  ///< the same in parts; never both
  std::optional<DataSource> data_source;
  std::optional<Transaction> transaction;
  std::optional<Registers> interrupt_registers;  ///< at the interrupt or exact instruction
  std::optional<std::uint64_t> physical_address;
  std::optional<std::uint64_t> cgroup;            ///< id, as in PERF_RECORD_CGROUP
  std::optional<std::uint64_t> data_page_size;    ///< bytes, of the page of `address`; 0: not known
  std::optional<std::uint64_t> code_page_size;    ///< bytes, of the page of `ip`; 0: not known
  std::optional<std::span<const std::byte>> aux;  ///< of the AUX area
};

/// What each record that is no sample ends with if the event has sample_id_all: those of these
/// fields that sample_type asks for.
struct SampleId {
  std::optional<TaskId> task;
  std::optional<std::chrono::nanoseconds> time;
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> stream_id;
  std::optional<std::uint32_t> cpu;
  std::optional<std::uint64_t> identifier;

  bool operator==(const SampleId&) const = default;
};

}  // namespace pex::perf
