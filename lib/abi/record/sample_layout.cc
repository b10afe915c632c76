#include "abi/record/sample_layout.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>

#include "abi/record/unknown_bits.h"

namespace pex::perf {
namespace {

/// The name of a field as an argument of a template.
template <std::size_t N>
struct FieldName {
  consteval FieldName(const char (&name)[N]) { std::copy_n(name, N, text); }
  char text[N];
};

/// A field of 8 bytes that is a number or made of one.
template <FieldName Name, auto Member>
bool decode_word(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint64_t word = 0;
  if (!reader.read({Name.text, sizeof(Name.text) - 1}, word)) return false;
  (sample.*Member).emplace(word);
  return true;
}

template <FieldName Name, auto Member>
bool decode_id_word(ByteReader& reader, SampleId& id) noexcept {
  std::uint64_t word = 0;
  if (!reader.read({Name.text, sizeof(Name.text) - 1}, word)) return false;
  (id.*Member).emplace(word);
  return true;
}

bool read_task(ByteReader& reader, std::optional<TaskId>& task) noexcept {
  TaskId& id = task.emplace();
  return reader.read("pid", id.pid) && reader.read("tid", id.tid);
}

bool decode_task(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  return read_task(reader, sample.task);
}

bool decode_id_task(ByteReader& reader, SampleId& id) noexcept {
  return read_task(reader, id.task);
}

bool read_cpu(ByteReader& reader, std::optional<std::uint32_t>& cpu) noexcept {
  std::uint32_t reserved = 0;
  return reader.read("cpu", cpu.emplace()) && reader.read("res", reserved);
}

bool decode_cpu(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  return read_cpu(reader, sample.cpu);
}

bool decode_id_cpu(ByteReader& reader, SampleId& id) noexcept { return read_cpu(reader, id.cpu); }

bool decode_read(ByteReader& reader, const SampleLayout& layout, Sample& sample) noexcept {
  return decode_values(reader, layout.read_layout(), sample.values.emplace());
}

bool decode_callchain(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint64_t nr = 0;
  return reader.read("nr of the callchain", nr) &&
         reader.read_array("callchain", nr, sample.callchain.emplace());
}

bool decode_raw(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint32_t size = 0;
  return reader.read("size of raw", size) && reader.read_bytes("raw", size, sample.raw.emplace());
}

bool decode_branches(ByteReader& reader, const SampleLayout& layout, Sample& sample) noexcept {
  BranchStack& stack = sample.branches.emplace();
  std::uint64_t nr = 0;
  if (!reader.read("nr of branches", nr)) return false;
  if (layout.has_branch_hw_index() && !reader.read("hw_idx", stack.hw_index.emplace())) {
    return false;
  }
  if (!reader.read_array("branches", nr, stack.entries)) return false;
  return !layout.has_branch_counters() ||
         reader.read_array("counters of branches", nr, stack.counters);
}

/// If the PMU had no stack for this sample, the kernel writes nr = 0 and no index.
bool decode_empty_branches(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint64_t nr = 0;
  sample.branches.emplace();
  return reader.read("nr of branches", nr) &&
         (nr == 0 || reader.refuse_value("nr of branches", nr));
}

template <std::optional<Registers> Sample::*Member, std::uint64_t SampleFormat::*Mask>
bool decode_registers(ByteReader& reader, const SampleLayout& layout, Sample& sample) noexcept {
  Registers& registers = (sample.*Member).emplace();
  std::uint64_t abi = 0;
  if (!reader.read("abi of registers", abi)) return false;
  registers.abi = RegisterAbi{abi};
  registers.mask = layout.format().*Mask;
  switch (registers.abi) {
    case RegisterAbi::kNone:
      return true;
    case RegisterAbi::k32:
    case RegisterAbi::k64:
      return reader.read_array(
          "registers", static_cast<std::uint64_t>(std::popcount(registers.mask)), registers.values);
  }
  return reader.refuse_value("abi of registers", abi);
}

/// A task of user space has no stack pointer while it executes a program. The kernel has room for
/// the size 0 only then, and still writes a second one, of what could be read: all fields after it
/// are 8 bytes too far, and the last one is lost (perf_prepare_sample() and
/// perf_output_sample_ustack() in kernel/events/core.c, Linux 3.7 to 6.18).
bool is_miswritten(const ByteReader& reader, const Sample& sample) noexcept {
  const bool is_in_user_space =
      sample.user_registers && sample.user_registers->abi != RegisterAbi::kNone;
  return is_in_user_space && reader.left() > 0;
}

bool decode_user_stack(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  StackDump& stack = sample.user_stack.emplace();
  std::uint64_t size = 0;
  if (!reader.read("size of the stack", size)) return false;
  if (size == 0) {  // else a kernel thread: without the size that could be read
    return !is_miswritten(reader, sample) || reader.refuse_shifted("the field after the stack");
  }
  return reader.read_bytes("stack", size, stack.bytes) && reader.read("dyn_size", stack.valid);
}

bool decode_weight_parts(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint64_t full = 0;
  if (!reader.read("weight", full)) return false;
  // var1 is the lower half on machines of both byte orders.
  sample.weight_parts = WeightParts{.var1 = static_cast<std::uint32_t>(full),
                                    .var2 = static_cast<std::uint16_t>(full >> 32),
                                    .var3 = static_cast<std::uint16_t>(full >> 48)};
  return true;
}

bool decode_data_source(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  return reader.read("data_src", sample.data_source.emplace().value);
}

bool decode_transaction(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  return reader.read("transaction", sample.transaction.emplace().value);
}

bool decode_aux(ByteReader& reader, const SampleLayout&, Sample& sample) noexcept {
  std::uint64_t size = 0;
  return reader.read("size of aux", size) && reader.read_bytes("aux", size, sample.aux.emplace());
}

/// kernel/events/core.c, perf_output_sample().
constexpr SampleField kSampleFields[] = {
    {{"PERF_SAMPLE_IDENTIFIER", "3.12"},
     PERF_SAMPLE_IDENTIFIER,
     decode_word<"identifier", &Sample::identifier>,
     decode_id_word<"identifier", &SampleId::identifier>},
    {{"PERF_SAMPLE_IP", "2.6.31"}, PERF_SAMPLE_IP, decode_word<"ip", &Sample::ip>},
    {{"PERF_SAMPLE_TID", "2.6.31"}, PERF_SAMPLE_TID, decode_task, decode_id_task},
    {{"PERF_SAMPLE_TIME", "2.6.31"},
     PERF_SAMPLE_TIME,
     decode_word<"time", &Sample::time>,
     decode_id_word<"time", &SampleId::time>},
    {{"PERF_SAMPLE_ADDR", "2.6.31"}, PERF_SAMPLE_ADDR, decode_word<"addr", &Sample::address>},
    {{"PERF_SAMPLE_ID", "2.6.31"},
     PERF_SAMPLE_ID,
     decode_word<"id", &Sample::id>,
     decode_id_word<"id", &SampleId::id>},
    {{"PERF_SAMPLE_STREAM_ID", "2.6.31"},
     PERF_SAMPLE_STREAM_ID,
     decode_word<"stream_id", &Sample::stream_id>,
     decode_id_word<"stream_id", &SampleId::stream_id>},
    {{"PERF_SAMPLE_CPU", "2.6.31"}, PERF_SAMPLE_CPU, decode_cpu, decode_id_cpu},
    {{"PERF_SAMPLE_PERIOD", "2.6.31"}, PERF_SAMPLE_PERIOD, decode_word<"period", &Sample::period>},
    {{"PERF_SAMPLE_READ", "2.6.31"}, PERF_SAMPLE_READ, decode_read},
    {{"PERF_SAMPLE_CALLCHAIN", "2.6.31"}, PERF_SAMPLE_CALLCHAIN, decode_callchain},
    {{"PERF_SAMPLE_RAW", "2.6.31"}, PERF_SAMPLE_RAW, decode_raw},
    {{"PERF_SAMPLE_BRANCH_STACK", "3.4"}, PERF_SAMPLE_BRANCH_STACK, decode_branches},
    {{"PERF_SAMPLE_REGS_USER", "3.7"},
     PERF_SAMPLE_REGS_USER,
     decode_registers<&Sample::user_registers, &SampleFormat::sample_regs_user>},
    {{"PERF_SAMPLE_STACK_USER", "3.7"}, PERF_SAMPLE_STACK_USER, decode_user_stack},
    {{"PERF_SAMPLE_WEIGHT", "3.10"}, PERF_SAMPLE_WEIGHT, decode_word<"weight", &Sample::weight>},
    {{"PERF_SAMPLE_WEIGHT_STRUCT", "5.12"}, PERF_SAMPLE_WEIGHT_STRUCT, decode_weight_parts},
    {{"PERF_SAMPLE_DATA_SRC", "3.10"}, PERF_SAMPLE_DATA_SRC, decode_data_source},
    {{"PERF_SAMPLE_TRANSACTION", "3.13"}, PERF_SAMPLE_TRANSACTION, decode_transaction},
    {{"PERF_SAMPLE_REGS_INTR", "3.19"},
     PERF_SAMPLE_REGS_INTR,
     decode_registers<&Sample::interrupt_registers, &SampleFormat::sample_regs_intr>},
    {{"PERF_SAMPLE_PHYS_ADDR", "4.14"},
     PERF_SAMPLE_PHYS_ADDR,
     decode_word<"phys_addr", &Sample::physical_address>},
    {{"PERF_SAMPLE_CGROUP", "5.7"}, PERF_SAMPLE_CGROUP, decode_word<"cgroup", &Sample::cgroup>},
    {{"PERF_SAMPLE_DATA_PAGE_SIZE", "5.11"},
     PERF_SAMPLE_DATA_PAGE_SIZE,
     decode_word<"data_page_size", &Sample::data_page_size>},
    {{"PERF_SAMPLE_CODE_PAGE_SIZE", "5.11"},
     PERF_SAMPLE_CODE_PAGE_SIZE,
     decode_word<"code_page_size", &Sample::code_page_size>},
    {{"PERF_SAMPLE_AUX", "5.5"}, PERF_SAMPLE_AUX, decode_aux},
};

constexpr std::uint64_t bits_of(const auto& table) {
  std::uint64_t bits = 0;
  for (const auto& entry : table) bits |= entry.bit;
  return bits;
}

constexpr std::uint64_t kKnownFields = bits_of(kSampleFields);
static_assert(kKnownFields == (1u << 25) - 1, "each bit of sample_type has its row");
constexpr std::uint64_t kWeights = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

constexpr std::size_t kHeader = sizeof(perf_event_header);
constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

std::span<const SampleField> sample_fields() { return kSampleFields; }

Result<SampleLayout> SampleLayout::of(const SampleFormat& format) {
  if ((format.sample_type & ~kKnownFields) != 0) {
    return unknown_bits("sample_type", format.sample_type, kKnownFields);
  }
  if ((format.sample_type & kWeights) == kWeights) {
    return Error{EINVAL, "decode records of sample_type " + hexadecimal(format.sample_type),
                 "set one of PERF_SAMPLE_WEIGHT and PERF_SAMPLE_WEIGHT_STRUCT"};
  }
  const std::uint64_t known_options = bits_of(branch_options());
  if ((format.branch_sample_type & ~known_options) != 0) {
    return unknown_bits("branch_sample_type", format.branch_sample_type, known_options);
  }
  Result<ReadLayout> read = ReadLayout::of(format.read_format);
  if (!read) return std::move(read.error());
  SampleLayout layout;
  layout.format_ = format;
  layout.read_ = *read;
  for (const BranchOption& option : branch_options()) {
    if ((format.branch_sample_type & option.bit) == 0) continue;
    layout.branch_hw_index_ |= option.adds == BranchOption::Adds::kHwIndex;
    layout.branch_counters_ |= option.adds == BranchOption::Adds::kCounters;
  }
  for (const SampleField& field : kSampleFields) {
    if ((format.sample_type & field.bit) != 0) layout.add(field);
  }
  // The order in a SampleId is the same, except that IDENTIFIER is last.
  if ((format.sample_type & PERF_SAMPLE_IDENTIFIER) != 0 && format.sample_id_all) {
    std::rotate(layout.decode_id_.begin(), layout.decode_id_.begin() + 1,
                layout.decode_id_.begin() + layout.id_fields_);
  }
  layout.find_event_id();
  return layout;
}

void SampleLayout::add(const SampleField& field) {
  decode_[fields_++] = field.decode;
  if (field.decode_id == nullptr || !format_.sample_id_all) return;
  decode_id_[id_fields_++] = field.decode_id;
  sample_id_size_ += kWord;
}

void SampleLayout::find_event_id() {
  const std::uint64_t wanted =
      (format_.sample_type & PERF_SAMPLE_IDENTIFIER) != 0 ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
  if ((format_.sample_type & wanted) == 0) return;
  std::size_t before = 0;
  std::size_t after_in_id = 0;
  bool passed = false;
  for (const SampleField& field : kSampleFields) {
    if ((format_.sample_type & field.bit) == 0) continue;
    if (field.bit == wanted) {
      passed = true;
      continue;
    }
    if (!passed) before += kWord;  // all fields before PERF_SAMPLE_ID are of 8 bytes
    if (passed && field.decode_id != nullptr) after_in_id += kWord;
  }
  if (wanted == PERF_SAMPLE_IDENTIFIER) after_in_id = 0;
  id_in_sample_ = static_cast<std::uint8_t>(kHeader + before);
  if (format_.sample_id_all) id_from_end_ = static_cast<std::uint8_t>(after_in_id + kWord);
}

/// Bytes after the last field belong to another event (do_perf_sw_event() in kernel/events/core.c).
bool SampleLayout::decode(ByteReader& reader, Sample& sample) const noexcept {
  const ByteReader start = reader;
  for (std::size_t at = 0; at < fields_; ++at) {
    if (!decode_[at](reader, *this, sample)) return decode_without_index(start, reader, sample);
  }
  return !may_lack_index(sample) || reader.expect_end("the sample") ||
         decode_without_index(start, reader, sample);
}

/// An empty branch stack may be without its index, and only the record's size shows which.
bool SampleLayout::may_lack_index(const Sample& sample) const noexcept {
  return branch_hw_index_ && sample.branches && sample.branches->entries.empty();
}

/// The reader keeps its error unless the record has no index.
bool SampleLayout::decode_without_index(const ByteReader& start, ByteReader& reader,
                                        Sample& sample) const noexcept {
  if (!may_lack_index(sample)) return false;
  ByteReader again = start;
  for (std::size_t at = 0; at < fields_; ++at) {
    const bool is_stack = decode_[at] == decode_branches;
    const SampleField::Decode function = is_stack ? decode_empty_branches : decode_[at];
    if (!function(again, *this, sample)) return false;
  }
  if (!again.expect_end("the sample")) return false;
  reader = again;
  return true;
}

bool SampleLayout::decode(ByteReader& reader, SampleId& id) const noexcept {
  for (std::size_t at = 0; at < id_fields_; ++at) {
    if (!decode_id_[at](reader, id)) return false;
  }
  return true;
}

std::optional<std::uint64_t> SampleLayout::event_id(
    std::span<const std::byte> record) const noexcept {
  perf_event_header header;
  if (record.size() < kHeader) return std::nullopt;
  std::memcpy(&header, record.data(), sizeof(header));
  const bool is_sample = header.type == PERF_RECORD_SAMPLE;
  const std::size_t distance = is_sample ? id_in_sample_ : id_from_end_;
  if (distance == 0) return std::nullopt;
  const std::size_t offset = is_sample ? distance : record.size() - distance;
  // Also refuses the offset that wrapped, and one within the header.
  if (offset < kHeader || offset > record.size() || record.size() - offset < kWord) {
    return std::nullopt;
  }
  std::uint64_t id = 0;
  std::memcpy(&id, record.data() + offset, sizeof(id));
  return id;
}

}  // namespace pex::perf
