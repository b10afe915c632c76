#include "count/wanted_time.h"

#include <gtest/gtest.h>

namespace pex::collect {
namespace {

using namespace std::chrono_literals;

TEST(WantedTimeTest, IsWhatTheKernelReportsWhileTheGroupIsNeverStopped) {
  WantedTime wanted;

  EXPECT_EQ(wanted.advance(10ms, 100ms, false), 10ms);
  EXPECT_EQ(wanted.advance(20ms, 200ms, false), 20ms);
}

TEST(WantedTimeTest, HasTheTimeOnTheCpuOfAGroupThatIsRotatedByHand) {
  WantedTime wanted;
  (void)wanted.advance(10ms, 100ms, true);

  EXPECT_EQ(wanted.advance(0ms, 130ms, true), 30ms);   // stopped all the time
  EXPECT_EQ(wanted.advance(15ms, 150ms, true), 20ms);  // and for 5 ms of these 20
  EXPECT_EQ(wanted.advance(20ms, 160ms, true), 20ms);  // the kernel's clock may be ahead
  EXPECT_EQ(wanted.advance(5ms, {}, true), 5ms);       // not known
}

TEST(WantedTimeTest, OfALossBeginsAtTheLastReading) {
  WantedTime wanted;
  (void)wanted.advance(10ms, 100ms, false);

  EXPECT_EQ(wanted.lost(130ms), std::nullopt);  // the kernel may still hold some of these 30 ms
  EXPECT_EQ(wanted.lost(150ms), 20ms);
  EXPECT_EQ(wanted.regained(5ms, 160ms), 35ms);  // of 60 ms, but for 20 lost and 5 counted
  EXPECT_EQ(wanted.regained(0ms, 170ms), std::nullopt);
}

TEST(WantedTimeTest, OfALossEndsWhenTheGroupIsClosed) {
  WantedTime wanted;
  (void)wanted.advance(10ms, 100ms, false);
  wanted.detect_loss();

  EXPECT_EQ(wanted.closed(140ms), 40ms);
  EXPECT_EQ(wanted.closed(150ms), std::nullopt);
}

TEST(WantedTimeTest, OfALossBeforeAnyReadingBeginsWhenItIsFound) {
  WantedTime wanted;

  EXPECT_EQ(wanted.lost(100ms), std::nullopt);
  EXPECT_EQ(wanted.lost(120ms), 20ms);
  EXPECT_EQ(wanted.closed(125ms), 5ms);
}

TEST(WantedTimeTest, OfALossIsNotKnownWithoutATimeOnTheCpu) {
  WantedTime wanted;
  (void)wanted.advance(10ms, {}, false);

  EXPECT_EQ(wanted.lost({}), std::nullopt);
  EXPECT_EQ(wanted.lost({}), std::nullopt);
  EXPECT_EQ(wanted.regained(10ms, {}), std::nullopt);
}

TEST(WantedTimeTest, OfALossNeverFalls) {
  WantedTime wanted;
  (void)wanted.advance(10ms, 100ms, false);
  wanted.detect_loss();

  EXPECT_EQ(wanted.regained(30ms, 120ms), 0ms);
}

}  // namespace
}  // namespace pex::collect
