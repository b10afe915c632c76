#include "daemon/run/hierarchy_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

class HierarchyWatchTest : public testing::Test {
 protected:
  boost::asio::io_context loop_{1};
  int looks_ = 0;
  int found_ = 0;
  int there_from_look_ = 3;
  HierarchyWatch watch_{loop_,
                        {.is_there = [this] { return ++looks_ >= there_from_look_; },
                         .on_found = [this] { ++found_; }},
                        1ms};
};

TEST_F(HierarchyWatchTest, LooksUntilThereIsOneAndReportsItOnce) {
  watch_.start();
  loop_.run();

  EXPECT_EQ(looks_, 3);
  EXPECT_EQ(found_, 1);
}

TEST_F(HierarchyWatchTest, DoesNotLookBeforeItsTime) {
  watch_.start();
  loop_.poll();

  EXPECT_EQ(looks_, 0);
}

TEST_F(HierarchyWatchTest, LooksAgainAfterItWasStartedAgain) {
  watch_.start();
  loop_.run();
  there_from_look_ = 5;
  watch_.start();
  loop_.restart();
  loop_.run();

  EXPECT_EQ(looks_, 5);
  EXPECT_EQ(found_, 2);
}

TEST_F(HierarchyWatchTest, ReportsNothingAfterItWasStopped) {
  there_from_look_ = 1;
  watch_.start();
  watch_.stop();
  loop_.run();

  EXPECT_EQ(found_, 0);
}

}  // namespace
}  // namespace pex::daemon
