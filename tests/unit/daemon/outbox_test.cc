#include "daemon/log/outbox.h"

#include "base/semaphore.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

std::unique_ptr<Outbox> outbox_of(std::size_t capacity) {
  auto outbox = Outbox::create("test", capacity);
  EXPECT_TRUE(outbox);
  return std::move(*outbox);
}

TEST(OutboxTest, DoesEachJobInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    const auto outbox = outbox_of(100);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(outbox->post([&done, i] { done.push_back(i); }));
  }

  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(OutboxTest, TakesNoMoreThanItsCapacityWhileAJobWaits) {
  Semaphore begun;
  Semaphore goes_on;
  const auto outbox = outbox_of(4);
  ASSERT_TRUE(outbox->post([&] {
    begun.post();
    goes_on.wait();
  }));
  begun.wait();

  int taken = 0;
  for (int i = 0; i < 10; ++i) taken += outbox->post([] {}) ? 1 : 0;

  EXPECT_EQ(taken, 4);
  goes_on.post();
}

TEST(OutboxTest, LeavesAJobBehindThatNeverEnds) {
  const auto begun = std::make_shared<Semaphore>();
  const auto never = std::make_shared<Semaphore>();
  auto outbox = outbox_of(4);
  ASSERT_TRUE(outbox->post([begun, never] {
    begun->post();
    never->wait();
  }));
  begun->wait();

  outbox.reset();  // or the test never ends

  EXPECT_GT(never.use_count(), 1);  // what the job owns is still there
}

}  // namespace
}  // namespace pex::daemon
