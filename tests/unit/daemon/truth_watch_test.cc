#include "daemon/run/truth_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

TEST(TruthWatchTest, AsksForOneCheckAfterTheOtherUntilItIsStopped) {
  boost::asio::io_context loop{1};
  int checks = 0;
  TruthWatch watch{loop,
                   [&] {
                     if (++checks == 3) watch.stop();
                   },
                   1ms};
  watch.start();
  loop.run();

  EXPECT_EQ(checks, 3);
}

TEST(TruthWatchTest, AsksForNoneBeforeItsTime) {
  boost::asio::io_context loop{1};
  int checks = 0;
  TruthWatch watch{loop, [&] { ++checks; }};
  watch.start();
  loop.poll();
  watch.stop();
  loop.run();

  EXPECT_EQ(checks, 0);
}

}  // namespace
}  // namespace pex::daemon
