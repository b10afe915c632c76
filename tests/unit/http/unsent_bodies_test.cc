#include "http/unsent_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pex::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UnsentBodiesTest : public testing::Test {
 protected:
  std::uint64_t begin(const Body& body, const char* client) {
    return unsent_.begin(body, [this, client] { dropped_.emplace_back(client); });
  }

  Body body(std::size_t bytes) {
    return bodies_.emplace_back(std::make_shared<const std::string>(bytes, 'x'));
  }

  std::vector<Body> bodies_;  ///< as clients hold theirs while they are sent
  UnsentBodies unsent_{100};
  std::vector<std::string> dropped_;
};

TEST_F(UnsentBodiesTest, CountEachBodyOnceHoweverManyClientsTakeIt) {
  const Body shared = body(60);

  const auto first = begin(shared, "first");
  begin(shared, "second");

  EXPECT_EQ(unsent_.bytes(), 60u);
  unsent_.end(first);
  EXPECT_EQ(unsent_.bytes(), 60u);
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnsentBodiesTest, DropWhoHasBeenAtAnotherBodyForLongestAndNoMoreThanNeeded) {
  const Body shared = body(40);
  begin(shared, "a");
  begin(body(30), "b");
  begin(shared, "c");
  begin(body(20), "d");

  begin(body(50), "e");

  EXPECT_THAT(dropped_, ElementsAre("a", "b", "c"));  // a alone frees nothing
  EXPECT_EQ(unsent_.bytes(), 70u);
}

TEST_F(UnsentBodiesTest, LetABodyThroughThatIsTooLargeOnItsOwn) {
  const Body large = body(1000);

  begin(large, "a");
  begin(large, "b");

  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(UnsentBodiesTest, CountTheMemoryThatABodyHoldsAndNotTheTextInIt) {
  std::string text = "short";
  text.reserve(90);

  const auto sending = begin(std::make_shared<const std::string>(std::move(text)), "a");

  EXPECT_GE(unsent_.bytes(), 90u);
  unsent_.end(sending);  // though the body is gone
  EXPECT_EQ(unsent_.bytes(), 0u);
}

TEST_F(UnsentBodiesTest, ForgetWhoWasDroppedOrHasTakenIt) {
  const auto dropped = begin(body(60), "a");
  const auto taken = begin(body(60), "b");
  unsent_.end(dropped);
  unsent_.end(taken);
  unsent_.end(taken);

  EXPECT_EQ(unsent_.bytes(), 0u);
  EXPECT_THAT(dropped_, ElementsAre("a"));
}

}  // namespace
}  // namespace pex::http
