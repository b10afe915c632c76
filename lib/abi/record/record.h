#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "abi/record/decode_error.h"
#include "abi/record/packed_span.h"
#include "abi/record/read_format.h"
#include "abi/record/sample.h"
#include "abi/record/sample_layout.h"
#include "base/result.h"

// The records of the kernel: PERF_RECORD_* (perf_event_open(2), <linux/perf_event.h>). All texts,
// bytes and arrays are views of the record's buffer. Texts are what the kernel has; they need not
// be UTF-8.

namespace pex::perf {

/// Since Linux 6.19.
inline constexpr std::uint32_t kRecordCallchainDeferred = 22;

/// What all records have but samples, and those of a type that is not known.
struct SideBand {
  RecordMisc misc;
  SampleId sample_id;
};

/// A mapping of a file or of executable memory was made.
struct Mmap : SideBand {
  /// The mapping is not executable.
  bool is_data() const { return misc.has(13); }

  TaskId task;
  std::uint64_t address = 0;
  std::uint64_t length = 0;       ///< bytes
  std::uint64_t page_offset = 0;  ///< of `address` in the file, in bytes
  std::string_view path;          ///< or "[vdso]", "//anon" and the like
};

/// `lost` records were not written, because the buffer was full.
struct Lost : SideBand {
  std::uint64_t event_id = 0;
  std::uint64_t lost = 0;
};

/// The name of a thread changed.
struct Comm : SideBand {
  /// By execve(2).
  bool by_exec() const { return misc.has(13); }

  TaskId task;
  std::string_view name;
};

/// A thread began or ended.
struct TaskChange : SideBand {
  TaskId task;
  TaskId parent;
  std::chrono::nanoseconds time{};
};

/// A thread ended.
struct Exit : TaskChange {};

/// A thread was made.
struct Fork : TaskChange {
  /// Not by the kernel: perf(1) marks a process that it starts and that has not called execve(2).
  bool before_exec() const { return misc.has(13); }
};

/// Samples of an event are left out from here on, or written again.
struct RateChange : SideBand {
  std::chrono::nanoseconds time{};
  std::uint64_t event_id = 0;
  std::uint64_t stream_id = 0;
};

/// They are left out, as there were too many (kernel.perf_event_max_sample_rate).
struct Throttle : RateChange {};

/// They are written again.
struct Unthrottle : RateChange {};

/// What an inherited event counted until its thread ended (inherit_stat).
struct Read : SideBand {
  TaskId task;
  ReadValues values;
};

/// A file as its file system knows it.
struct FileIdentity {
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t inode_generation = 0;

  bool operator==(const FileIdentity&) const = default;
};

/// A file as its linker knows it: the note NT_GNU_BUILD_ID.
struct BuildId {
  std::span<const std::byte> bytes;  ///< at most 20
};

/// A mapping of a file or of executable memory was made (attribute mmap2).
struct Mmap2 : SideBand {
  /// The mapping is not executable.
  bool is_data() const { return misc.has(13); }

  TaskId task;
  std::uint64_t address = 0;
  std::uint64_t length = 0;                  ///< bytes
  std::uint64_t page_offset = 0;             ///< of `address` in the file, in bytes
  std::variant<FileIdentity, BuildId> file;  ///< BuildId: the event has build_id, and the file one
  std::uint32_t protection = 0;              ///< PROT_*
  std::uint32_t flags = 0;                   ///< MAP_*
  std::string_view path;                     ///< or "[vdso]", "//anon" and the like
};

/// The AUX area has new data.
struct Aux : SideBand {
  std::uint64_t offset = 0;  ///< in the AUX area, in bytes; in overwrite mode, of its end
  std::uint64_t size = 0;    ///< bytes
  std::uint64_t flags = 0;   ///< PERF_AUX_FLAG_*

  bool truncated() const { return (flags & 1) != 0; }  ///< because the buffer was full
  bool overwrite() const { return (flags & 2) != 0; }  ///< a snapshot of overwrite mode
  bool partial() const { return (flags & 4) != 0; }    ///< it has gaps
  bool collision() const { return (flags & 8) != 0; }  ///< a sample collided with another
  /// Depends on the PMU; CoreSight: 0 its own format, 1 raw.
  unsigned format() const { return static_cast<unsigned>(flags >> 8 & 0xff); }
};

/// Tracing of instructions began.
struct ItraceStart : SideBand {
  TaskId task;
};

/// Samples that the hardware lost.
struct LostSamples : SideBand {
  std::uint64_t lost = 0;
};

/// The thread that the event belongs to came onto its CPU or left it.
struct Switch : SideBand {
  bool is_out() const { return misc.has(13); }
  /// It left while it was runnable.
  bool is_preempted() const { return misc.has(14); }
};

/// The event's CPU went from one thread to another.
struct SwitchCpuWide : Switch {
  TaskId other;  ///< the next thread if is_out(), else the previous one
};

/// A namespace of a task: the device and inode of /proc/PID/ns/NAME.
struct NamespaceLink {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const NamespaceLink&) const = default;
};

/// A thread is in other namespaces than before.
struct Namespaces : SideBand {
  /// Where each namespace is in `links`.
  enum Index : std::size_t { kNet, kUts, kIpc, kPid, kUser, kMnt, kCgroup };

  TaskId task;
  PackedSpan<NamespaceLink> links;  ///< younger kernels may have more than Index names
};

/// The kernel got or lost a symbol.
struct Ksymbol : SideBand {
  enum class Type : std::uint16_t {
    kUnknown,
    kBpf,        ///< a BPF program
    kOutOfLine,  ///< such as a kprobe's copy of instructions, or a trampoline of ftrace
  };

  std::uint64_t address = 0;
  std::uint32_t length = 0;  ///< bytes
  Type type = Type::kUnknown;
  std::uint16_t flags = 0;
  bool is_removed() const { return (flags & 1) != 0; }
  std::string_view name;
};

/// A BPF program was loaded or unloaded.
struct BpfEvent : SideBand {
  enum class Type : std::uint16_t { kUnknown, kLoad, kUnload };

  Type type = Type::kUnknown;
  std::uint16_t flags = 0;
  std::uint32_t program_id = 0;
  std::span<const std::byte> tag;  ///< 8 bytes: a hash of the program's instructions
};

/// A cgroup was made. perf(1) writes these records for those that exist already.
struct Cgroup : SideBand {
  std::uint64_t id = 0;   ///< as in Sample::cgroup
  std::string_view path;  ///< from the root of the hierarchy on: "/system.slice/web.service"
};

/// The kernel changed its own instructions.
struct TextPoke : SideBand {
  std::uint64_t address = 0;
  std::span<const std::byte> old_bytes;  ///< empty for new code
  std::span<const std::byte> new_bytes;  ///< empty for removed code
};

/// The hardware's number of an event that writes to the AUX area; `sample_id` has the id of the
/// event.
struct AuxOutputHwId : SideBand {
  std::uint64_t hw_id = 0;
};

/// The user frames of the samples before it of this thread that have its cookie.
struct CallchainDeferred : SideBand {
  std::uint64_t cookie = 0;             ///< as in deferred_cookie()
  PackedSpan<std::uint64_t> callchain;  ///< begins with PERF_CONTEXT_USER; see visit_frames()
};

/// A record of a type that this library does not know: of a younger kernel, or of perf(1), whose
/// own types begin with 64.
struct Unknown {
  RecordMisc misc;
  std::uint32_t type = 0;
  std::span<const std::byte> bytes;  ///< after the header; a SampleId at the end is a part of it
};

/// One record. Which fields its samples have depends on the event.
///
/// Example:
///   const auto record = decode_record(layout, encoded);
///   if (!record) {
///     std::cerr << describe(record.error()) << '\n';
///   } else if (const auto* comm = std::get_if<Comm>(&*record)) {
///     std::cout << comm->task.pid << " is now " << comm->name << '\n';
///   }
using Record =
    std::variant<Unknown, Mmap, Lost, Comm, Exit, Throttle, Unthrottle, Fork, Read, Sample, Mmap2,
                 Aux, ItraceStart, LostSamples, Switch, SwitchCpuWide, Namespaces, Ksymbol,
                 BpfEvent, Cgroup, TextPoke, AuxOutputHwId, CallchainDeferred>;

/// Decodes one record, header included, whose event has this layout. Never throws, allocates or
/// copies; what is refused is in DecodeError::Reason. Bytes that follow the fields of a record are
/// ignored: they are of a younger kernel, and in a sample of another event
/// (SampleLayout::decode()). A record of a type that is not known is Unknown, not an error.
Result<Record, DecodeError> decode_record(const SampleLayout& layout,
                                          std::span<const std::byte> record) noexcept;

/// "PERF_RECORD_MMAP"; empty for a type that is not known.
std::string_view record_name(std::uint32_t type);

/// What all records have: PERF_RECORD_*, and the misc of the header.
std::uint32_t type_of(const Record& record);
RecordMisc misc_of(const Record& record);
/// Null for a Sample and Unknown, which have none.
const SampleId* sample_id_of(const Record& record);

}  // namespace pex::perf
