#include "abi/record/record.h"

#include <linux/perf_event.h>

#include <iterator>

namespace pex::perf {
namespace {

bool read(ByteReader& in, TaskId& task) noexcept {
  return in.read("pid", task.pid) && in.read("tid", task.tid);
}

/// A number that is kept as a type of its own.
template <typename T>
bool read_number(ByteReader& in, std::string_view field, T& value) noexcept {
  std::uint64_t number = 0;
  if (!in.read(field, number)) return false;
  value = T{number};
  return true;
}

bool read(ByteReader& in, const SampleLayout&, Mmap& mmap) noexcept {
  return read(in, mmap.task) && in.read("addr", mmap.address) && in.read("len", mmap.length) &&
         in.read("pgoff", mmap.page_offset) && in.read_text("filename", mmap.path);
}

bool read(ByteReader& in, const SampleLayout&, Lost& lost) noexcept {
  return in.read("id", lost.event_id) && in.read("lost", lost.lost);
}

bool read(ByteReader& in, const SampleLayout&, Comm& comm) noexcept {
  return read(in, comm.task) && in.read_text("comm", comm.name);
}

bool read(ByteReader& in, const SampleLayout&, TaskChange& change) noexcept {
  return in.read("pid", change.task.pid) && in.read("ppid", change.parent.pid) &&
         in.read("tid", change.task.tid) && in.read("ptid", change.parent.tid) &&
         read_number(in, "time", change.time);
}

bool read(ByteReader& in, const SampleLayout&, RateChange& change) noexcept {
  return read_number(in, "time", change.time) && in.read("id", change.event_id) &&
         in.read("stream_id", change.stream_id);
}

bool read(ByteReader& in, const SampleLayout& layout, Read& read_record) noexcept {
  return read(in, read_record.task) && decode_values(in, layout.read_layout(), read_record.values);
}

bool read_file_identity(ByteReader& in, FileIdentity& file) noexcept {
  return in.read("maj", file.device_major) && in.read("min", file.device_minor) &&
         in.read("ino", file.inode) && in.read("ino_generation", file.inode_generation);
}

bool read_build_id(ByteReader& in, BuildId& build_id) noexcept {
  constexpr std::size_t kMaxBuildId = 20;
  std::uint8_t size = 0;
  std::span<const std::byte> reserved;
  std::span<const std::byte> bytes;
  if (!in.read("build_id_size", size)) return false;
  if (size > kMaxBuildId) return in.refuse_value("build_id_size", size);
  if (!in.read_bytes("reserved", 3, reserved)) return false;
  if (!in.read_bytes("build_id", kMaxBuildId, bytes)) return false;
  build_id.bytes = bytes.first(size);
  return true;
}

bool read_file(ByteReader& in, Mmap2& mmap) noexcept {
  const bool has_build_id = mmap.misc.has(14);
  return has_build_id ? read_build_id(in, mmap.file.emplace<BuildId>())
                      : read_file_identity(in, mmap.file.emplace<FileIdentity>());
}

bool read(ByteReader& in, const SampleLayout&, Mmap2& mmap) noexcept {
  return read(in, mmap.task) && in.read("addr", mmap.address) && in.read("len", mmap.length) &&
         in.read("pgoff", mmap.page_offset) && read_file(in, mmap) &&
         in.read("prot", mmap.protection) && in.read("flags", mmap.flags) &&
         in.read_text("filename", mmap.path);
}

bool read(ByteReader& in, const SampleLayout&, Aux& aux) noexcept {
  return in.read("aux_offset", aux.offset) && in.read("aux_size", aux.size) &&
         in.read("flags", aux.flags);
}

bool read(ByteReader& in, const SampleLayout&, ItraceStart& start) noexcept {
  return read(in, start.task);
}

bool read(ByteReader& in, const SampleLayout&, LostSamples& lost) noexcept {
  return in.read("lost", lost.lost);
}

bool read(ByteReader&, const SampleLayout&, Switch&) noexcept { return true; }

bool read(ByteReader& in, const SampleLayout&, SwitchCpuWide& change) noexcept {
  return in.read("next_prev_pid", change.other.pid) && in.read("next_prev_tid", change.other.tid);
}

bool read(ByteReader& in, const SampleLayout&, Namespaces& namespaces) noexcept {
  std::uint64_t nr = 0;
  return read(in, namespaces.task) && in.read("nr_namespaces", nr) &&
         in.read_array("namespaces", nr, namespaces.links);
}

bool read(ByteReader& in, const SampleLayout&, Ksymbol& symbol) noexcept {
  return in.read("addr", symbol.address) && in.read("len", symbol.length) &&
         in.read("ksym_type", symbol.type) && in.read("flags", symbol.flags) &&
         in.read_text("name", symbol.name);
}

bool read(ByteReader& in, const SampleLayout&, BpfEvent& event) noexcept {
  constexpr std::size_t kTagSize = 8;  // BPF_TAG_SIZE
  return in.read("type", event.type) && in.read("flags", event.flags) &&
         in.read("id", event.program_id) && in.read_bytes("tag", kTagSize, event.tag);
}

bool read(ByteReader& in, const SampleLayout&, Cgroup& cgroup) noexcept {
  return in.read("id", cgroup.id) && in.read_text("path", cgroup.path);
}

bool read(ByteReader& in, const SampleLayout&, TextPoke& poke) noexcept {
  std::uint16_t old_size = 0;
  std::uint16_t new_size = 0;
  return in.read("addr", poke.address) && in.read("old_len", old_size) &&
         in.read("new_len", new_size) && in.read_bytes("old bytes", old_size, poke.old_bytes) &&
         in.read_bytes("new bytes", new_size, poke.new_bytes);
}

bool read(ByteReader& in, const SampleLayout&, AuxOutputHwId& id) noexcept {
  return in.read("hw_id", id.hw_id);
}

bool read(ByteReader& in, const SampleLayout&, CallchainDeferred& deferred) noexcept {
  std::uint64_t nr = 0;
  return in.read("cookie", deferred.cookie) && in.read("nr of the callchain", nr) &&
         in.read_array("callchain", nr, deferred.callchain);
}

bool read(ByteReader& in, const SampleLayout& layout, Sample& sample) noexcept {
  return layout.decode(in, sample);
}

template <typename T>
bool decode_as(ByteReader& in, const SampleLayout& layout, RecordMisc misc,
               Record& record) noexcept {
  T& value = record.emplace<T>();
  value.misc = misc;
  if constexpr (requires { value.sample_id; }) {
    const std::size_t size = layout.sample_id_size();
    if (!in.require("sample_id", size)) return false;
    ByteReader end = in.split_end(size);
    if (!layout.decode(end, value.sample_id)) return false;
  }
  return read(in, layout, value);
}

struct RecordType {
  std::string_view name;
  std::uint32_t type;
  /// Reads what follows the header into a new value of `record`.
  bool (*decode)(ByteReader& in, const SampleLayout& layout, RecordMisc misc,
                 Record& record) noexcept;
};

/// All types, from 1 on, without gaps.
constexpr RecordType kRecordTypes[] = {
    {"PERF_RECORD_MMAP", PERF_RECORD_MMAP, decode_as<Mmap>},
    {"PERF_RECORD_LOST", PERF_RECORD_LOST, decode_as<Lost>},
    {"PERF_RECORD_COMM", PERF_RECORD_COMM, decode_as<Comm>},
    {"PERF_RECORD_EXIT", PERF_RECORD_EXIT, decode_as<Exit>},
    {"PERF_RECORD_THROTTLE", PERF_RECORD_THROTTLE, decode_as<Throttle>},
    {"PERF_RECORD_UNTHROTTLE", PERF_RECORD_UNTHROTTLE, decode_as<Unthrottle>},
    {"PERF_RECORD_FORK", PERF_RECORD_FORK, decode_as<Fork>},
    {"PERF_RECORD_READ", PERF_RECORD_READ, decode_as<Read>},
    {"PERF_RECORD_SAMPLE", PERF_RECORD_SAMPLE, decode_as<Sample>},
    {"PERF_RECORD_MMAP2", PERF_RECORD_MMAP2, decode_as<Mmap2>},
    {"PERF_RECORD_AUX", PERF_RECORD_AUX, decode_as<Aux>},
    {"PERF_RECORD_ITRACE_START", PERF_RECORD_ITRACE_START, decode_as<ItraceStart>},
    {"PERF_RECORD_LOST_SAMPLES", PERF_RECORD_LOST_SAMPLES, decode_as<LostSamples>},
    {"PERF_RECORD_SWITCH", PERF_RECORD_SWITCH, decode_as<Switch>},
    {"PERF_RECORD_SWITCH_CPU_WIDE", PERF_RECORD_SWITCH_CPU_WIDE, decode_as<SwitchCpuWide>},
    {"PERF_RECORD_NAMESPACES", PERF_RECORD_NAMESPACES, decode_as<Namespaces>},
    {"PERF_RECORD_KSYMBOL", PERF_RECORD_KSYMBOL, decode_as<Ksymbol>},
    {"PERF_RECORD_BPF_EVENT", PERF_RECORD_BPF_EVENT, decode_as<BpfEvent>},
    {"PERF_RECORD_CGROUP", PERF_RECORD_CGROUP, decode_as<Cgroup>},
    {"PERF_RECORD_TEXT_POKE", PERF_RECORD_TEXT_POKE, decode_as<TextPoke>},
    {"PERF_RECORD_AUX_OUTPUT_HW_ID", PERF_RECORD_AUX_OUTPUT_HW_ID, decode_as<AuxOutputHwId>},
    {"PERF_RECORD_CALLCHAIN_DEFERRED", kRecordCallchainDeferred, decode_as<CallchainDeferred>},
};

constexpr bool is_indexed_by_type() {
  for (std::size_t at = 0; at < std::size(kRecordTypes); ++at) {
    if (kRecordTypes[at].type != at + 1) return false;
  }
  return std::variant_size_v<Record> == std::size(kRecordTypes) + 1;
}
static_assert(is_indexed_by_type(), "record_type_of() takes the row of the type");

/// Null for a type that is not known.
const RecordType* record_type_of(std::uint32_t type) {
  return 1 <= type && type <= std::size(kRecordTypes) ? &kRecordTypes[type - 1] : nullptr;
}

using Decoded = Result<Record, DecodeError>;

bool read_header(std::span<const std::byte> record, perf_event_header& header,
                 Decoded& decoded) noexcept {
  DecodeError error{.reason = DecodeError::Reason::kTooShort,
                    .record_type = 0,
                    .field = "header",
                    .offset = 0,
                    .needed = sizeof(header),
                    .left = record.size()};
  if (record.size() >= sizeof(header)) {
    std::memcpy(&header, record.data(), sizeof(header));
    if (header.size == record.size()) [[likely]]
      return true;
    error.reason = DecodeError::Reason::kWrongSize;
    error.record_type = header.type;
    error.needed = header.size;
  }
  decoded = error;
  return false;
}

}  // namespace

std::string_view record_name(std::uint32_t type) {
  const RecordType* known = record_type_of(type);
  return known != nullptr ? known->name : std::string_view{};
}

Decoded decode_record(const SampleLayout& layout, std::span<const std::byte> record) noexcept {
  // A Record is large: it is filled where it is, and returned by this one statement at the end, so
  // that no compiler copies it.
  Decoded decoded(std::in_place);
  perf_event_header header;
  if (read_header(record, header, decoded)) {
    const RecordMisc misc{header.misc};
    const RecordType* type = record_type_of(header.type);
    ByteReader reader(record, sizeof(header));
    if (type == nullptr) {
      *decoded = Unknown{misc, header.type, record.subspan(sizeof(header))};
    } else if (!type->decode(reader, layout, misc, *decoded)) {
      decoded = reader.error(header.type);
    }
  }
  return decoded;
}

std::uint32_t type_of(const Record& record) {
  const auto* unknown = std::get_if<Unknown>(&record);
  // The alternatives of Record are in the order of their types.
  return unknown != nullptr ? unknown->type : static_cast<std::uint32_t>(record.index());
}

RecordMisc misc_of(const Record& record) {
  return std::visit([](const auto& value) { return value.misc; }, record);
}

const SampleId* sample_id_of(const Record& record) {
  return std::visit(
      [](const auto& value) -> const SampleId* {
        if constexpr (requires { value.sample_id; }) {
          return &value.sample_id;
        } else {
          return nullptr;
        }
      },
      record);
}

}  // namespace pex::perf
