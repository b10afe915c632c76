#include "daemon/web_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Of "x", with the least cost there is.
constexpr const char* kHash = "$2y$04$bcdefghijklmnopqrstuve9mTbZgbIFkXMBMZXzp1YE2C7Dj3KfPa";

std::string users(const std::string& name) {
  return "basic_auth_users: {" + name + ": '" + kHash + "'}\n";
}

class WebAccessTest : public testing::Test {
 protected:
  void write(const std::string& text) { tree_.write("web.yaml", text); }
  Result<WebAccess, std::vector<Error>> load() {
    return WebAccess::load(tree_.path("web.yaml"), remarks_);
  }
  std::shared_ptr<const http::Access> current(WebAccess& access) {
    return access.current(
        [this](const WebAccess::Outcome& outcome, const std::vector<std::string>& remarks) {
          outcomes_.push_back(outcome ? "" : describe(outcome.error().front()));
          remarks_ = remarks;
        },
        now_);
  }

  test::TempTree tree_;
  std::vector<std::string> remarks_;
  std::vector<std::string> outcomes_;
  WebAccess::Clock::time_point now_{};
};

TEST_F(WebAccessTest, IsForEverybodyWithoutAFile) {
  WebAccess access;

  EXPECT_EQ(current(access), current(access));
  EXPECT_FALSE(access.has_file());
}

TEST_F(WebAccessTest, IsReadAgainOnlyWhenItsFileChanges) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);
  const auto first = current(*access);
  EXPECT_EQ(current(*access), first);
  EXPECT_THAT(outcomes_, SizeIs(0));

  write(users("another"));

  EXPECT_NE(current(*access), first);
  EXPECT_THAT(outcomes_, testing::ElementsAre(""));
}

TEST_F(WebAccessTest, StaysAsItWasWhenAChangeCannotBeUsedAndSaysSoOnce) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);
  const auto first = current(*access);

  write("basic_auth_userz: {}\n");

  EXPECT_EQ(current(*access), first);
  EXPECT_EQ(current(*access), first);
  ASSERT_THAT(outcomes_, SizeIs(1));
  EXPECT_THAT(outcomes_[0], HasSubstr("basic_auth_userz"));
}

TEST_F(WebAccessTest, FollowsAChangeThatCanBeUsedAfterOneThatCannot) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);
  const auto first = current(*access);
  write("[");
  (void)current(*access);

  write(users("b"));

  EXPECT_NE(current(*access), first);
  EXPECT_THAT(outcomes_, SizeIs(2));
  EXPECT_EQ(outcomes_.back(), "");
}

TEST_F(WebAccessTest, NoticesWhenAFileThatItsFileNamesAppears) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);
  write("tls_server_config: {cert_file: a.crt, key_file: a.key}\n");
  (void)current(*access);
  (void)current(*access);
  EXPECT_THAT(outcomes_, SizeIs(1));  // not there

  tree_.write("a.crt", "no certificate");
  (void)current(*access);

  EXPECT_THAT(outcomes_, SizeIs(2));
}

TEST_F(WebAccessTest, TriesAgainAfterAWhileWhatASystemCallHasRefused) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);
  tree_.remove("web.yaml");
  tree_.make_directory("web.yaml");  // EISDIR, as good as a lack of descriptors
  (void)current(*access);
  (void)current(*access);
  EXPECT_THAT(outcomes_, SizeIs(1));

  now_ += std::chrono::minutes{1};
  (void)current(*access);

  EXPECT_THAT(outcomes_, SizeIs(2));
}

TEST_F(WebAccessTest, SaysOfAChangeWhatMakesNoDifference) {
  write(users("a"));
  auto access = load();
  ASSERT_TRUE(access);

  write("http_server_config: {http2: true}\n");
  (void)current(*access);

  EXPECT_THAT(remarks_, SizeIs(1));
}

TEST_F(WebAccessTest, FailsToLoadWithEverythingThatIsWrong) {
  write("a: 1\nb: 2\n");

  const auto access = load();

  ASSERT_FALSE(access);
  EXPECT_THAT(access.error(), SizeIs(2));
}

}  // namespace
}  // namespace pex::daemon
