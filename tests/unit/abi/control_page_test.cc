#include "abi/control_page.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iostream>
#include <limits>

#include "abi/cpu_registers.h"
#include "perf/linux_perf_kernel.h"
#include "perf/ring_buffer.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::perf {
namespace {

using test::FailsWith;
using test::HasError;
using test::Holds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Registers that hold what a test says.
class ScriptedRegisters final : public CpuRegisters {
 public:
  std::optional<std::uint64_t> counter(std::uint32_t index) const override {
    ++reads;
    if (before_read) before_read();
    const auto found = counters.find(index);
    return found == counters.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::uint64_t> clock() const override { return cycles; }

  std::map<std::uint32_t, std::uint64_t> counters;  ///< by the index of a page
  std::optional<std::uint64_t> cycles = 0;
  std::function<void()> before_read;
  mutable int reads = 0;
};

/// A page of an event on counter 3, whose clock has 1 ns a cycle.
perf_event_mmap_page page_of_a_counter() {
  perf_event_mmap_page page{};
  page.lock = 8;
  page.index = 3;
  page.offset = 1000;
  page.cap_bit0_is_deprecated = 1;
  page.cap_user_rdpmc = 1;
  page.cap_user_time = 1;
  page.cap_user_time_zero = 1;
  page.pmc_width = 48;
  page.time_mult = 1;
  return page;
}

ScriptedRegisters registers_with(std::uint64_t counter) {
  ScriptedRegisters registers;
  registers.counters = {{3, counter}};
  return registers;
}

PageResult<std::uint64_t> count_in(const perf_event_mmap_page& page,
                                   const CpuRegisters& registers) {
  const auto snapshot = read_page(page, registers);
  if (!snapshot) return snapshot.error();
  return count_of(*snapshot);
}

PageResult<PageTimes> times_in(const perf_event_mmap_page& page, const CpuRegisters& registers) {
  const auto snapshot = read_page(page, registers);
  if (!snapshot) return snapshot.error();
  return times_of(*snapshot);
}

PageResult<TimeConversion> conversion_in(const perf_event_mmap_page& page) {
  const auto snapshot = read_page(page, ScriptedRegisters{});
  if (!snapshot) return snapshot.error();
  return conversion_of(*snapshot);
}

/// As the comments of include/uapi/linux/perf_event.h have it.
std::uint64_t timestamp_of_the_header(std::uint64_t cycle, std::uint32_t mult, unsigned shift,
                                      std::uint64_t zero) {
  const std::uint64_t quotient = cycle >> shift;
  const std::uint64_t rest = cycle & ((std::uint64_t{1} << shift) - 1);
  return zero + quotient * mult + ((rest * mult) >> shift);
}

// Counts.

TEST(ControlPageTest, ExtendsTheSignOfACounterOfAnyWidth) {
  for (const unsigned width : {1U, 32U, 40U, 48U, 63U, 64U}) {
    perf_event_mmap_page page = page_of_a_counter();
    page.pmc_width = static_cast<std::uint16_t>(width);
    const std::uint64_t valid = ~std::uint64_t{0} >> (64 - width);
    // The kernel starts a counter at minus the period.
    const auto before_overflow = count_in(page, registers_with(~std::uint64_t{0} & valid));
    const auto after_overflow = count_in(page, registers_with(0));

    ASSERT_TRUE(before_overflow && after_overflow);
    EXPECT_EQ(*before_overflow, 999U) << width;
    EXPECT_EQ(*after_overflow, 1000U) << width;
  }
}

TEST(ControlPageTest, IgnoresTheBitsThatACounterDoesNotHave) {
  perf_event_mmap_page page = page_of_a_counter();
  page.pmc_width = 40;

  EXPECT_THAT(count_in(page, registers_with(0xabcdef0000000005)), Holds(1005U));
}

RC_GTEST_PROP(ControlPageTest, AddsOffsetAndCounterModulo64Bits,
              (std::int64_t offset, std::uint64_t counter)) {
  perf_event_mmap_page page = page_of_a_counter();
  page.offset = offset;
  page.pmc_width = 64;

  const auto count = count_in(page, registers_with(counter));

  RC_ASSERT(count.has_value());
  RC_ASSERT(*count == static_cast<std::uint64_t>(offset) + counter);
}

TEST(ControlPageTest, SaysWhyACountIsNotReadable) {
  struct Row {
    std::function<void(perf_event_mmap_page&)> change;
    NotReadable reason;
  };
  const Row rows[] = {
      {[](auto& page) { page.cap_user_rdpmc = 0; }, NotReadable::kNoUserAccess},
      {[](auto& page) { page.index = 0; }, NotReadable::kNotOnPmu},
      {[](auto& page) { page.index = 4; }, NotReadable::kUnknownCounter},
      {[](auto& page) { page.pmc_width = 0; }, NotReadable::kUnknownLayout},
      {[](auto& page) { page.pmc_width = 65; }, NotReadable::kUnknownLayout},
      {[](auto& page) { page.lock = 9; }, NotReadable::kBusy},
      {[](auto& page) { page.compat_version = 1; }, NotReadable::kUnknownLayout},
  };
  for (const Row& row : rows) {
    perf_event_mmap_page page = page_of_a_counter();
    row.change(page);

    EXPECT_THAT(count_in(page, registers_with(234)), HasError(row.reason));
  }
}

TEST(ControlPageTest, ReadsNoRegisterOfAnEventWithoutACounter) {
  perf_event_mmap_page off_pmu = page_of_a_counter();
  off_pmu.index = 0;
  perf_event_mmap_page closed = page_of_a_counter();
  closed.cap_user_rdpmc = 0;
  const ScriptedRegisters registers = registers_with(234);

  EXPECT_FALSE(count_in(off_pmu, registers));
  EXPECT_FALSE(count_in(closed, registers));
  EXPECT_EQ(registers.reads, 0);
}

TEST(ControlPageTest, BelievesNoCapabilityOfAKernelBeforeTheyWereSeparate) {
  perf_event_mmap_page page = page_of_a_counter();
  page.cap_bit0_is_deprecated = 0;
  page.cap_bit0 = 1;

  EXPECT_THAT(count_in(page, registers_with(234)), HasError(NotReadable::kNoUserAccess));
  EXPECT_THAT(times_in(page, registers_with(234)), HasError(NotReadable::kNoClock));
}

// Consistency.

TEST(ControlPageTest, ConvertsTheTimesOfARingWithoutReadingItsCounter) {
  const perf_event_mmap_page page = page_of_a_counter();
  ScriptedRegisters registers = registers_with(234);
  registers.cycles = 5;

  const auto snapshot = read_clock(page, registers);

  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(conversion_of(*snapshot));
  EXPECT_EQ(snapshot->clock, 5U);
  EXPECT_EQ(registers.reads, 0);
}

TEST(ControlPageTest, ReadsAgainWhatChangedMeanwhile) {
  perf_event_mmap_page page = page_of_a_counter();
  ScriptedRegisters registers;
  registers.counters = {{3, 234}, {5, 77}};
  registers.before_read = [&] {
    if (registers.reads > 1) return;
    page.lock += 2;  // the event was moved to another counter
    page.index = 5;
    page.offset = 1200;
  };

  EXPECT_THAT(count_in(page, registers), Holds(1277U));
  EXPECT_EQ(registers.reads, 2);
}

TEST(ControlPageTest, FindsThatTheEventLostItsCounterMeanwhile) {
  perf_event_mmap_page page = page_of_a_counter();
  ScriptedRegisters registers = registers_with(234);
  registers.before_read = [&] {
    page.lock += 2;
    page.index = 0;
  };

  EXPECT_THAT(count_in(page, registers), HasError(NotReadable::kNotOnPmu));
}

TEST(ControlPageTest, GivesUpAPageThatChangesAllTheTime) {
  perf_event_mmap_page page = page_of_a_counter();
  ScriptedRegisters registers = registers_with(234);
  registers.before_read = [&] { page.lock += 2; };

  EXPECT_THAT(count_in(page, registers), HasError(NotReadable::kBusy));
  EXPECT_EQ(registers.reads, kMaxPageTries);
}

TEST(ControlPageTest, ReadsOneVersionWhileTheSequenceNumberWraps) {
  perf_event_mmap_page page = page_of_a_counter();
  page.lock = 0xfffffffe;
  ScriptedRegisters registers = registers_with(234);
  registers.before_read = [&] {
    if (registers.reads == 1) page.lock += 2;
  };

  const auto count = count_in(page, registers);

  ASSERT_TRUE(count);
  EXPECT_EQ(page.lock, 0U);
}

template <typename Word>
void store(Word& field, Word value) {
  __atomic_store_n(&field, value, __ATOMIC_RELAXED);
}

/// What the kernel does at each change; version `n` has n in all fields.
[[maybe_unused]] void write_version(perf_event_mmap_page& page, std::uint64_t n) {
  store(page.lock, page.lock + 1);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  store(page.index, static_cast<__u32>(n));
  store(page.offset, static_cast<__s64>(n));
  store(page.time_enabled, static_cast<__u64>(n));
  store(page.time_running, static_cast<__u64>(n));
  store(page.time_offset, static_cast<__u64>(n));
  __atomic_store_n(&page.lock, page.lock + 1, __ATOMIC_RELEASE);
}

TEST(ControlPageTest, NeverMixesTwoVersionsWhileAnotherThreadWrites) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not know fences";
#else
  perf_event_mmap_page page{};
  std::atomic<bool> is_done = false;
  std::thread kernel{[&] {
    for (std::uint64_t n = 1; !is_done; ++n) {
      write_version(page, n);
      if (n % 16 == 0) std::this_thread::yield();
    }
  }};
  const ScriptedRegisters registers;

  test::run_rounds(2000, [&](unsigned) {
    for (int read = 0; read < 100;) {
      const auto snapshot = read_page(page, registers);
      if (!snapshot) continue;
      ++read;
      const std::set<std::uint64_t> versions = {
          snapshot->index, static_cast<std::uint64_t>(snapshot->offset), snapshot->time_enabled,
          snapshot->time_running, snapshot->time_offset};
      EXPECT_EQ(versions.size(), 1U);
    }
  });
  is_done = true;
  kernel.join();
#endif
}

// Times.

TEST(ControlPageTest, ExtrapolatesTimesUntilNowAndNeverIntoThePast) {
  perf_event_mmap_page page = page_of_a_counter();
  page.time_enabled = 5000;
  page.time_running = 2000;
  page.time_mult = 3U << 10;  // 3 ns a cycle
  page.time_shift = 10;
  page.time_offset = static_cast<__u64>(-3 * 700);  // was written at cycle 700
  ScriptedRegisters registers = registers_with(0);

  registers.cycles = 1000;
  EXPECT_THAT(times_in(page, registers), Holds((PageTimes{5900, 2900})));
  registers.cycles = 698;
  EXPECT_THAT(times_in(page, registers), Holds((PageTimes{5000, 2000})));
}

TEST(ControlPageTest, SaysWhyTimesAreNotReadable) {
  struct Row {
    std::function<void(perf_event_mmap_page&, ScriptedRegisters&)> change;
    NotReadable reason;
  };
  const Row rows[] = {
      {[](auto& page, auto&) { page.cap_user_time = 0; }, NotReadable::kNoClock},
      {[](auto&, auto& registers) { registers.cycles = {}; }, NotReadable::kNoClock},
      {[](auto& page, auto&) { page.index = 0; }, NotReadable::kNotOnPmu},
      {[](auto& page, auto&) { page.time_mult = 0; }, NotReadable::kUnknownLayout},
      {[](auto& page, auto&) { page.time_shift = 64; }, NotReadable::kUnknownLayout},
  };
  for (const Row& row : rows) {
    perf_event_mmap_page page = page_of_a_counter();
    ScriptedRegisters registers = registers_with(234);
    row.change(page, registers);

    EXPECT_THAT(times_in(page, registers), HasError(row.reason)) << &row - rows;
  }
}

TEST(ControlPageTest, ReadsACountWithoutTimesWhereTheKernelHasAnotherClock) {
  perf_event_mmap_page page = page_of_a_counter();
  page.cap_user_time = 0;
  page.time_enabled = page.time_running = 5000;
  const auto snapshot = read_page(page, registers_with(234));
  ASSERT_TRUE(snapshot);

  const auto reading = reading_of(*snapshot);

  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->count, 1234U);
  EXPECT_THAT(reading->times, HasError(NotReadable::kNoClock));
  EXPECT_EQ(reading->last_start, (PageTimes{5000, 5000}));
}

// Time stamps.

TEST(ControlPageTest, SaysWhyTimeStampsAreNotConvertible) {
  perf_event_mmap_page no_time = page_of_a_counter();
  no_time.cap_user_time = 0;
  perf_event_mmap_page no_zero = page_of_a_counter();
  no_zero.cap_user_time_zero = 0;

  EXPECT_THAT(conversion_in(no_time), HasError(NotReadable::kNoClock));
  EXPECT_THAT(conversion_in(no_zero), HasError(NotReadable::kNoTimestamps));
}

TEST(ControlPageTest, ConvertsTimeStampsOfAnEventWithoutACounter) {
  perf_event_mmap_page page = page_of_a_counter();
  page.cap_user_rdpmc = 0;
  page.index = 0;
  page.time_zero = 40;

  const auto conversion = conversion_in(page);

  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->timestamp(2), 42U);
}

RC_GTEST_PROP(ControlPageTest, ConvertsCyclesAsTheHeaderOfTheKernelDoes,
              (std::uint64_t cycle, std::uint32_t mult, std::uint64_t zero)) {
  RC_PRE(mult != 0U);
  // Beyond 32, the header's rest * mult overflows, and the kernel writes no such shift.
  const auto shift = *rc::gen::inRange<std::uint16_t>(0, 33);
  const TimeConversion conversion{mult, shift, zero};

  RC_ASSERT(conversion.timestamp(cycle) == timestamp_of_the_header(cycle, mult, shift, zero));
}

RC_GTEST_PROP(ControlPageTest, FindsTheCycleOfATimeStamp, (std::uint32_t mult)) {
  RC_PRE(mult != 0U);
  const auto shift = *rc::gen::inRange<std::uint16_t>(0, 33);
  const auto passed = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 60);
  const auto zero = *rc::gen::arbitrary<std::uint64_t>();
  const TimeConversion conversion{mult, shift, zero};
  const std::uint64_t timestamp = zero + passed;

  const std::uint64_t cycle = conversion.cycle(timestamp);

  // In the last cycle that began by then, if cycles do not exceed 64 bits.
  RC_PRE((static_cast<long double>(passed) * (std::uint64_t{1} << shift) / mult) < 1.8e19L);
  RC_ASSERT(conversion.timestamp(cycle) - zero <= passed);
  RC_ASSERT(conversion.timestamp(cycle + 1) - zero >= passed);
}

TEST(ControlPageTest, UnwrapsAClockOfFewerBits) {
  perf_event_mmap_page page = page_of_a_counter();
  page.time_mask = 0xffff;
  page.time_cycles = 0x5fff0;
  page.time_zero = 7;
  const auto long_clock = conversion_in(page);
  page.cap_user_time_short = 1;

  const auto conversion = conversion_in(page);

  ASSERT_TRUE(conversion && long_clock);
  EXPECT_EQ(conversion->unwrapped(0xfff0), 0x5fff0U);
  EXPECT_EQ(conversion->unwrapped(0xffff), 0x5ffffU);
  EXPECT_EQ(conversion->unwrapped(0x0000), 0x60000U) << "it has wrapped since";
  EXPECT_EQ(conversion->timestamp(0x0002), 0x60009U);
  EXPECT_EQ(conversion->cycle(0x60009), 0x60002U);
  EXPECT_EQ(long_clock->unwrapped(0x123456789), 0x123456789U) << "a clock that is not short";
}

TEST(ControlPageTest, ExtrapolatesTimesAcrossTheWrapOfAClockOfFewerBits) {
  perf_event_mmap_page page = page_of_a_counter();
  page.cap_user_time_short = 1;
  page.time_mask = 0xffff;
  page.time_cycles = 0x5fff0;
  page.time_offset = static_cast<__u64>(-0x5fff8);
  ScriptedRegisters registers = registers_with(0);
  registers.cycles = 0x0008;

  const auto times = times_in(page, registers);

  ASSERT_TRUE(times);
  EXPECT_EQ(times->enabled, 0x10U);
}

TEST(ControlPageTest, HasWordsForEveryReason) {
  for (int reason = 0; reason <= static_cast<int>(NotReadable::kOtherThread); ++reason) {
    EXPECT_THAT(describe(static_cast<NotReadable>(reason)), Not(IsEmpty()));
  }
}

// A page of a mapping.

class MappedPageTest : public ::testing::Test {
 protected:
  MappedPageTest() {
    EventAttr attr;
    auto opened = kernel_.open_event(attr, {.pid = 0});
    if (opened) event_ = *std::move(opened);
    registers_.counters = {{3, 234}};
    registers_.cycles = 500;
  }

  Result<ControlPage> map() {
    Result<ControlPage> page = ControlPage::map(kernel_, event_.fd.get(), registers_);
    if (page) *kernel_.opened_events.at(0).page() = page_of_a_counter();
    return page;
  }

  test::ScriptedKernel kernel_;
  ScriptedRegisters registers_;
  OpenCounter event_;
};

TEST_F(MappedPageTest, ReadsCountAndTimes) {
  const Result<ControlPage> page = map();
  ASSERT_TRUE(page);

  const PageResult<PageReading> reading = page->read();

  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->count, 1234U);
  EXPECT_THAT(reading->times, Holds((PageTimes{500, 500})));
  EXPECT_FALSE(kernel_.opened_events.at(0).is_writable);
}

TEST_F(MappedPageTest, IsNotReadInAnotherThread) {
  const Result<ControlPage> page = map();
  ASSERT_TRUE(page);

  std::thread{[&] { EXPECT_THAT(page->read(), HasError(NotReadable::kOtherThread)); }}.join();

  EXPECT_EQ(registers_.reads, 0);
}

TEST_F(MappedPageTest, ReadsTheTimeInAnyThreadAndNoCounterForThat) {
  const Result<ControlPage> page = map();
  ASSERT_TRUE(page);
  kernel_.opened_events.at(0).page()->time_zero = 1'000'000;

  std::thread{[&] {
    const PageResult<TimeConversion> conversion = page->time_conversion();
    EXPECT_THAT(page->timestamp_now(), Holds(1'000'500U));
    ASSERT_TRUE(conversion);
    EXPECT_EQ(conversion->timestamp(7), 1'000'007U);
  }}.join();

  EXPECT_EQ(registers_.reads, 0);
}

TEST_F(MappedPageTest, FailsAsTheMappingDoes) {
  kernel_.opened_events.refuse_map = [](std::size_t, std::size_t) { return EPERM; };

  EXPECT_THAT(ControlPage::map(kernel_, event_.fd.get(), registers_), FailsWith(EPERM));
}

// The kernel's own pages. Software events suffice for the clock.

class RealPageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EventAttr attr;
    attr.size = kAttrSizeVer7;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.flags = attr_flag(AttrFlag::kExcludeKernel) | attr_flag(AttrFlag::kExcludeHv);
    auto opened = kernel_.open_event(attr, {.pid = 0});
    if (!opened) GTEST_SKIP() << "perf_event_open: " << errno_name(opened.error().code);
    event_ = *std::move(opened);
  }

  LinuxPerfKernel kernel_;
  OpenCounter event_;
};

TEST_F(RealPageTest, OpensNoRegisterOfASoftwareEvent) {
  const Result<ControlPage> page = ControlPage::map(kernel_, event_.fd.get());
  ASSERT_TRUE(page) << describe(page.error());

  EXPECT_THAT(page->read(), HasError(NotReadable::kNoUserAccess));
}

TEST_F(RealPageTest, IsThatOfTheRingWhereTheEventHasOne) {
  const Result<RingBuffer> ring =
      RingBuffer::open(kernel_, event_.fd.get(), {.wanted = 65'536, .min = 65'536});
  ASSERT_TRUE(ring) << describe(ring.error());

  const Result<ControlPage> page = ControlPage::map(kernel_, event_.fd.get());
  const PageResult<PageSnapshot> snapshot = read_page(ring->page(), cpu_registers());

  EXPECT_THAT(page, FailsWith(EINVAL));
  ASSERT_TRUE(snapshot) << describe(snapshot.error());
  EXPECT_GT(snapshot->time_enabled, 0U);
}

TEST_F(RealPageTest, IsNotInAForkedChild) {
  const Result<ControlPage> page = ControlPage::map(kernel_, event_.fd.get());
  ASSERT_TRUE(page) << describe(page.error());

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGSEGV, [](int) { ::_exit(3); });  // a sanitizer has a handler of its own
    (void)page->time_conversion();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

/// Clock readings that one of the other clock lies between.
struct Instant {
  std::uint64_t earlier;
  std::uint64_t timestamp;
  std::uint64_t later;
};

Instant instant_of(const ControlPage& page) {
  Instant instant{};
  instant.earlier = test::time_of(CLOCK_MONOTONIC_RAW);
  const PageResult<std::uint64_t> timestamp = page.timestamp_now();
  instant.later = test::time_of(CLOCK_MONOTONIC_RAW);
  EXPECT_TRUE(timestamp);
  if (timestamp) instant.timestamp = *timestamp;
  return instant;
}

TEST_F(RealPageTest, HasAClockThatGoesAsFastAsTheKernels) {
  const Result<ControlPage> page = ControlPage::map(kernel_, event_.fd.get());
  ASSERT_TRUE(page) << describe(page.error());
  const PageResult<TimeConversion> conversion = page->time_conversion();
  if (!conversion) GTEST_SKIP() << describe(conversion.error());

  const Instant first = instant_of(*page);
  const timespec length{0, 50'000'000};
  ::nanosleep(&length, nullptr);
  const Instant second = instant_of(*page);

  const auto passed = static_cast<double>(second.timestamp - first.timestamp);
  EXPECT_GE(passed, 0.9999 * static_cast<double>(second.earlier - first.later));
  EXPECT_LE(passed, 1.0001 * static_cast<double>(second.later - first.earlier));
  EXPECT_LE(conversion->timestamp(conversion->cycle(second.timestamp)), second.timestamp);
}

TEST(ControlPageExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});
  ASSERT_TRUE(event);
  testing::internal::CaptureStdout();
  const auto print = [&] {
    const Result<ControlPage> page = ControlPage::map(kernel, event->fd.get());
    if (!page) return;
    if (const PageResult<PageReading> reading = page->read()) {
      std::cout << reading->count << '\n';
    } else {
      std::cout << "read(2) is needed: " << describe(reading.error()) << '\n';
    }
  };

  print();

  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("read(2) is needed: the kernel"));
}

TEST(CpuRegistersTest, HaveNoCounterForWhatNamesNone) {
  // 0: the event has none. 1 << 29, x86: shares of the slots, and no count.
  for (const std::uint32_t index :
       {0U, (1U << 29) + 1, std::numeric_limits<std::uint32_t>::max()}) {
    EXPECT_EQ(cpu_registers().counter(index), std::nullopt) << index;
  }
}

TEST(CpuRegistersTest, HaveAClockThatGoesOn) {
  const std::optional<std::uint64_t> before = cpu_registers().clock();
  if (!before) GTEST_SKIP() << "no clock of this kind of CPU can be read";
  std::optional<std::uint64_t> after = before;

  for (int tries = 0; tries < 1'000'000 && after == before; ++tries) {
    after = cpu_registers().clock();
  }

  EXPECT_GT(after, before);
}

TEST(CpuRegistersExample, IsRight) {
  testing::internal::CaptureStdout();

  if (const std::optional<std::uint64_t> cycles = cpu_registers().clock()) {
    std::cout << "cycle " << *cycles << '\n';
  }

  const bool has_clock = cpu_registers().clock().has_value();
  EXPECT_EQ(testing::internal::GetCapturedStdout().starts_with("cycle "), has_clock);
}

}  // namespace
}  // namespace pex::perf
