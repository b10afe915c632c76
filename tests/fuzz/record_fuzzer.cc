#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "abi/record/record.h"
#include "fuzz/fuzzing.h"
#include "support/record_views.h"

namespace {

using pex::fuzz::require;

/// Five words and a byte: the format of the event. The rest is the record. corpus/record has such
/// files, made by RecordCorpusTest.
constexpr std::size_t kFormatSize = 5 * sizeof(std::uint64_t) + 1;
constexpr std::uint8_t kSampleIdAll = 1;
constexpr std::uint8_t kAnySize = 2;  ///< the size in the header is as it is, not the record's

pex::perf::SampleFormat read_format(const std::uint8_t* data) {
  std::uint64_t words[5];
  std::memcpy(words, data, sizeof(words));
  return {.sample_type = words[0],
          .read_format = words[1],
          .branch_sample_type = words[2],
          .sample_regs_user = words[3],
          .sample_regs_intr = words[4],
          .sample_id_all = (data[sizeof(words)] & kSampleIdAll) != 0};
}

std::vector<std::byte> read_record(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data + kFormatSize, size - kFormatSize));
  std::vector<std::byte> record(bytes.begin(), bytes.end());
  const auto record_size = static_cast<std::uint16_t>(record.size());
  constexpr std::size_t kSizeAt = 6;
  const bool has_size = record.size() >= kSizeAt + sizeof(record_size);
  if (has_size && (data[kFormatSize - 1] & kAnySize) == 0) {
    std::memcpy(record.data() + kSizeAt, &record_size, sizeof(record_size));
  }
  return record;
}

}  // namespace

/// A record of any format views nothing but itself, or is an error with its place.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kFormatSize) return 0;
  const auto layout = pex::perf::SampleLayout::of(read_format(data));
  if (!layout) {
    require(!layout.error().attempted.empty() && !layout.error().remedy.empty());
    return 0;
  }
  const std::vector<std::byte> record = read_record(data, size);

  const auto decoded = pex::perf::decode_record(*layout, record);
  (void)layout->event_id(record);
  const auto values = pex::perf::decode_values(layout->read_layout(), record);

  if (decoded) {
    require(pex::test::ViewCheck(record)(*decoded));
  } else {
    require(decoded.error().offset <= record.size());
    require(decoded.error().left <= record.size());
    require(!describe(decoded.error()).empty());
  }
  if (values) require(values->counters.size() <= record.size() / sizeof(std::uint64_t));
  return 0;
}
