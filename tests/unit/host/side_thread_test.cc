#include "host/side_thread.h"

#include <atomic>

#include "base/semaphore.h"
#include "support/patience.h"
#include "support/test_headers.h"

namespace pex::host::side_thread_test {
namespace {

using namespace std::chrono_literals;
using Clock = SideThread::Clock;

/// Waits until it is let go, as a file system without its server does.
struct Hanging {
  Semaphore begun;
  Semaphore go_on;
  std::atomic<int> times = 0;

  void operator()() {
    begun.post();
    go_on.wait();
    ++times;
  }
};

TEST(SideThreadTest, DoesItsJobEachTime) {
  int times = 0;
  SideThread thread("test", [&times] { ++times; });
  for (const int time : {1, 2, 3}) {
    thread.begin();
    ASSERT_TRUE(thread.wait_until(Clock::now() + test::kPatience));
    EXPECT_EQ(times, time);
  }
}

TEST(SideThreadTest, IsBusyUntilTheEndOfTheJobIsSeen) {
  const auto job = std::make_shared<Hanging>();
  SideThread thread("test", [job] { (*job)(); });
  thread.begin();

  EXPECT_FALSE(thread.wait_until(Clock::now() + 1ms));
  EXPECT_TRUE(thread.is_busy());

  job->go_on.post();
  EXPECT_TRUE(thread.wait_until(Clock::now() + test::kPatience));
  EXPECT_FALSE(thread.is_busy());
  EXPECT_EQ(job->times, 1);
}

TEST(SideThreadTest, AJobThatHangsKeepsWhatItOwnsAndDelaysNoEnd) {
  const auto job = std::make_shared<Hanging>();
  {
    SideThread thread("test", [job] { (*job)(); });
    thread.begin();
    ASSERT_TRUE(job->begun.wait_until(Clock::now() + test::kPatience));
  }
  EXPECT_GT(job.use_count(), 1);

  job->go_on.post();
  EXPECT_TRUE(test::comes_true([&] { return job.use_count() == 1; }));
}

}  // namespace
}  // namespace pex::host::side_thread_test
