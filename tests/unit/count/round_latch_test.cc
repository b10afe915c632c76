#include "count/round_latch.h"

#include <atomic>

#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::collect {
namespace {

TEST(RoundLatchTest, WaitsForTheLastWorkerOfTheRound) {
  RoundLatch latch;
  latch.start(1, 2);

  EXPECT_FALSE(latch.arrive(1));
  EXPECT_TRUE(latch.is_waiting());
  EXPECT_TRUE(latch.arrive(1));
  EXPECT_FALSE(latch.is_waiting());
}

TEST(RoundLatchTest, WaitsForNobodyInARoundWithoutWorkers) {
  RoundLatch latch;
  latch.start(1, 0);

  EXPECT_FALSE(latch.is_waiting());
}

TEST(RoundLatchTest, IgnoresAWorkerOfAClosedOrAnEarlierRound) {
  RoundLatch latch;
  latch.start(1, 1);
  latch.close();
  EXPECT_FALSE(latch.is_waiting());
  EXPECT_FALSE(latch.arrive(1));

  latch.start(2, 1);
  EXPECT_FALSE(latch.arrive(1));
  EXPECT_TRUE(latch.arrive(2));
}

TEST(RoundLatchTest, HasOneLastWorkerInEachRoundOfManyThreads) {
  constexpr std::size_t kWorkers = 4;
  test::run_rounds(1000, [](unsigned number) {
    const std::uint32_t round = number + 1;
    RoundLatch latch;
    std::atomic<int> last_ones = 0;
    latch.start(round, kWorkers);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&] { last_ones += latch.arrive(round) ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(last_ones, 1);
    ASSERT_FALSE(latch.is_waiting());
  });
}

}  // namespace
}  // namespace pex::collect
