#include "daemon/run/config_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <thread>

#include "support/patience.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

class ConfigWatchTest : public testing::Test {
 protected:
  ConfigWatchTest() { watch_.start(); }
  void replace(const std::string& text) {
    tree_.write("new.yaml", text);
    std::filesystem::rename(tree_.path("new.yaml"), tree_.path("config.yaml"));
  }
  /// Looks so many times.
  void look(int times) {
    while (times-- > 0) loop_.run_one();
  }

  test::TempTree tree_{{"config.yaml", "one"}};
  boost::asio::io_context loop_{1};
  int changes_ = 0;
  int in_place_ = 0;
  int tries_ = 0;  ///< of what was not adopted
  ConfigWatch watch_{loop_, tree_.path("config.yaml"),
                     [this](ConfigWatch::Reason why) {
                       ++(why == ConfigWatch::Reason::kReplaced         ? changes_
                          : why == ConfigWatch::Reason::kWrittenInPlace ? in_place_
                                                                        : tries_);
                       watch_.file_is_read();
                     },
                     1ms};
};

TEST_F(ConfigWatchTest, NothingHappensWhileTheFileIsTheSame) {
  look(5);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedIsReportedOnceItHasStayedTheSame) {
  replace("three");
  look(1);
  EXPECT_EQ(changes_, 0);

  look(5);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AChangeThatIsReadLaterIsReportedOnce) {
  int changes = 0;
  watch_.stop();
  ConfigWatch watch{loop_, tree_.path("config.yaml"), [&](auto) { ++changes; }, 1ms};
  watch.start();
  replace("three");
  look(8);
  EXPECT_EQ(changes, 1);
}

TEST_F(ConfigWatchTest, AFileThatIsWrittenInPlaceIsNoReplacedOneHoweverLongItsWriterPauses) {
  for (const char* text : {"o", "on", "one more", "one more line"}) {
    tree_.write("config.yaml", text);
    look(4);
  }
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(in_place_, 4);
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedAfterItWasWrittenInPlaceIsReported) {
  tree_.write("config.yaml", "half");
  look(4);
  replace("three");
  look(4);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedThroughALinkInItsPathIsAChange) {
  tree_.write("old/config.yaml", "same");
  tree_.write("new/config.yaml", "same");
  std::filesystem::create_directory_symlink("old", tree_.path("data"));
  ConfigWatch watch{loop_, tree_.path("data/config.yaml"),
                    [this](auto) {
                      ++changes_;
                      loop_.stop();
                    },
                    1ms};
  watch.start();

  std::filesystem::create_directory_symlink("new", tree_.path("data.new"));
  std::filesystem::rename(tree_.path("data.new"), tree_.path("data"));
  loop_.run();

  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AFileThatIsGoneIsAChange) {
  std::filesystem::remove(tree_.path("config.yaml"));
  look(3);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AChangeThatWasReadForAnotherReasonIsNone) {
  replace("three");
  watch_.file_is_read();  // by a signal
  look(3);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsDueOnceMoreAfterAMinute) {
  watch_.try_again();
  look(ConfigWatch::kLooksUntilNextTry - 1);
  EXPECT_EQ(tries_, 0);

  look(2 * ConfigWatch::kLooksUntilNextTry);
  EXPECT_EQ(tries_, 1);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileHasChanged) {
  watch_.try_again();
  replace("three");
  look(2 * ConfigWatch::kLooksUntilNextTry);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(tries_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileWasWrittenInPlace) {
  watch_.stop();
  int tries = 0;
  ConfigWatch watch{loop_, tree_.path("config.yaml"),
                    [&](ConfigWatch::Reason why) {
                      tries += why == ConfigWatch::Reason::kWrittenInPlace ? 0 : 1;
                    },
                    1ms};
  watch.start();
  watch.try_again();
  tree_.write("config.yaml", "half");
  look(2 * ConfigWatch::kLooksUntilNextTry);
  EXPECT_EQ(tries, 0);
}

TEST_F(ConfigWatchTest, TheLoopEndsOnceItIsStopped) {
  watch_.stop();
  loop_.run();
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, TheLoopEndsIfItIsStoppedAfterTheTimeForALookHasCome) {
  boost::asio::post(loop_, [this] {
    std::this_thread::sleep_for(5ms);
    boost::asio::post(loop_, [this] { watch_.stop(); });
  });
  loop_.run_for(test::kPatience);  // less, once it is out of work
  EXPECT_TRUE(loop_.stopped());
}

}  // namespace
}  // namespace pex::daemon
