#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "abi/record/abi_entry.h"
#include "abi/record/byte_reader.h"
#include "abi/record/read_format.h"
#include "abi/record/sample.h"
#include "abi/record/sample_format.h"
#include "base/result.h"

namespace pex::perf {

class SampleLayout;

/// A field of a sample. The table of these fields is the decoder: a sample is what their functions
/// read, one after the other, of those fields whose bit sample_type has.
struct SampleField {
  using Decode = bool (*)(ByteReader& reader, const SampleLayout& layout, Sample& sample) noexcept;
  using DecodeId = bool (*)(ByteReader& reader, SampleId& id) noexcept;

  AbiEntry abi;
  std::uint64_t bit;
  Decode decode;
  DecodeId decode_id = nullptr;  ///< null if the field is not a part of SampleId
};

/// All fields, in the order in which they are in a sample. It is not that of their bits.
std::span<const SampleField> sample_fields();

/// Where the fields of an event's records are: made once for the event, then used for each record.
///
/// Example:
///   SampleFormat format;
///   format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP;
///   const Result<SampleLayout> layout = SampleLayout::of(format);
///   if (!layout) std::cerr << describe(layout.error()) << '\n';
class SampleLayout {
 public:
  /// Fails with EOPNOTSUPP if `format` has bits that this library does not know: they may add
  /// fields, and then no record could be decoded. Fails with EINVAL for both kinds of weight, which
  /// the kernel refuses as well.
  static Result<SampleLayout> of(const SampleFormat& format);

  const SampleFormat& format() const noexcept { return format_; }
  const ReadLayout& read_layout() const noexcept { return read_; }
  bool has_branch_hw_index() const noexcept { return branch_hw_index_; }
  bool has_branch_counters() const noexcept { return branch_counters_; }

  /// Reads the fields of a sample after the header. Bytes that follow them are ignored: since Linux
  /// 6.3 a sample of a software event has room for what another event on that CPU, which may be
  /// that of another program, adds to its own sample. Only after an empty branch stack with
  /// PERF_SAMPLE_BRANCH_HW_INDEX are they refused, because the size of the record then decides what
  /// its fields are.
  bool decode(ByteReader& reader, Sample& sample) const noexcept;

  /// Bytes of the SampleId at the end of each record that is no sample; 0 without sample_id_all.
  std::size_t sample_id_size() const noexcept { return sample_id_size_; }
  /// Reads such an end.
  bool decode(ByteReader& reader, SampleId& id) const noexcept;

  /// The id of the event that wrote the record, header included, without decoding the record:
  /// PERF_SAMPLE_IDENTIFIER, else PERF_SAMPLE_ID. With it the layout of each record of a ring is
  /// found that several events of different formats share, if their ids are at the same places:
  /// always so with PERF_SAMPLE_IDENTIFIER. Nothing if the record has no id.
  ///
  /// Since Linux 6.3 it can be the id of another event in a sample of a software event that several
  /// events count on the CPU, those of other programs included: see SwitchRing, which uses the
  /// number of values, or the ids of PERF_FORMAT_ID, instead. Such a sample can also be longer than
  /// its fields.
  std::optional<std::uint64_t> event_id(std::span<const std::byte> record) const noexcept;

 private:
  static constexpr std::size_t kMaxFields = 25;

  SampleLayout() = default;
  void add(const SampleField& field);
  void find_event_id();
  bool may_lack_index(const Sample& sample) const noexcept;
  bool decode_without_index(const ByteReader& start, ByteReader& reader,
                            Sample& sample) const noexcept;

  SampleFormat format_;
  ReadLayout read_;
  bool branch_hw_index_ = false;
  bool branch_counters_ = false;
  std::uint8_t fields_ = 0;
  std::uint8_t id_fields_ = 0;
  std::uint8_t sample_id_size_ = 0;
  std::uint8_t id_in_sample_ = 0;  ///< bytes from the start; 0: no id
  std::uint8_t id_from_end_ = 0;   ///< bytes from the end, of other records; 0: no id
  std::array<SampleField::Decode, kMaxFields> decode_{};
  std::array<SampleField::DecodeId, kMaxFields> decode_id_{};
};

}  // namespace pex::perf
