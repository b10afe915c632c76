#include <linux/perf_event.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "abi/record/record.h"
#include "support/record_encoder.h"
#include "support/record_layout.h"
#include "support/record_views.h"
#include "support/test_headers.h"
#include "support/timed_property.h"

namespace pex::perf {
namespace {

using std::chrono::nanoseconds;
using test::Bytes;
using test::EncodedCounter;
using test::EncodedReading;
using test::EncodedRegisters;
using test::EncodedSample;
using test::layout_of;
using test::RecordEncoder;
using test::ViewCheck;

constexpr std::uint64_t kSampleTypes = (std::uint64_t{1} << 25) - 1;
constexpr std::uint64_t kReadFormats = (1u << 5) - 1;
constexpr std::uint64_t kBranchOptions = (1u << 20) - 1;
constexpr std::uint64_t kBothWeights = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

// Sizes grow from case to case, words do not: all of their bits are in use in every case.
std::uint64_t any_word() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}
/// Half of the bits, or few of them.
std::uint64_t any_bits(std::uint64_t mask) {
  const std::uint64_t bits = any_word() & mask;
  return *rc::gen::arbitrary<bool>() ? bits : bits & any_word() & any_word();
}
std::uint32_t any_half() { return *rc::gen::arbitrary<std::uint32_t>(); }
std::size_t below(std::size_t limit) { return *rc::gen::inRange<std::size_t>(0, limit); }

/// Any that the kernel accepts.
SampleFormat any_format() {
  SampleFormat format;
  format.sample_type = any_bits(kSampleTypes);
  if ((format.sample_type & kBothWeights) == kBothWeights) {
    format.sample_type &= ~std::uint64_t{PERF_SAMPLE_WEIGHT};
  }
  format.read_format = any_bits(kReadFormats);
  format.branch_sample_type = any_bits(kBranchOptions);
  format.sample_regs_user = any_bits(UINT64_MAX);
  format.sample_regs_intr = any_bits(UINT64_MAX);
  format.sample_id_all = *rc::gen::arbitrary<bool>();
  return format;
}

std::vector<std::uint64_t> any_words(std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = any_word();
  return words;
}

/// With any bytes, zero bytes included.
std::string any_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = *rc::gen::arbitrary<char>();
  return bytes;
}

EncodedReading any_reading() {
  EncodedReading reading{any_word(), any_word(), {}};
  for (std::size_t n = 1 + below(6); n > 0; --n) {
    reading.counters.push_back({any_word(), any_word(), any_word()});
  }
  return reading;
}

EncodedRegisters any_registers(std::uint64_t mask) {
  EncodedRegisters registers;
  registers.abi = below(3);
  if (registers.abi != PERF_SAMPLE_REGS_ABI_NONE) {
    registers.values = any_words(static_cast<std::size_t>(std::popcount(mask)));
  }
  return registers;
}

EncodedSample any_sample(const SampleFormat& format) {
  EncodedSample s;
  s.id = any_word();
  s.ip = any_word();
  s.pid = any_half();
  s.tid = any_half();
  s.time = any_word();
  s.addr = any_word();
  s.stream_id = any_word();
  s.cpu = any_half();
  s.period = any_word();
  s.reading = any_reading();
  s.callchain = any_words(below(20));
  s.raw = any_bytes(below(40));
  s.hw_idx = any_word();
  const std::size_t branches = below(5);
  for (std::size_t n = 0; n < branches; ++n) {
    s.branches.push_back({any_word(), any_word(), any_word()});
  }
  s.branch_counters = any_words(branches);
  s.user_registers = any_registers(format.sample_regs_user);
  const bool is_in_user_space = s.user_registers.abi != PERF_SAMPLE_REGS_ABI_NONE;
  s.stack = any_bytes(8 * (is_in_user_space ? 1 + below(3) : below(4)));
  s.dyn_size = any_word();
  s.weight = any_word();
  s.data_src = any_word();
  s.transaction = any_word();
  s.interrupt_registers = any_registers(format.sample_regs_intr);
  s.phys_addr = any_word();
  s.cgroup = any_word();
  s.data_page_size = any_word();
  s.code_page_size = any_word();
  s.aux = any_bytes(8 * below(4));
  return s;
}

template <typename T>
std::vector<T> elements(const PackedSpan<T>& span) {
  return {span.begin(), span.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What is expected of a field: a value if sample_type has its bit.
template <typename T>
std::optional<T> if_asked(const SampleFormat& format, std::uint64_t bit, T value) {
  return (format.sample_type & bit) != 0 ? std::optional<T>(std::move(value)) : std::nullopt;
}

void compare_values(const ReadValues& values, std::uint64_t format, const EncodedReading& reading) {
  const auto has = [&](std::uint64_t bit) { return (format & bit) != 0; };
  RC_ASSERT(values.state == ReadValues::State::kCounting);
  RC_ASSERT(values.time_enabled.has_value() == has(PERF_FORMAT_TOTAL_TIME_ENABLED));
  RC_ASSERT(values.time_running.has_value() == has(PERF_FORMAT_TOTAL_TIME_RUNNING));
  if (values.time_enabled) RC_ASSERT(*values.time_enabled == nanoseconds{reading.time_enabled});
  if (values.time_running) RC_ASSERT(*values.time_running == nanoseconds{reading.time_running});
  const std::size_t counters = has(PERF_FORMAT_GROUP) ? reading.counters.size() : 1;
  RC_ASSERT(values.counters.size() == counters);
  for (std::size_t at = 0; at < counters; ++at) {
    const EncodedCounter& expected = reading.counters[at];
    const CounterValue counter = values.counters[at];
    RC_ASSERT(counter.value == expected.value);
    RC_ASSERT(counter.id.has_value() == has(PERF_FORMAT_ID));
    RC_ASSERT(counter.id.value_or(expected.id) == expected.id);
    RC_ASSERT(counter.lost.has_value() == has(PERF_FORMAT_LOST));
    RC_ASSERT(counter.lost.value_or(expected.lost) == expected.lost);
  }
}

void compare_numbers(const Sample& sample, const SampleFormat& f, const EncodedSample& s) {
  RC_ASSERT(sample.identifier == if_asked(f, PERF_SAMPLE_IDENTIFIER, s.id));
  RC_ASSERT(sample.ip == if_asked(f, PERF_SAMPLE_IP, s.ip));
  RC_ASSERT(sample.task == if_asked(f, PERF_SAMPLE_TID, TaskId{s.pid, s.tid}));
  RC_ASSERT(sample.time == if_asked(f, PERF_SAMPLE_TIME, nanoseconds{s.time}));
  RC_ASSERT(sample.address == if_asked(f, PERF_SAMPLE_ADDR, s.addr));
  RC_ASSERT(sample.id == if_asked(f, PERF_SAMPLE_ID, s.id));
  RC_ASSERT(sample.stream_id == if_asked(f, PERF_SAMPLE_STREAM_ID, s.stream_id));
  RC_ASSERT(sample.cpu == if_asked(f, PERF_SAMPLE_CPU, s.cpu));
  RC_ASSERT(sample.period == if_asked(f, PERF_SAMPLE_PERIOD, s.period));
  RC_ASSERT(sample.weight == if_asked(f, PERF_SAMPLE_WEIGHT, s.weight));
  const WeightParts parts{static_cast<std::uint32_t>(s.weight),
                          static_cast<std::uint16_t>(s.weight >> 32),
                          static_cast<std::uint16_t>(s.weight >> 48)};
  RC_ASSERT(sample.weight_parts == if_asked(f, PERF_SAMPLE_WEIGHT_STRUCT, parts));
  RC_ASSERT(sample.data_source == if_asked(f, PERF_SAMPLE_DATA_SRC, DataSource{s.data_src}));
  RC_ASSERT(sample.transaction == if_asked(f, PERF_SAMPLE_TRANSACTION, Transaction{s.transaction}));
  RC_ASSERT(sample.physical_address == if_asked(f, PERF_SAMPLE_PHYS_ADDR, s.phys_addr));
  RC_ASSERT(sample.cgroup == if_asked(f, PERF_SAMPLE_CGROUP, s.cgroup));
  RC_ASSERT(sample.data_page_size == if_asked(f, PERF_SAMPLE_DATA_PAGE_SIZE, s.data_page_size));
  RC_ASSERT(sample.code_page_size == if_asked(f, PERF_SAMPLE_CODE_PAGE_SIZE, s.code_page_size));
}

void compare_registers(const std::optional<Registers>& registers, bool asked, std::uint64_t mask,
                       const EncodedRegisters& expected) {
  RC_ASSERT(registers.has_value() == asked);
  if (!asked) return;
  RC_ASSERT(std::uint64_t(registers->abi) == expected.abi);
  RC_ASSERT(registers->mask == mask);
  RC_ASSERT(elements(registers->values) == expected.values);
}

void compare_branches(const Sample& sample, const SampleFormat& format, const EncodedSample& s) {
  RC_ASSERT(sample.branches.has_value() == ((format.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0));
  if (!sample.branches) return;
  const auto has = [&](std::uint64_t bit) { return (format.branch_sample_type & bit) != 0; };
  RC_ASSERT(sample.branches->hw_index ==
            (has(PERF_SAMPLE_BRANCH_HW_INDEX) ? std::optional(s.hw_idx) : std::nullopt));
  std::vector<BranchEntry> entries;
  for (const auto& [from, to, flags] : s.branches) entries.push_back({from, to, flags});
  RC_ASSERT(elements(sample.branches->entries) == entries);
  RC_ASSERT(elements(sample.branches->counters) ==
            (has(kBranchCounters) ? s.branch_counters : std::vector<std::uint64_t>()));
}

void compare_arrays(const Sample& sample, const SampleFormat& format, const EncodedSample& s) {
  const auto has = [&](std::uint64_t bit) { return (format.sample_type & bit) != 0; };
  RC_ASSERT(sample.values.has_value() == has(PERF_SAMPLE_READ));
  if (sample.values) compare_values(*sample.values, format.read_format, s.reading);
  RC_ASSERT(sample.callchain.has_value() == has(PERF_SAMPLE_CALLCHAIN));
  if (sample.callchain) RC_ASSERT(elements(*sample.callchain) == s.callchain);
  RC_ASSERT(sample.raw.has_value() == has(PERF_SAMPLE_RAW));
  if (sample.raw) RC_ASSERT(text_of(*sample.raw).substr(0, s.raw.size()) == s.raw);
  RC_ASSERT(sample.user_stack.has_value() == has(PERF_SAMPLE_STACK_USER));
  if (sample.user_stack) {
    RC_ASSERT(text_of(sample.user_stack->bytes) == s.stack);
    RC_ASSERT(sample.user_stack->valid == (s.stack.empty() ? 0 : s.dyn_size));
  }
  RC_ASSERT(sample.aux.has_value() == has(PERF_SAMPLE_AUX));
  if (sample.aux) RC_ASSERT(text_of(*sample.aux) == s.aux);
}

/// In memory of exactly its size, so that a sanitizer sees each byte that is read beyond.
class ExactBuffer {
 public:
  explicit ExactBuffer(std::span<const std::byte> bytes)
      : size_(bytes.size()), bytes_(std::make_unique<std::byte[]>(size_)) {
    if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }

  /// Makes a record that says so of itself.
  void set_header_size() {
    const auto size = static_cast<std::uint16_t>(size_);
    if (size_ >= sizeof(perf_event_header)) std::memcpy(bytes_.get() + 6, &size, sizeof(size));
  }

  std::span<const std::byte> span() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

/// What decodes must view nothing but the record.
bool is_harmless(const SampleLayout& layout, std::span<const std::byte> record) {
  const auto decoded = decode_record(layout, record);
  return !decoded || ViewCheck(record)(*decoded);
}

void round_trip_a_sample() {
  const SampleFormat format = any_format();
  const EncodedSample s = any_sample(format);
  const auto misc = *rc::gen::arbitrary<std::uint16_t>();
  const ExactBuffer record(RecordEncoder(PERF_RECORD_SAMPLE, misc).sample(format, s).record());

  const auto decoded = decode_record(layout_of(format), record.span());

  if (!decoded) RC_FAIL(describe(decoded.error()));
  const Sample& sample = std::get<Sample>(*decoded);
  RC_ASSERT(sample.misc.bits == misc);
  compare_numbers(sample, format, s);
  compare_arrays(sample, format, s);
  compare_branches(sample, format, s);
  compare_registers(sample.user_registers, (format.sample_type & PERF_SAMPLE_REGS_USER) != 0,
                    format.sample_regs_user, s.user_registers);
  compare_registers(sample.interrupt_registers, (format.sample_type & PERF_SAMPLE_REGS_INTR) != 0,
                    format.sample_regs_intr, s.interrupt_registers);
  RC_ASSERT(ViewCheck(record.span())(*decoded));
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, ASampleOfAnyFormatRoundTrips) {
  for (int n = 0; n < 20; ++n) round_trip_a_sample();
}

/// An empty stack may be without its index, and only the size of the record shows which.
void add_a_branch_if_there_is_none(EncodedSample& s) {
  if (!s.branches.empty()) return;
  s.branches = {{1, 2, 3}};
  s.branch_counters = {4};
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, BytesAfterASampleAreNoPartOfIt) {
  const SampleFormat format = any_format();
  EncodedSample s = any_sample(format);
  add_a_branch_if_there_is_none(s);
  const std::vector<std::uint64_t> more = any_words(1 + below(4));
  const ExactBuffer record(
      RecordEncoder(PERF_RECORD_SAMPLE).sample(format, s).words(more).record());

  const auto decoded = decode_record(layout_of(format), record.span());

  if (!decoded) RC_FAIL(describe(decoded.error()));
  const Sample& sample = std::get<Sample>(*decoded);
  compare_numbers(sample, format, s);
  compare_arrays(sample, format, s);
  compare_branches(sample, format, s);
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, TheSampleIdOfAnyFormatRoundTrips) {
  const SampleFormat format = any_format();
  const EncodedSample s = any_sample(format);
  const Bytes record = RecordEncoder(PERF_RECORD_LOST_SAMPLES).u64(7).sample_id(format, s).record();
  SampleFormat asked = format;
  if (!format.sample_id_all) asked.sample_type = 0;

  const auto decoded = decode_record(layout_of(format), record);

  if (!decoded) RC_FAIL(describe(decoded.error()));
  const LostSamples& lost = std::get<LostSamples>(*decoded);
  RC_ASSERT(lost.lost == 7u);
  RC_ASSERT(lost.sample_id.task == if_asked(asked, PERF_SAMPLE_TID, TaskId{s.pid, s.tid}));
  RC_ASSERT(lost.sample_id.time == if_asked(asked, PERF_SAMPLE_TIME, nanoseconds{s.time}));
  RC_ASSERT(lost.sample_id.id == if_asked(asked, PERF_SAMPLE_ID, s.id));
  RC_ASSERT(lost.sample_id.stream_id == if_asked(asked, PERF_SAMPLE_STREAM_ID, s.stream_id));
  RC_ASSERT(lost.sample_id.cpu == if_asked(asked, PERF_SAMPLE_CPU, s.cpu));
  RC_ASSERT(lost.sample_id.identifier == if_asked(asked, PERF_SAMPLE_IDENTIFIER, s.id));
}

RC_GTEST_PROP(RecordPropertiesTest, AReadingOfAnyFormatRoundTrips, ()) {
  const std::uint64_t format = any_word() & kReadFormats;
  const EncodedReading reading = any_reading();
  const ExactBuffer buffer(RecordEncoder().reading(format, reading).body());

  const auto values = decode_values(*ReadLayout::of(format), buffer.span());

  RC_ASSERT(values.has_value());
  compare_values(*values, format, reading);
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, EveryTruncationOfASampleIsRefused) {
  const SampleFormat format = any_format();
  EncodedSample s = any_sample(format);
  add_a_branch_if_there_is_none(s);
  const Bytes whole = RecordEncoder(PERF_RECORD_SAMPLE).sample(format, s).record();
  const SampleLayout layout = layout_of(format);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    ExactBuffer cut{std::span(whole).first(size)};
    RC_ASSERT_FALSE(decode_record(layout, cut.span()).has_value());
    cut.set_header_size();
    RC_ASSERT_FALSE(decode_record(layout, cut.span()).has_value());
  }
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, EveryTruncationOfEachTypeIsRefused) {
  const SampleFormat format = any_format();
  const SampleLayout layout = layout_of(format);

  for (const auto& [type, whole] : test::one_record_of_each_type(format)) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ExactBuffer cut{std::span(whole).first(size)};
      RC_ASSERT_FALSE(decode_record(layout, cut.span()).has_value());
      cut.set_header_size();
      RC_ASSERT(is_harmless(layout, cut.span()));
      // The kernel pads all records to words, so that half of the last one can be padding.
      if (size % 8 == 0) RC_ASSERT_FALSE(decode_record(layout, cut.span()).has_value());
    }
  }
}

PEX_TIMED_PROPERTY(RecordPropertiesTest, HugeNumbersInAnyPlaceAreHarmless) {
  const SampleFormat format = any_format();
  const SampleLayout layout = layout_of(format);
  const std::uint64_t huge =
      *rc::gen::element(UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 61, std::uint64_t{1} << 60,
                        UINT64_MAX / 24 + 1, std::uint64_t{1} << 32, std::uint64_t{0xffff});

  for (const auto& [type, whole] : test::one_record_of_each_type(format)) {
    for (std::size_t at = sizeof(perf_event_header); at + 8 <= whole.size(); at += 4) {
      Bytes changed = whole;
      std::memcpy(changed.data() + at, &huge, sizeof(huge));
      const ExactBuffer record(changed);
      RC_ASSERT(is_harmless(layout, record.span()));
    }
  }
}

RC_GTEST_PROP(RecordPropertiesTest, AnyBytesAreHarmless, ()) {
  const SampleLayout layout = layout_of(any_format());
  auto bytes = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  bytes.resize(std::max<std::size_t>(bytes.size(), sizeof(perf_event_header)));
  const std::uint32_t type = *rc::gen::inRange<std::uint32_t>(0, 25);
  std::memcpy(bytes.data(), &type, sizeof(type));
  ExactBuffer record(std::as_bytes(std::span(bytes)));
  record.set_header_size();

  RC_ASSERT(is_harmless(layout, record.span()));
  layout.event_id(record.span());
}

RC_GTEST_PROP(RecordPropertiesTest, AFormatWithAnyUnknownBitIsRefused, ()) {
  SampleFormat format = any_format();
  switch (below(3)) {
    case 0:
      format.sample_type |= std::uint64_t{1} << *rc::gen::inRange(25, 64);
      break;
    case 1:
      format.branch_sample_type |= std::uint64_t{1} << *rc::gen::inRange(20, 64);
      break;
    default:
      format.read_format |= std::uint64_t{1} << *rc::gen::inRange(5, 64);
  }

  RC_ASSERT(SampleLayout::of(format).error().code == EOPNOTSUPP);
}

}  // namespace
}  // namespace pex::perf
