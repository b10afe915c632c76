// Rings that the real kernel writes to.

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "abi/aux_area.h"
#include "abi/control_page.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf::ring_buffer_real_test {
namespace {

using test::FailsWith;
using test::NewMemory;
using test::RecordedEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// A sample for each page fault of user mode, while it is enabled.
SamplingRequest page_faults() {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_PAGE_FAULTS);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  request.event.exclude_kernel = true;
  request.disabled = true;
  return request;
}

std::vector<std::uint64_t> addresses_of(const std::vector<Sample>& samples) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(samples.size());
  for (const Sample& sample : samples) addresses.push_back(sample.address.value_or(0));
  return addresses;
}

std::uint64_t address_of(const NewMemory& memory, std::size_t page) {
  return reinterpret_cast<std::uintptr_t>(memory.data()) + page * kPage;
}

class RingBufferRealTest : public test::RealEventsTest {
 protected:
  static bool is_readable(int fd) {
    pollfd state{fd, POLLIN, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & POLLIN) != 0;
  }
};

TEST_F(RingBufferRealTest, HasASampleForEachPageFault) {
  RecordedEvent event{kernel_, page_faults(), this_thread()};
  NewMemory memory{100};

  event.during([&] { memory.touch(); });

  const auto addresses = addresses_of(event.all<Sample>());
  std::size_t next = 0;
  for (const std::uint64_t address : addresses) next += address == address_of(memory, next) ? 1 : 0;
  EXPECT_EQ(next, 100U);
  EXPECT_EQ(event.ring().totals().lost, 0U);
  EXPECT_EQ(event.count(), addresses.size());
}

TEST_F(RingBufferRealTest, HasRecordsThatTheEndOfTheRingDivides) {
  SamplingRequest request = page_faults();
  request.sample_type |= PERF_SAMPLE_IP;  // records of 40 bytes: no divisor of the ring's size
  RecordedEvent event{kernel_, request, this_thread(), kPage};
  std::uint64_t samples = 0;
  for (int round = 0; round < 50; ++round) {
    event.during([] { NewMemory{50}.touch(); });
    const RingReport report = event.drain();
    samples += report.records;
    EXPECT_EQ(report.lost, 0U);
  }

  EXPECT_GT(event.ring().totals().bytes, 10 * kPage);
  EXPECT_EQ(samples, event.count());
}

TEST_F(RingBufferRealTest, CountsWhatDoesNotFitIntoARingOfOnePage) {
  SamplingRequest request = page_faults();
  request.read_format = PERF_FORMAT_LOST;
  RecordedEvent event{kernel_, request, this_thread(), kPage};
  constexpr std::size_t kPages = 1000;
  event.during([] { NewMemory{kPages}.touch(); });
  const RingReport full = event.drain();

  event.during(
      [] { NewMemory{1}.touch(); });  // there is room again: the kernel writes what it has lost
  const RingReport report = event.drain();

  EXPECT_EQ(full.lost, 0U);
  EXPECT_GE(report.lost, kPages - kPage / 32);
  const auto losses = event.all<Lost>();
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].lost, report.lost);
  EXPECT_EQ(losses[0].event_id, event.id());
  EXPECT_EQ(event.all<Sample>().size() + report.lost, event.count());
}

TEST_F(RingBufferRealTest, LosesNothingWhileItIsReadInTime) {
  RecordedEvent event{kernel_, page_faults(), this_thread(), kPage};
  std::uint64_t records = 0;
  for (int round = 0; round < 300; ++round) {
    event.during([] { NewMemory{20}.touch(); });
    records += event.drain().records;
  }

  EXPECT_EQ(event.ring().totals().lost, 0U);
  EXPECT_EQ(records, event.count());
}

TEST_F(RingBufferRealTest, ReadsTheNewestRecordsOfAnOverwrittenRing) {
  SamplingRequest request = page_faults();
  request.write_backward = true;
  RecordedEvent event{kernel_, request, this_thread(), kPage};
  constexpr std::size_t kPages = 1000;
  NewMemory memory{kPages}, more{2};
  event.during([&] { memory.touch(); });
  std::vector<std::uint64_t> addresses;
  const auto keep = [&](std::span<const std::byte> record) {
    const auto decoded = decode_record(event.layout(), record);
    ASSERT_TRUE(decoded) << describe(decoded.error());
    addresses.push_back(std::get<Sample>(*decoded).address.value_or(0));
  };

  const Result<RingReport> report = event.ring().snapshot(kernel_, keep);

  ASSERT_TRUE(report) << describe(report.error());
  EXPECT_EQ(report->unreadable, 0U);
  EXPECT_EQ(report->records, kPage / 32);
  EXPECT_GE(report->overwritten + report->bytes, kPages * 32);
  // Newest first; there are few other faults in between.
  std::size_t page = kPages;
  for (const std::uint64_t address : addresses) {
    if (page > 0 && address == address_of(memory, page - 1)) --page;
  }
  EXPECT_LT(page, kPages - kPage / 32 + 10);

  addresses.clear();
  event.during([&] { more.touch(); });
  const Result<RingReport> next = event.ring().snapshot(kernel_, keep);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->overwritten, 0U);
  EXPECT_THAT(addresses, ::testing::Contains(address_of(more, 1)));
  EXPECT_THAT(addresses, ::testing::Not(::testing::Contains(address_of(memory, kPages - 1))));
}

TEST_F(RingBufferRealTest, HasNothingNewWhileItIsPaused) {
  RecordedEvent event{kernel_, page_faults(), this_thread()};

  ASSERT_TRUE(event.ring().pause(kernel_, true));
  event.during([] { NewMemory{10}.touch(); });
  const RingReport paused = event.drain();
  ASSERT_TRUE(event.ring().pause(kernel_, false));
  event.during([] { NewMemory{10}.touch(); });
  const RingReport resumed = event.drain();

  EXPECT_EQ(paused.records, 0U);
  EXPECT_GE(resumed.records, 10U);
  EXPECT_GE(resumed.lost, 10U);
}

TEST_F(RingBufferRealTest, SharesTheRingOfAnotherEvent) {
  SamplingRequest request = page_faults();
  request.sample_type |= PERF_SAMPLE_IDENTIFIER;
  RecordedEvent event{kernel_, request, this_thread()};
  SamplingRequest other = request;
  other.event.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
  other.event.exclude_kernel = other.disabled = false;
  const auto switches = open_sampling(kernel_, other, this_thread());
  ASSERT_TRUE(switches) << describe(switches.error());

  ASSERT_TRUE(event.ring().attach(kernel_, switches->fd.get()));
  event.during([] { NewMemory{3}.touch(); });
  ::usleep(1000);
  ASSERT_TRUE(RingBuffer::detach(kernel_, switches->fd.get()));

  std::size_t of_faults = 0, of_switches = 0;
  for (const Sample& sample : event.all<Sample>()) {
    of_faults += sample.identifier == event.id() ? 1 : 0;
    of_switches += sample.identifier == switches->id ? 1 : 0;
  }
  EXPECT_GE(of_faults, 3U);
  EXPECT_GE(of_switches, 1U);
  ::usleep(1000);
  EXPECT_EQ(event.drain().records, 0U);
}

TEST_F(RingBufferRealTest, DoesNotShareWithAnEventOfAnotherClock) {
  RecordedEvent event{kernel_, page_faults(), this_thread()};
  SamplingRequest other = page_faults();
  other.clockid = CLOCK_MONOTONIC;
  const auto of_other_clock = open_sampling(kernel_, other, this_thread());
  ASSERT_TRUE(of_other_clock);

  EXPECT_THAT(event.ring().attach(kernel_, of_other_clock->fd.get()), FailsWith(EINVAL));
}

TEST_F(RingBufferRealTest, IsReadableAfterSoManySamples) {
  SamplingRequest request = page_faults();
  request.wakeup_events = 3;
  NewMemory memory[] = {NewMemory{1}, NewMemory{1}, NewMemory{1}};
  RecordedEvent event{kernel_, request, this_thread()};
  std::vector<bool> readable;

  for (NewMemory& page : memory) {
    event.during([&] { page.touch(); });
    readable.push_back(is_readable(event.fd()));
  }

  if (event.count() != 3) GTEST_SKIP() << "other pages were touched meanwhile: NOT tested";
  EXPECT_THAT(readable, ElementsAre(false, false, true));
  EXPECT_FALSE(is_readable(event.fd())) << "each wake-up is reported once";
}

TEST_F(RingBufferRealTest, IsReadableAfterSoManyBytes) {
  SamplingRequest request = page_faults();
  request.wakeup_watermark = static_cast<std::uint32_t>(kPage / 2);
  RecordedEvent event{kernel_, request, this_thread()};

  event.during([] { NewMemory{8}.touch(); });
  const bool at_first = is_readable(event.fd());
  event.during([] { NewMemory{kPage / 64}.touch(); });

  EXPECT_FALSE(at_first);
  EXPECT_TRUE(is_readable(event.fd()));
  EXPECT_GE(event.ring().unread(), kPage / 2);
}

TEST_F(RingBufferRealTest, IsReadableWhenHalfOfItIsNewIfNothingElseWasAskedFor) {
  RecordedEvent event{kernel_, page_faults(), this_thread(), kPage};
  constexpr std::size_t kRecord = 32;  // a header, pid and tid, time, address

  event.during([] { NewMemory{kPage / 4 / kRecord}.touch(); });
  const bool at_a_quarter = is_readable(event.fd());
  event.during([] { NewMemory{kPage / 2 / kRecord}.touch(); });

  EXPECT_FALSE(at_a_quarter);
  EXPECT_TRUE(is_readable(event.fd()));
}

TEST_F(RingBufferRealTest, CannotBeOfAnEventWithAControlPage) {
  const auto event = open_sampling(kernel_, page_faults(), this_thread());
  ASSERT_TRUE(event);
  const auto page = ControlPage::map(kernel_, event->fd.get());
  ASSERT_TRUE(page);

  const auto ring = RingBuffer::open(kernel_, event->fd.get(), {2 * kPage, kPage});

  ASSERT_THAT(ring, FailsWith(EINVAL));
  EXPECT_THAT(ring.error().cause, HasSubstr("ControlPage"));
}

TEST_F(RingBufferRealTest, IsWrittenToUntilItIsGoneItself) {
  SamplingRequest request = page_faults();
  request.disabled = false;
  auto event = open_sampling(kernel_, request, this_thread());
  ASSERT_TRUE(event);
  auto ring = RingBuffer::open(kernel_, event->fd.get(), {kPage, kPage});
  ASSERT_TRUE(ring);
  NewMemory{5}.touch();

  event->fd.reset();
  const auto before = ring->drain([](std::span<const std::byte>) {}).records;
  NewMemory{5}.touch();
  const auto after = ring->drain([](std::span<const std::byte>) {}).records;

  EXPECT_GE(before, 5U);
  EXPECT_GE(after, 5U);
}

TEST_F(RingBufferRealTest, CannotBeOfAnInheritedEventOfAnyCpu) {
  SamplingRequest request = page_faults();
  request.inherit = true;
  const auto event = open_sampling(kernel_, request, {.pid = 0});
  ASSERT_TRUE(event);

  const auto ring = RingBuffer::open(kernel_, event->fd.get(), {kPage, kPage});

  ASSERT_THAT(ring, FailsWith(EINVAL));
  EXPECT_THAT(ring.error().remedy.text(), HasSubstr("once for each CPU"));
}

/// Without CAP_IPC_LOCK, that is: as another user, and with no memory to lock.
TEST_F(RingBufferRealTest, IsSmallerWhereLittleMemoryCanBeLocked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user: NOT tested";
  SamplingRequest request = page_faults();
  request.event.exclude_hypervisor = true;
  constexpr std::size_t kWanted = std::size_t{64} << 20;
  test::WaitingChild child{[&] {
    const rlimit nothing{0, 0};
    ::setrlimit(RLIMIT_MEMLOCK, &nothing);
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    const auto event = open_sampling(kernel_, request, this_thread());
    if (!event) ::_exit(event.error().code == EACCES ? 0 : 2);  // perf_event_paranoid is 3
    const auto ring = RingBuffer::open(kernel_, event->fd.get(), {kWanted, kPage});
    if (ring && ring->size() < kWanted) ::_exit(0);
    ::_exit(!ring && ring.error().code == EPERM ? 0 : 3);
  }};

  child.run();
}

TEST_F(RingBufferRealTest, HasNoAuxAreaIfThePmuDoesNotTrace) {
  RecordedEvent event{kernel_, page_faults(), this_thread()};

  EXPECT_THAT(AuxArea::open(kernel_, event.ring(), {kPage, kPage}), FailsWith(EOPNOTSUPP));
}

}  // namespace
}  // namespace pex::perf::ring_buffer_real_test
