#include "base/alarm.h"

#include <gtest/gtest.h>

#include <thread>

namespace pex {
namespace {

using namespace std::chrono_literals;

TEST(AlarmTest, RungBeforeItIsWaitedForItWakesAtOnce) {
  const std::unique_ptr<Alarm> alarm = *Alarm::create();
  alarm->ring();
  alarm->ring();

  EXPECT_EQ(alarm->wait(), Alarm::Cause::kRung);
}

TEST(AlarmTest, WakesWhoWaits) {
  const std::unique_ptr<Alarm> alarm = *Alarm::create();
  std::thread ringing{[&] { alarm->ring(); }};

  EXPECT_EQ(alarm->wait(), Alarm::Cause::kRung);
  ringing.join();
}

TEST(AlarmTest, WakesWhenItsTimeHasCome) {
  const std::unique_ptr<Alarm> alarm = *Alarm::create();
  alarm->expire_after(1h);
  alarm->expire_after(-1s);  // takes its place

  EXPECT_EQ(alarm->wait(), Alarm::Cause::kExpired);
}

TEST(AlarmTest, ATimeThatWasCancelledWakesNoOne) {
  const std::unique_ptr<Alarm> alarm = *Alarm::create();
  alarm->expire_after(1ns);
  alarm->cancel();
  alarm->ring();

  EXPECT_EQ(alarm->wait(), Alarm::Cause::kRung);
  alarm->expire_after(1ns);
  EXPECT_EQ(alarm->wait(), Alarm::Cause::kExpired);
}

}  // namespace
}  // namespace pex
