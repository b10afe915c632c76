#include "abi/aux_area.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"
#include "support/timed_property.h"

namespace pex::perf {
namespace {

using test::HasError;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// An area of two pages behind a ring of one, and the hardware that writes to it.
class AuxAreaTest : public ::testing::Test {
 protected:
  AuxAreaTest() : AuxAreaTest(RingMode::kForward) {}
  explicit AuxAreaTest(RingMode mode) {
    EventAttr attr;
    event_ = *kernel_.open_event(attr, {.pid = 0});
    ring_.emplace(*RingBuffer::open(kernel_, event_.fd.get(), {kPage, kPage}));
    area_.emplace(*AuxArea::open(kernel_, *ring_, {2 * kPage, kPage}, mode));
  }

  perf_event_mmap_page& page() { return *kernel_.opened_events.at(0).page(); }
  /// The bytes `first`, first + 1, ... up to the position `head`.
  void write_to(std::uint64_t head) {
    const auto memory = kernel_.opened_events.at(0).memory.bytes().subspan(page().aux_offset);
    for (; written_ < head; ++written_) {
      memory[written_ % area_->size()] = static_cast<std::byte>(written_ % 251);
    }
    page().aux_head = head;
  }
  static std::vector<std::uint8_t> bytes_of(const AuxArea::Data& data) {
    std::vector<std::uint8_t> bytes;
    for (const auto part : {data.first, data.second}) {
      for (const std::byte byte : part) bytes.push_back(static_cast<std::uint8_t>(byte));
    }
    return bytes;
  }

  test::ScriptedKernel kernel_;
  OpenCounter event_;
  std::optional<RingBuffer> ring_;
  std::optional<AuxArea> area_;
  std::uint64_t written_ = 0;
};

TEST_F(AuxAreaTest, IsBehindTheRing) {
  EXPECT_EQ(page().aux_offset, 2 * kPage);
  EXPECT_EQ(page().aux_size, 2 * kPage);
  EXPECT_EQ(area_->size(), 2 * kPage);
  EXPECT_EQ(area_->unread().size(), 0U);
}

TEST_F(AuxAreaTest, HasWhatWasNotReleased) {
  write_to(5);
  const AuxArea::Data first = area_->unread();
  area_->release(first);
  write_to(8);

  EXPECT_THAT(bytes_of(first), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(bytes_of(area_->unread()), ElementsAre(5, 6, 7));
  EXPECT_EQ(page().aux_tail, 5U);
}

TEST_F(AuxAreaTest, HasTwoPartsWhereItsEndDividesTheData) {
  write_to(2 * kPage - 3);
  area_->release(area_->unread());
  write_to(2 * kPage + 2);

  const AuxArea::Data data = area_->unread();

  EXPECT_EQ(data.first.size(), 3U);
  EXPECT_EQ(data.second.size(), 2U);
  EXPECT_EQ(data.skipped, 0U);
  EXPECT_EQ(bytes_of(data).front(), (2 * kPage - 3) % 251);
}

TEST_F(AuxAreaTest, SaysHowMuchIsNotThereAnyMore) {
  write_to(7 * kPage);

  const AuxArea::Data data = area_->unread();
  area_->release(data);

  EXPECT_EQ(data.size(), 2 * kPage);
  EXPECT_EQ(data.skipped, 5 * kPage);
  EXPECT_EQ(area_->unread().size(), 0U);
}

TEST_F(AuxAreaTest, GoesOnWhereAnotherAreaOfTheRingEnded) {
  write_to(5);
  area_->release(area_->unread());
  area_.reset();

  area_.emplace(*AuxArea::open(kernel_, *ring_, {2 * kPage, kPage}));
  write_to(8);

  EXPECT_EQ(area_->unread().skipped, 0U);
  EXPECT_THAT(bytes_of(area_->unread()), ElementsAre(5, 6, 7));
}

PEX_TIMED_FIXTURE_PROPERTY(AuxAreaTest, StaysWithinItsMemory) {
  for (const auto head : *rc::gen::arbitrary<std::vector<std::uint64_t>>()) {
    page().aux_head = head;
    const AuxArea::Data data = area_->unread();
    RC_ASSERT(data.size() <= area_->size());
    (void)bytes_of(data);
    area_->release(data);
  }
}

class AuxSnapshotTest : public AuxAreaTest {
 protected:
  AuxSnapshotTest() : AuxAreaTest(RingMode::kOverwrite) {}
};

TEST_F(AuxSnapshotTest, IsTheWholeAreaWithTheOldestByteFirst) {
  write_to(3 * kPage + 10);

  const AuxArea::Data data = area_->unread();

  EXPECT_EQ(data.size(), 2 * kPage);
  EXPECT_EQ(bytes_of(data).front(), (kPage + 10) % 251);
  EXPECT_EQ(bytes_of(data).back(), (3 * kPage + 9) % 251);
}

class AuxSizeTest : public ::testing::Test {
 protected:
  Result<AuxArea> open(RingSize size, RingMode ring_mode = RingMode::kForward) {
    EventAttr attr;
    event_ = *kernel_.open_event(attr, {.pid = 0});
    ring_.emplace(*RingBuffer::open(kernel_, event_.fd.get(), {kPage, kPage}, ring_mode));
    kernel_.opened_events.refuse_map = [this](std::size_t bytes, std::size_t) {
      return bytes > largest_ ? code_ : 0;
    };
    return AuxArea::open(kernel_, *ring_, size);
  }

  test::ScriptedKernel kernel_;
  OpenCounter event_;
  std::optional<RingBuffer> ring_;
  std::size_t largest_ = 0;
  int code_ = EPERM;
};

TEST_F(AuxSizeTest, IsHalvedUntilTheKernelAllowsIt) {
  largest_ = 2 * kPage;

  const Result<AuxArea> area = open({8 * kPage, kPage});

  ASSERT_TRUE(area);
  EXPECT_EQ(area->size(), 2 * kPage);
  EXPECT_EQ(ring_->page().aux_size, 2 * kPage);
}

TEST_F(AuxSizeTest, SaysWhichLimitsAreInTheWay) {
  const Result<AuxArea> area = open({8 * kPage, 2 * kPage});

  ASSERT_FALSE(area);
  EXPECT_THAT(area.error().attempted, HasSubstr("8 KiB"));
  EXPECT_THAT(area.error().remedy.text(), HasSubstr("kernel.perf_event_mlock_kb"));
}

TEST_F(AuxSizeTest, SaysThatThePmuDoesNotTrace) {
  code_ = EOPNOTSUPP;

  const Result<AuxArea> area = open({kPage, kPage});

  EXPECT_THAT(area, HasError(Field(&Error::cause, HasSubstr("no AUX area"))));
}

TEST_F(AuxSizeTest, NeedsAPowerOfTwoAndARingThatIsNotOverwritten) {
  largest_ = 100 * kPage;

  EXPECT_EQ(open({3 * kPage, kPage}).error().code, EINVAL);
  EXPECT_EQ(open({kPage, kPage}, RingMode::kOverwrite).error().code, EINVAL);
}

TEST(AuxAreaExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});
  const Result<RingBuffer> ring = RingBuffer::open(kernel, event->fd.get(), {kPage, kPage});
  std::vector<std::byte> trace;
  ring->page().aux_head = 100;

  Result<AuxArea> area = AuxArea::open(kernel, *ring, {1024 * 1024, 64 * 1024});
  const AuxArea::Data data = area->unread();
  trace.insert(trace.end(), data.first.begin(), data.first.end());
  trace.insert(trace.end(), data.second.begin(), data.second.end());
  area->release(data);

  EXPECT_EQ(trace.size(), 100U);
}

}  // namespace
}  // namespace pex::perf
