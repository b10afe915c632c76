#include "perf/ring_buffer.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <variant>

#include "abi/record/record.h"
#include "abi/record/sample_layout.h"
#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/scripted_ring.h"
#include "support/test_headers.h"
#include "support/timed_property.h"

namespace pex::perf::ring_buffer_test {
namespace {

using test::FailsWith;
using test::HasError;
using test::numbered_record;
using test::record_of;
using test::ScriptedRing;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Control = test::ScriptedEvents::Control;

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// A ring, the kernel that writes to it, and what a visitor has seen.
class RingBufferTest : public ::testing::Test {
 protected:
  explicit RingBufferTest(RingMode mode = RingMode::kForward) { open(mode); }

  void open(RingMode mode = RingMode::kForward, std::size_t bytes = kPage) {
    EventAttr attr;
    if (mode == RingMode::kOverwrite) attr.flags = attr_flag(AttrFlag::kWriteBackward);
    event_ = *kernel_.open_event(attr, {.pid = 0});
    ring_.emplace(*RingBuffer::open(kernel_, event_.fd.get(), {bytes, bytes}, mode));
    writer_.emplace(kernel_.opened_events.at(kernel_.opened_events.opened() - 1));
  }

  auto visitor() {
    return [this](std::span<const std::byte> record) {
      seen_.emplace_back(record.begin(), record.end());
    };
  }
  RingReport drain(std::size_t budget = RingBuffer::kNoBudget) {
    return ring_->drain(visitor(), budget);
  }

  RingReport snapshot() {
    const Result<RingReport> report = ring_->snapshot(kernel_, visitor());
    EXPECT_TRUE(report);
    return report ? *report : RingReport{};
  }

  test::ScriptedKernel kernel_;
  OpenCounter event_;
  std::optional<RingBuffer> ring_;
  std::optional<ScriptedRing> writer_;
  std::vector<Bytes> seen_;
};

class OverwrittenRingTest : public RingBufferTest {
 protected:
  OverwrittenRingTest() : RingBufferTest(RingMode::kOverwrite) {}
};

TEST_F(RingBufferTest, IsEmptyWhenItIsOpened) {
  EXPECT_EQ(drain(), RingReport{});
  EXPECT_EQ(ring_->unread(), 0U);
  EXPECT_EQ(ring_->size(), kPage);
  EXPECT_EQ(ring_->fd(), event_.fd.get());
}

TEST_F(RingBufferTest, GivesEachRecordOnceAndInOrder) {
  writer_->write(numbered_record(1, 24));
  writer_->write(numbered_record(2, 40));

  const std::size_t unread = ring_->unread();
  const RingReport report = drain();
  writer_->write(numbered_record(3, 16));
  drain();

  EXPECT_EQ(unread, 64U);
  EXPECT_EQ(report.records, 2U);
  EXPECT_EQ(report.bytes, 64U);
  EXPECT_THAT(seen_,
              ElementsAre(numbered_record(1, 24), numbered_record(2, 40), numbered_record(3, 16)));
}

TEST_F(RingBufferTest, GivesTheRoomBackToTheKernel) {
  writer_->write(numbered_record(1, 24));

  drain();

  EXPECT_EQ(writer_->tail(), writer_->head());
}

TEST_F(RingBufferTest, GivesRoomBackWhileItReads) {
  while (writer_->write(numbered_record(1, 64))) {
  }
  std::vector<std::uint64_t> tails;

  ring_->drain([&](std::span<const std::byte>) {
    if (tails.empty() || tails.back() != writer_->tail()) tails.push_back(writer_->tail());
  });

  EXPECT_THAT(tails, ElementsAre(0, kPage / 4, kPage / 2, 3 * kPage / 4));
}

TEST_F(RingBufferTest, EndsAtItsBudget) {
  for (std::uint64_t i = 0; i < 5; ++i) writer_->write(numbered_record(i, 24));

  EXPECT_EQ(drain(2).records, 2U);
  EXPECT_EQ(drain(0), RingReport{});
  EXPECT_EQ(ring_->unread(), 3 * 24U);
  EXPECT_EQ(drain().records, 3U);
}

TEST_F(RingBufferTest, ReadsARecordOfTheLargestSize) {
  open(RingMode::kForward, 128 * 1024);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(writer_->write(numbered_record(i, 65528)));
    drain();
  }

  EXPECT_EQ(seen_.size(), 5U);
  EXPECT_EQ(seen_.back(), numbered_record(4, 65528));
}

TEST_F(RingBufferTest, CountsTheSamplesThatTheHardwareLost) {
  const std::uint64_t lost = 3;
  writer_->write(record_of(PERF_RECORD_LOST_SAMPLES, std::span{&lost, 1}));

  EXPECT_EQ(drain().lost, 3U);
}

TEST_F(RingBufferTest, CountsNothingForARecordOfLossThatIsTooShort) {
  writer_->write(record_of(PERF_RECORD_LOST_SAMPLES, {}));
  writer_->write(record_of(PERF_RECORD_LOST, {}));

  EXPECT_EQ(drain().lost, 0U);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_F(RingBufferTest, SkipsToTheHeadWhereARecordCannotHaveItsSize) {
  for (const std::uint16_t size : {0, 4, 7, 12, 48, 65535}) {
    open();
    Bytes wrong = numbered_record(2, 40);
    std::memcpy(&wrong[offsetof(perf_event_header, size)], &size, sizeof size);
    writer_->write(numbered_record(1, 24));
    writer_->write(wrong);

    const RingReport report = drain();
    writer_->write(numbered_record(3, 24));
    drain();

    EXPECT_EQ(report.unreadable, 1U) << size;
    EXPECT_EQ(report.unreadable_bytes, 40U);
    EXPECT_THAT(seen_, ElementsAre(numbered_record(1, 24), numbered_record(3, 24)));
    seen_.clear();
  }
}

TEST_F(RingBufferTest, SkipsToAHeadThatIsFartherThanTheRingIsLarge) {
  for (std::size_t at = 0; at < kPage; at += 64) writer_->put(at, numbered_record(at, 64));
  writer_->set_head(5 * kPage);

  const RingReport report = drain();
  writer_->write(numbered_record(3, 24));
  drain();

  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_EQ(report.unreadable_bytes, kPage);
  EXPECT_THAT(seen_, ElementsAre(numbered_record(3, 24)));
}

TEST_F(RingBufferTest, SkipsToAHeadThatIsNotAligned) {
  writer_->write(numbered_record(1, 24));
  writer_->set_head(27);
  const RingReport first = drain();
  writer_->set_head(48);
  const RingReport second = drain();
  writer_->write(numbered_record(2, 24));
  drain();

  EXPECT_EQ(first.unreadable, 1U);
  EXPECT_EQ(second.unreadable, 1U);
  EXPECT_THAT(seen_, ElementsAre(numbered_record(2, 24)));
}

TEST_F(RingBufferTest, VisitsAgainWhatWasNotFreedWhenAVisitorThrows) {
  writer_->write(numbered_record(1, 24));
  writer_->write(numbered_record(2, 24));

  EXPECT_THROW(ring_->drain([](std::span<const std::byte>) { throw std::runtime_error("no"); }),
               std::runtime_error);
  drain();

  EXPECT_EQ(seen_.size(), 2U);
}

TEST_F(RingBufferTest, StaysWholeWhenItIsMoved) {
  writer_->write(numbered_record(1, 24));

  RingBuffer moved = *std::move(ring_);
  const RingReport report = moved.drain(visitor());

  EXPECT_EQ(report.records, 1U);
}

PEX_TIMED_FIXTURE_PROPERTY(RingBufferTest, LosesNoRecordThatTheKernelWrote) {
  std::deque<Bytes> written;
  std::uint64_t number = 0, lost = 0, found_lost = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<bool, std::uint16_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<std::uint16_t>(1, 200)));
  for (const auto& [writes, size] : steps) {
    if (writes) {
      const Bytes record = numbered_record(++number, 8U * size);
      if (writer_->write(record)) {
        written.push_back(record);
      } else {
        ++lost;
      }
      continue;
    }
    const RingReport report = ring_->drain(
        [&](std::span<const std::byte> record) {
          perf_event_header header;
          std::memcpy(&header, record.data(), sizeof header);
          RC_ASSERT(reinterpret_cast<std::uintptr_t>(record.data()) % 8 == 0U);
          if (header.type == PERF_RECORD_LOST) return;
          RC_ASSERT(!written.empty());
          RC_ASSERT(Bytes(record.begin(), record.end()) == written.front());
          written.pop_front();
        },
        size % 8);
    RC_ASSERT(report.unreadable == 0U);
    found_lost += report.lost;
  }
  found_lost += drain().lost;

  RC_ASSERT(ring_->unread() == 0U);
  RC_ASSERT(found_lost + writer_->lost() == lost);
  RC_ASSERT(ring_->totals().lost == found_lost);
}

PEX_TIMED_FIXTURE_PROPERTY(RingBufferTest, ReadsWithinTheRingWhateverTheKernelWrites) {
  const auto garbage = *rc::gen::container<std::vector<std::uint8_t>>(
      512, rc::gen::weightedOneOf<std::uint8_t>({{3, rc::gen::just<std::uint8_t>(0)},
                                                 {2, rc::gen::element<std::uint8_t>(8, 16, 24, 64)},
                                                 {1, rc::gen::arbitrary<std::uint8_t>()}}));
  for (std::size_t at = 0; at < kPage; at += garbage.size()) {
    writer_->put(at, std::as_bytes(std::span{garbage}));
  }
  std::uint64_t bytes = 0;
  for (const auto head : *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::oneOf(
           rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange<std::uint64_t>(0, 3 * kPage)))) {
    writer_->set_head(head);
    const RingReport report = ring_->drain([&](std::span<const std::byte> record) {
      for (const std::byte byte : record) bytes += static_cast<std::uint8_t>(byte);
      RC_ASSERT(record.size() >= 8U);
      RC_ASSERT(record.size() % 8 == 0U);
    });
    RC_ASSERT(report.bytes + report.unreadable_bytes <= kPage);
    RC_ASSERT(ring_->unread() == 0U);
  }
}

TEST_F(OverwrittenRingTest, PausesTheKernelWhileItReadsAnOverwrittenRing) {
  writer_->write(numbered_record(1, 24));
  const auto& event = kernel_.opened_events.at(0);

  const Result<RingReport> report =
      ring_->snapshot(kernel_, [&](std::span<const std::byte>) { EXPECT_TRUE(event.is_paused); });

  EXPECT_TRUE(report);
  EXPECT_FALSE(event.is_paused);
}

TEST_F(OverwrittenRingTest, ResumesTheKernelWhenAVisitorThrows) {
  writer_->write(numbered_record(1, 24));

  EXPECT_THROW((void)ring_->snapshot(
                   kernel_, [](std::span<const std::byte>) { throw std::runtime_error("no"); }),
               std::runtime_error);

  EXPECT_FALSE(kernel_.opened_events.at(0).is_paused);
}

TEST_F(OverwrittenRingTest, ReportsARingThatCannotBePaused) {
  kernel_.opened_events.refuse_control = [](const Control&) { return EBADF; };

  EXPECT_THAT(ring_->snapshot(kernel_, visitor()),
              HasError(Field(&Error::attempted, "pause a ring")));
}

TEST_F(OverwrittenRingTest, CountsWhatWasReadFromARingThatCannotBeResumed) {
  writer_->write(numbered_record(1, 24));
  kernel_.opened_events.refuse_control = [](const Control& control) {
    return control.argument == 0 ? EBADF : 0;
  };

  EXPECT_THAT(ring_->snapshot(kernel_, visitor()),
              HasError(Field(&Error::attempted, "resume a ring")));
  EXPECT_EQ(ring_->totals().records, 1U);
}

TEST_F(OverwrittenRingTest, EndsAPauseOfTheCallerWithASnapshot) {
  ASSERT_TRUE(ring_->pause(kernel_, true));

  ASSERT_TRUE(ring_->snapshot(kernel_, visitor()));

  EXPECT_FALSE(kernel_.opened_events.at(0).is_paused);
}

TEST_F(OverwrittenRingTest, SkipsWhatMakesNoSenseInAnOverwrittenRing) {
  writer_->write(numbered_record(1, 24));
  writer_->put(writer_->head(), Bytes(8));
  writer_->write(numbered_record(2, 24));

  const RingReport report = snapshot();

  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_EQ(report.unreadable_bytes, 24U);
  EXPECT_THAT(seen_, ElementsAre(numbered_record(2, 24)));
}

PEX_TIMED_FIXTURE_PROPERTY(OverwrittenRingTest, HasTheNewestRecordsOfAnOverwrittenRing) {
  std::uint64_t number = 0;
  const auto bursts = *rc::gen::container<std::vector<std::vector<std::uint16_t>>>(
      rc::gen::container<std::vector<std::uint16_t>>(rc::gen::inRange<std::uint16_t>(1, 100)));
  for (const auto& burst : bursts) {
    std::deque<Bytes> newest_first;
    std::uint64_t written = 0;
    for (const std::uint16_t size : burst) {
      newest_first.push_front(numbered_record(++number, 8U * size));
      writer_->write(newest_first.front());
      written += newest_first.front().size();
    }
    seen_.clear();
    const RingReport report = snapshot();

    RC_ASSERT(report.unreadable == 0U);
    RC_ASSERT(report.records == seen_.size());
    RC_ASSERT(report.bytes + report.overwritten == written);
    RC_ASSERT(seen_.size() == newest_first.size() || report.overwritten > 0U);
    for (std::size_t i = 0; i < seen_.size(); ++i) RC_ASSERT(seen_[i] == newest_first[i]);
  }
}

PEX_TIMED_FIXTURE_PROPERTY(OverwrittenRingTest, ReadsWithinAnOverwrittenRingWhateverIsThere) {
  const auto garbage = *rc::gen::container<std::vector<std::uint8_t>>(
      512, rc::gen::element<std::uint8_t>(0, 0, 0, 0, 8, 16, 24, 64, 255));
  for (std::size_t at = 0; at < kPage; at += garbage.size()) {
    writer_->put(at, std::as_bytes(std::span{garbage}));
  }
  for (const auto head : *rc::gen::arbitrary<std::vector<std::uint64_t>>()) {
    writer_->set_head(head);
    const Result<RingReport> report =
        ring_->snapshot(kernel_, [](std::span<const std::byte> record) {
          RC_ASSERT(record.size() >= 8U);
          RC_ASSERT(record.size() <= kPage);
        });
    RC_ASSERT(report.has_value());
    RC_ASSERT(report->bytes <= kPage);
  }
}

class RingSizeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EventAttr attr;
    event_ = *kernel_.open_event(attr, {.pid = 0});
  }

  test::ScriptedKernel kernel_;
  OpenCounter event_;
};

TEST_F(RingSizeTest, IsHalvedUntilTheKernelAllowsIt) {
  std::vector<std::size_t> asked;
  kernel_.opened_events.refuse_map = [&](std::size_t bytes, std::size_t) {
    asked.push_back(bytes - kPage);
    return bytes > kPage + 4 * kPage ? EPERM : 0;
  };

  const auto ring = RingBuffer::open(kernel_, event_.fd.get(), {16 * kPage, kPage});

  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->size(), 4 * kPage);
  EXPECT_THAT(asked, ElementsAre(16 * kPage, 8 * kPage, 4 * kPage));
}

TEST_F(RingSizeTest, IsNotHalvedBelowTheMinimum) {
  kernel_.opened_events.refuse_map = [](std::size_t, std::size_t) { return EPERM; };

  const auto ring = RingBuffer::open(kernel_, event_.fd.get(), {8 * kPage, 4 * kPage});

  ASSERT_THAT(ring, FailsWith(EPERM));
  EXPECT_THAT(ring.error().attempted, HasSubstr("16 KiB"));
  EXPECT_THAT(ring.error().remedy.text(), HasSubstr("kernel.perf_event_mlock_kb"));
  EXPECT_THAT(ring.error().remedy.text(), HasSubstr("RLIMIT_MEMLOCK"));
}

TEST_F(RingSizeTest, IsNotHalvedForAnotherError) {
  kernel_.opened_events.refuse_map = [](std::size_t, std::size_t) { return EINVAL; };

  EXPECT_THAT(RingBuffer::open(kernel_, event_.fd.get(), {8 * kPage, kPage}),
              HasError(Field(&Error::attempted, HasSubstr("32 KiB"))));
}

TEST_F(RingSizeTest, IsAPowerOfTwoOfPages) {
  const RingSize sizes[] = {{3 * kPage, kPage},     {kPage, 0},         {0, 0},
                            {kPage / 2, kPage / 2}, {kPage, 2 * kPage}, {4 * kPage, 3 * kPage}};
  for (const RingSize& size : sizes) {
    EXPECT_THAT(RingBuffer::open(kernel_, event_.fd.get(), size), FailsWith(EINVAL))
        << size.wanted << " " << size.min;
  }
}

TEST_F(RingSizeTest, IsMappedReadOnlyToBeOverwritten) {
  const auto ring =
      RingBuffer::open(kernel_, event_.fd.get(), {kPage, kPage}, RingMode::kOverwrite);

  ASSERT_TRUE(ring);
  EXPECT_FALSE(kernel_.opened_events.at(0).is_writable);
}

TEST_F(RingBufferTest, IsSharedBySettingTheOutputOfAnotherEvent) {
  EventAttr attr;
  const OpenCounter other = *kernel_.open_event(attr, {.pid = 0});

  const Result<> attached = ring_->attach(kernel_, other.fd.get());
  const Result<> detached = RingBuffer::detach(kernel_, other.fd.get());

  EXPECT_TRUE(attached);
  EXPECT_TRUE(detached);
  const auto ring = static_cast<std::uint64_t>(event_.fd.get());
  EXPECT_THAT(kernel_.opened_events.controls(),
              ElementsAre(Control{1, EventControl::kSetOutput, ring},
                          Control{1, EventControl::kSetOutput, ~std::uint64_t{0}}));
}

TEST_F(RingBufferTest, SaysWhichEventsCanShareARing) {
  kernel_.opened_events.refuse_control = [](const Control&) { return EINVAL; };

  const Result<> attached = ring_->attach(kernel_, event_.fd.get());
  const Result<> detached = RingBuffer::detach(kernel_, event_.fd.get());

  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().remedy.text(), HasSubstr("same CPU"));
  EXPECT_THAT(detached, FailsWith(EINVAL));
}

TEST(RingBufferExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});
  const Result<SampleLayout> layout = SampleLayout::of({.sample_type = PERF_SAMPLE_TIME});
  std::size_t samples = 0;
  const auto work = [&] { ScriptedRing{kernel.opened_events.at(0)}.write(numbered_record(1, 16)); };

  Result<RingBuffer> ring = RingBuffer::open(kernel, event->fd.get(), {256 * 1024, 16 * 1024});
  work();
  const RingReport report = ring->drain([&](std::span<const std::byte> record) {
    const auto decoded = decode_record(*layout, record);
    if (decoded && std::holds_alternative<Sample>(*decoded)) ++samples;
  });

  EXPECT_EQ(report.records, 1U);
  EXPECT_EQ(samples, 1U);
}

}  // namespace
}  // namespace pex::perf::ring_buffer_test
