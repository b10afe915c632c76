#include <gtest/gtest.h>

#include <string>

#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"

namespace pex::http {
namespace {

/// A server that may keep one body and a half, unless the test says otherwise.
class UnsentBodiesTest : public ServerTest {
 protected:
  static constexpr std::size_t kMost = kBigBody + kBigBody / 2;

  /// It has a part of the body, and takes no more.
  RawClient slow_client(const std::string& path) {
    RawClient slow = client_that_sends("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_GE(slow.read_up_to(1000), 1000u);
    return slow;
  }

  static bool is_dropped(RawClient& slow) { return slow.read_up_to(kBigBody) < kBigBody - 1000; }
};

TEST_F(UnsentBodiesTest, CountEachBodyOnceHoweverManyClientsTakeIt) {
  start({.max_unsent_bytes = kMost});
  RawClient slow = slow_client("/big");

  EXPECT_EQ(client().get("/big").body.size(), kBigBody);

  EXPECT_FALSE(is_dropped(slow));
  EXPECT_EQ(errors().unsent_limit, 0u);
}

TEST_F(UnsentBodiesTest, DropWhoHasBeenAtAnotherBodyForLongestAndNoMoreThanNeeded) {
  start({.max_unsent_bytes = kMost + kBigBody});
  RawClient shares = slow_client("/big");
  RawClient own = slow_client("/own-big");
  RawClient shares_too = slow_client("/big");

  EXPECT_EQ(client().get("/own-big").body.size(), kBigBody);

  EXPECT_TRUE(is_dropped(shares));  // this alone frees nothing
  EXPECT_TRUE(is_dropped(own));
  EXPECT_FALSE(is_dropped(shares_too));
  EXPECT_EQ(errors().unsent_limit, 2u);
}

TEST_F(UnsentBodiesTest, LetABodyThroughThatIsTooLargeOnItsOwn) {
  start({.max_unsent_bytes = 1});
  RawClient slow = slow_client("/big");

  EXPECT_EQ(client().get("/big").body.size(), kBigBody);

  EXPECT_FALSE(is_dropped(slow));
}

TEST_F(UnsentBodiesTest, CountTheMemoryThatABodyHoldsAndNotTheTextInIt) {
  start({.max_unsent_bytes = kMost});
  RawClient slow = slow_client("/big");

  EXPECT_EQ(client().get("/reserved").body, "short");

  EXPECT_TRUE(is_dropped(slow));
}

TEST_F(UnsentBodiesTest, ForgetWhoWasDroppedOrHasTakenIt) {
  start({.max_unsent_bytes = kMost});
  RawClient dropped = slow_client("/own-big");
  EXPECT_EQ(client().get("/own-big").body.size(), kBigBody);
  EXPECT_EQ(errors().unsent_limit, 1u);

  RawClient slow = slow_client("/own-big");

  EXPECT_FALSE(is_dropped(slow));
  EXPECT_TRUE(is_dropped(dropped));
  EXPECT_EQ(errors().unsent_limit, 1u);
}

}  // namespace
}  // namespace pex::http
