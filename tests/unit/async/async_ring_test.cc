#include "async/async_ring.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>

#include "support/real_events.h"
#include "support/test_headers.h"

namespace pex::async {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using test::NewMemory;
using test::RecordedEvent;

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kRecord = 16;  // a header, pid and tid

/// A sample for each page fault of user mode, while it is enabled.
perf::SamplingRequest page_faults(std::uint32_t wakeup_events = 0) {
  perf::SamplingRequest request = test::software_request(PERF_COUNT_SW_PAGE_FAULTS);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_TID;
  request.event.exclude_kernel = true;
  request.disabled = true;
  request.wakeup_events = wakeup_events;
  return request;
}

class AsyncRingTest : public test::RealEventsTest {
 protected:
  void wait(AsyncRing& ring) {
    result_.reset();
    ring.async_wait([this](error_code error) { result_ = error; });
  }
  /// Whatever can complete without anything new.
  void poll() {
    context_.restart();
    context_.poll();
  }

  asio::io_context context_;
  std::optional<error_code> result_;  ///< nothing while it waits
};

TEST_F(AsyncRingTest, CompletesAtTheWatermark) {
  perf::SamplingRequest request = page_faults();
  request.wakeup_watermark = static_cast<std::uint32_t>(kPage / 2);
  RecordedEvent event{kernel_, request, this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring(), kPage / 2};
  const auto fill_a_third = [] { NewMemory{kPage / 3 / kRecord}.touch(); };

  wait(ring);
  poll();
  event.during(fill_a_third);
  poll();
  const bool completed_early = result_.has_value();
  event.during(fill_a_third);
  poll();

  EXPECT_FALSE(completed_early);
  EXPECT_EQ(result_, error_code{});
  EXPECT_GE(event.ring().unread(), kPage / 2);
}

TEST_F(AsyncRingTest, WaitsAgainOnceTheRingWasRead) {
  RecordedEvent event{kernel_, page_faults(/*wakeup_events=*/1), this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};

  for (int round = 0; round < 3; ++round) {
    event.drain();
    wait(ring);
    poll();
    EXPECT_FALSE(result_) << round;
    event.during([] { NewMemory{1}.touch(); });
    poll();
    EXPECT_EQ(result_, error_code{}) << round;
  }
}

TEST_F(AsyncRingTest, CompletesAtOnceWhereThereIsEnough) {
  RecordedEvent event{kernel_, page_faults(/*wakeup_events=*/1), this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};
  event.during([] { NewMemory{1}.touch(); });
  poll();  // nobody waits for the wake-up, and there is no other one

  wait(ring);
  poll();

  EXPECT_EQ(result_, error_code{});
}

TEST_F(AsyncRingTest, CompletesOnlyWithinTheLoop) {
  RecordedEvent event{kernel_, page_faults(), this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};
  event.during([] { NewMemory{1}.touch(); });

  wait(ring);

  EXPECT_FALSE(result_);
}

TEST_F(AsyncRingTest, CompletesWhenItIsCancelledAndWaitsAgainAfterThat) {
  RecordedEvent event{kernel_, page_faults(/*wakeup_events=*/1), this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};
  wait(ring);
  ring.cancel();
  poll();
  EXPECT_EQ(result_, asio::error::operation_aborted);

  wait(ring);
  event.during([] { NewMemory{1}.touch(); });
  poll();

  EXPECT_EQ(result_, error_code{});
}

TEST_F(AsyncRingTest, CompletesWhatWaitsWhenItGoes) {
  RecordedEvent event{kernel_, page_faults(), this_thread(), kPage};
  {
    AsyncRing ring{context_.get_executor(), event.ring()};
    wait(ring);
  }

  poll();

  EXPECT_EQ(result_, asio::error::operation_aborted);
  EXPECT_NE(::fcntl(event.fd(), F_GETFD), -1) << "the event is still open";
}

TEST_F(AsyncRingTest, ReportsTheEndOfTheThread) {
  perf::SamplingRequest request = page_faults();
  request.disabled = false;
  test::WaitingChild child{[] { NewMemory{3}.touch(); }};
  RecordedEvent event{kernel_, request, process(child.pid()), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};
  child.run();

  wait(ring);
  poll();
  const auto before = result_;
  event.drain();
  wait(ring);
  poll();

  EXPECT_EQ(before, error_code{}) << "there are records to be read";
  EXPECT_EQ(result_, asio::error::eof);
}

TEST_F(AsyncRingTest, CanBeAwaited) {
  RecordedEvent event{kernel_, page_faults(/*wakeup_events=*/1), this_thread(), kPage};
  AsyncRing ring{context_.get_executor(), event.ring()};
  std::uint64_t records = 0;
  const auto read_twice = [&]() -> asio::awaitable<void> {
    for (int round = 0; round < 2; ++round) {
      co_await ring.async_wait(asio::use_awaitable);
      records += event.drain().records;
    }
  };

  asio::co_spawn(context_, read_twice, asio::detached);
  for (int round = 0; round < 2; ++round) {
    poll();
    event.during([] { NewMemory{1}.touch(); });
  }
  poll();

  EXPECT_GE(records, 2U);
}

class AsyncRingExample : public AsyncRingTest {};

TEST_F(AsyncRingExample, IsRight) {
  asio::io_context context;
  RecordedEvent event{kernel_, page_faults(), this_thread(), kPage};
  perf::RingBuffer* const ring = &event.ring();
  std::size_t records = 0;
  const auto visit = [&](std::span<const std::byte>) { ++records; };
  event.during([] { NewMemory{1}.touch(); });

  AsyncRing waiting{context.get_executor(), *ring};
  waiting.async_wait([&](boost::system::error_code error) {
    if (!error) ring->drain(visit);
  });
  context.run();

  EXPECT_GE(records, 1U);
}

}  // namespace
}  // namespace pex::async
