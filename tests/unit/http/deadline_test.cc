#include "http/deadline.h"

#include <boost/asio/io_context.hpp>

#include "support/test_headers.h"

namespace pex::http {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class DeadlineTest : public ::testing::Test {
 protected:
  void set(milliseconds allowed) {
    deadline_->set(allowed, deadline_, [this] { ++expired_; });
  }

  /// Until nothing is left that is due.
  void run() {
    while (loop_.poll() > 0) loop_.restart();
  }

  boost::asio::io_context loop_;
  std::shared_ptr<Deadline> deadline_ = std::make_shared<Deadline>(loop_.get_executor());
  int expired_ = 0;
};

TEST_F(DeadlineTest, ExpiresOnceAlsoEarlierThanWhatWasSetBefore) {
  set(hours{1});
  set(milliseconds{0});

  run();
  run();

  EXPECT_EQ(expired_, 1);
  EXPECT_TRUE(deadline_->has_passed());
}

TEST_F(DeadlineTest, DoesNotExpireWhenItWasPutOffUntilItIsSetAgain) {
  set(milliseconds{0});
  set(hours{1});
  run();
  EXPECT_EQ(expired_, 0);
  EXPECT_FALSE(deadline_->has_passed());

  set(milliseconds{0});
  run();
  EXPECT_EQ(expired_, 1);
}

TEST_F(DeadlineTest, DoesNotExpireWhenItWasLiftedOrItsOwnerIsGone) {
  set(milliseconds{0});
  deadline_->lift();
  run();
  EXPECT_EQ(expired_, 0);

  set(milliseconds{0});
  deadline_.reset();
  run();
  EXPECT_EQ(expired_, 0);
}

}  // namespace
}  // namespace pex::http
