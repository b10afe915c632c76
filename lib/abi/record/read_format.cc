#include "abi/record/read_format.h"

#include <linux/perf_event.h>

#include "abi/record/unknown_bits.h"

namespace pex::perf {
namespace {

constexpr ReadFormatEntry kReadFormats[] = {
    {{"PERF_FORMAT_TOTAL_TIME_ENABLED", "2.6.31"}, PERF_FORMAT_TOTAL_TIME_ENABLED},
    {{"PERF_FORMAT_TOTAL_TIME_RUNNING", "2.6.31"}, PERF_FORMAT_TOTAL_TIME_RUNNING},
    {{"PERF_FORMAT_ID", "2.6.31"}, PERF_FORMAT_ID},
    {{"PERF_FORMAT_GROUP", "2.6.31"}, PERF_FORMAT_GROUP},
    {{"PERF_FORMAT_LOST", "6.0"}, PERF_FORMAT_LOST},
};

constexpr std::uint8_t kWordSize = sizeof(std::uint64_t);

bool read_times(ByteReader& reader, const ReadLayout& layout, ReadValues& values) noexcept {
  std::uint64_t time = 0;
  if (layout.has_time_enabled) {
    if (!reader.read("time_enabled", time)) return false;
    values.time_enabled.emplace(time);
  }
  if (layout.has_time_running) {
    if (!reader.read("time_running", time)) return false;
    values.time_running.emplace(time);
  }
  return true;
}

bool decode_group(ByteReader& reader, const ReadLayout& layout, ReadValues& values) noexcept {
  std::uint64_t nr = 0;
  if (!reader.read("nr of counters", nr) || !read_times(reader, layout, values)) return false;
  const std::uint8_t stride = layout.words_per_counter * kWordSize;
  const std::uint8_t id_at = layout.has_id ? kWordSize : 0;
  const std::uint8_t lost_at = layout.has_lost ? stride - kWordSize : 0;
  PackedSpan<std::uint64_t> words;
  // nr * words_per_counter may wrap, so the words that fit are compared first.
  const std::uint64_t fit = reader.left() / stride;
  const std::uint64_t count = nr <= fit ? nr * layout.words_per_counter : UINT64_MAX;
  if (!reader.read_array("counters", count, words)) return false;
  values.counters = {words.bytes().data(), static_cast<std::size_t>(nr), stride, id_at, lost_at};
  return true;
}

bool decode_single(ByteReader& reader, const ReadLayout& layout, ReadValues& values) noexcept {
  std::span<const std::byte> value;
  std::uint64_t skipped = 0;
  if (!reader.read_bytes("value", kWordSize, value)) return false;
  const std::size_t left_after_value = reader.left();
  if (!read_times(reader, layout, values)) return false;
  std::uint8_t at = static_cast<std::uint8_t>(kWordSize + left_after_value - reader.left());
  std::uint8_t id_at = 0;
  if (layout.has_id) {
    if (!reader.read("id", skipped)) return false;
    id_at = at;
    at += kWordSize;
  }
  if (layout.has_lost && !reader.read("lost", skipped)) return false;
  const std::uint8_t lost_at = layout.has_lost ? at : 0;
  values.counters = {value.data(), 1, kWordSize, id_at, lost_at};
  return true;
}

}  // namespace

std::span<const ReadFormatEntry> read_formats() { return kReadFormats; }

Result<ReadLayout> ReadLayout::of(std::uint64_t read_format) {
  std::uint64_t known = 0;
  for (const ReadFormatEntry& entry : kReadFormats) known |= entry.bit;
  if ((read_format & ~known) != 0) return unknown_bits("read_format", read_format, known);
  const auto has = [&](std::uint64_t bit) { return (read_format & bit) != 0; };
  ReadLayout layout;
  layout.group = has(PERF_FORMAT_GROUP);
  layout.has_id = has(PERF_FORMAT_ID);
  layout.has_lost = has(PERF_FORMAT_LOST);
  layout.has_time_enabled = has(PERF_FORMAT_TOTAL_TIME_ENABLED);
  layout.has_time_running = has(PERF_FORMAT_TOTAL_TIME_RUNNING);
  layout.words_per_counter = static_cast<std::uint8_t>(1 + layout.has_id + layout.has_lost);
  return layout;
}

bool decode_values(ByteReader& reader, const ReadLayout& layout, ReadValues& values) noexcept {
  return layout.group ? decode_group(reader, layout, values)
                      : decode_single(reader, layout, values);
}

Result<ReadValues, DecodeError> decode_values(const ReadLayout& layout,
                                              std::span<const std::byte> bytes) noexcept {
  ReadValues values;
  if (bytes.empty()) {
    values.state = ReadValues::State::kOffPmu;
    return values;
  }
  ByteReader reader(bytes);
  if (!decode_values(reader, layout, values) || !reader.expect_end("counters")) {
    return reader.error(0);
  }
  return values;
}

}  // namespace pex::perf
