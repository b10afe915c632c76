#include "collect/round_latch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/time_budget.h"

namespace pex::collect {
namespace {

TEST(RoundLatchTest, GivesTheRoundToTheLastWorkerToArrive) {
  RoundLatch latch;
  latch.start(1, 2);
  ASSERT_FALSE(latch.release());

  EXPECT_FALSE(latch.arrive(1));
  EXPECT_TRUE(latch.arrive(1));
}

TEST(RoundLatchTest, LeavesTheRoundToWhoReleasesItWhenAllHaveArrived) {
  RoundLatch latch;
  latch.start(1, 1);

  EXPECT_FALSE(latch.arrive(1));
  EXPECT_TRUE(latch.release());
}

TEST(RoundLatchTest, IsClosedOnceAndOnlyWhileItWaits) {
  RoundLatch latch;
  latch.start(1, 2);
  EXPECT_FALSE(latch.close(1));
  (void)latch.release();

  EXPECT_TRUE(latch.is_waiting());
  EXPECT_TRUE(latch.close(1));
  EXPECT_FALSE(latch.close(1));
  EXPECT_FALSE(latch.is_waiting());
}

TEST(RoundLatchTest, IsNotClosedByWhoLooksAtAnEarlierRound) {
  RoundLatch latch;
  latch.start(2, 1);
  (void)latch.release();

  EXPECT_FALSE(latch.close(1));
  EXPECT_TRUE(latch.is_waiting());
}

TEST(RoundLatchTest, IgnoresAWorkerOfAClosedOrAnEarlierRound) {
  RoundLatch latch;
  latch.start(1, 1);
  (void)latch.release();
  ASSERT_TRUE(latch.close(1));
  EXPECT_FALSE(latch.arrive(1));

  latch.start(2, 1);
  (void)latch.release();
  EXPECT_FALSE(latch.arrive(1));
  EXPECT_TRUE(latch.arrive(2));
}

TEST(RoundLatchTest, HasOneOwnerForEachRoundOfManyThreads) {
  constexpr std::size_t kWorkers = 4;
  test::run_rounds(1000, [](unsigned number) {
    const std::uint32_t round = number + 1;
    RoundLatch latch;
    std::atomic<int> owners = 0;
    latch.start(round, kWorkers);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&] { owners += latch.arrive(round) ? 1 : 0; });
    }
    owners += latch.release() ? 1 : 0;
    owners += latch.close(round) ? 1 : 0;
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(owners, 1);
  });
}

}  // namespace
}  // namespace pex::collect
