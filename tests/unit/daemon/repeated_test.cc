#include "daemon/web/repeated.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

class RepeatedTest : public testing::Test {
 protected:
  boost::asio::io_context loop_{1};
  int calls_ = 0;
  int enough_ = 3;
  Repeated repeated_{loop_, 1ms, [this] { return ++calls_ < enough_; }};
};

TEST_F(RepeatedTest, IsDoneUntilItSaysThatItIsEnough) {
  repeated_.start();
  loop_.run();

  EXPECT_EQ(calls_, 3);
  EXPECT_FALSE(repeated_.is_running());
}

TEST_F(RepeatedTest, IsDoneUntilItStopsItself) {
  Repeated repeated{loop_, 1ms, [&] {
                      if (++calls_ == 3) repeated.stop();
                      return true;
                    }};
  repeated.start();
  loop_.run();

  EXPECT_EQ(calls_, 3);
}

TEST_F(RepeatedTest, IsNotDoneBeforeItsTime) {
  Repeated repeated{loop_, 1h, [this] {
                      ++calls_;
                      return true;
                    }};
  repeated.start();
  repeated_.start();
  loop_.poll();
  EXPECT_EQ(calls_, 0);

  repeated.stop();
  repeated_.stop();
  loop_.run();

  EXPECT_EQ(calls_, 0);
}

TEST_F(RepeatedTest, IsDoneAgainAfterItWasStartedAgain) {
  repeated_.start();
  loop_.run();
  enough_ = 5;
  repeated_.start();
  loop_.restart();
  loop_.run();

  EXPECT_EQ(calls_, 5);
}

TEST_F(RepeatedTest, IsNotDoneAfterItWasStopped) {
  enough_ = 1;
  repeated_.start();
  repeated_.stop();
  loop_.run();

  EXPECT_EQ(calls_, 0);
}

}  // namespace
}  // namespace pex::daemon
