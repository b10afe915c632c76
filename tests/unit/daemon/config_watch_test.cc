#include "daemon/run/config_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "support/few_descriptors.h"
#include "support/patience.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

class ConfigWatchTest : public testing::Test {
 protected:
  void replace(const std::string& text) {
    tree_.write("new.yaml", text);
    std::filesystem::rename(tree_.path("new.yaml"), tree_.path("config.yaml"));
  }
  FileFingerprints file() const {
    FileFingerprints now;
    now.add(tree_.path("config.yaml"));
    return now;
  }
  /// Looks so many times.
  void look(int times) {
    while (times-- > 0) watch_.see(file(), false);
  }

  Log log_{LogLevel::kError, LogFormat::kLogfmt};
  test::TempTree tree_{{"config.yaml", "one"}};
  boost::asio::io_context loop_{1};
  int changes_ = 0;
  int in_place_ = 0;
  int tries_ = 0;  ///< of what was not adopted
  int restless_ = 0;
  ConfigWatch watch_{loop_, log_, tree_.path("config.yaml"),
                     [this](ConfigWatch::Reason why) {
                       ++(why == ConfigWatch::Reason::kReplaced         ? changes_
                          : why == ConfigWatch::Reason::kWrittenInPlace ? in_place_
                          : why == ConfigWatch::Reason::kNeverRests     ? restless_
                                                                        : tries_);
                       if (why != ConfigWatch::Reason::kNeverRests) watch_.file_is_read(file());
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
  ConfigWatch watch{loop_, log_, tree_.path("config.yaml"), [&](auto) { ++changes; }, 1ms};
  replace("three");
  for (int i = 0; i < 8; ++i) watch.see(file(), false);
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

TEST_F(ConfigWatchTest, AFileOfAnotherHostMayBeHalfWrittenUnlessItWasMovedAfterItWasWritten) {
  std::filesystem::rename(tree_.path("config.yaml"), tree_.path("kept"));
  tree_.write("config.yaml", "half");
  for (int i = 0; i < 4; ++i) watch_.see(file(), {});
  EXPECT_EQ(in_place_, 1);
  EXPECT_EQ(changes_, 0);

  tree_.write("new.yaml", "three");
  std::filesystem::last_write_time(tree_.path("new.yaml"),
                                   std::filesystem::file_time_type::clock::now() - 1h);
  std::filesystem::rename(tree_.path("new.yaml"), tree_.path("config.yaml"));
  for (int i = 0; i < 4; ++i) watch_.see(file(), {});
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedThroughALinkInItsPathIsAChange) {
  tree_.write("old/config.yaml", "same");
  tree_.write("new/config.yaml", "same");
  std::filesystem::create_directory_symlink("old", tree_.path("data"));
  ConfigWatch watch{loop_, log_, tree_.path("data/config.yaml"),
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

/// What is done with a file while the loop looks at it -> why it is due.
class ComingFileTest : public ConfigWatchTest {
 protected:
  ConfigWatch::Reason reason_after(const std::function<void()>& change, bool has_inotify = true) {
    std::optional<ConfigWatch::Reason> reason;
    ConfigWatch watch{loop_, log_, tree_.path("config.yaml"),
                      [&](ConfigWatch::Reason why) {
                        reason = why;
                        loop_.stop();
                      },
                      1ms};
    std::optional<test::FewDescriptors> none;
    if (!has_inotify) none.emplace(0);
    watch.start();
    change();
    loop_.run_for(test::kPatience);
    return reason.value();
  }
};

TEST_F(ComingFileTest, OneThatIsCreatedInThePlaceOfTheOldOneMayBeHalfWritten) {
  EXPECT_EQ(reason_after([this] {
              std::filesystem::rename(tree_.path("config.yaml"), tree_.path("kept"));
              tree_.write("config.yaml", "hal");
            }),
            ConfigWatch::Reason::kWrittenInPlace);
}

TEST_F(ComingFileTest, OneThatIsMovedThereWasWrittenBefore) {
  EXPECT_EQ(reason_after([this] {
              std::filesystem::rename(tree_.path("config.yaml"), tree_.path("kept"));
              replace("three");
            }),
            ConfigWatch::Reason::kReplaced);
}

TEST_F(ComingFileTest, OneThatIsWrittenAfterItWasMovedThereMayBeHalfWritten) {
  EXPECT_EQ(reason_after([this] {
              replace("three");
              tree_.write("config.yaml", "hal");
            }),
            ConfigWatch::Reason::kWrittenInPlace);
}

TEST_F(ComingFileTest, OneThatALinkLeadsToWasWrittenBefore) {
  EXPECT_EQ(reason_after([this] {
              tree_.write("other.yaml", "other");
              std::filesystem::create_symlink("other.yaml", tree_.path("link"));
              std::filesystem::rename(tree_.path("link"), tree_.path("config.yaml"));
            }),
            ConfigWatch::Reason::kReplaced);
}

TEST_F(ComingFileTest, OneThatALinkLeadsToWasWrittenBeforeAlsoWithoutInotify) {
  tree_.write("other.yaml", "other");
  std::filesystem::create_symlink("other.yaml", tree_.path("link"));
  const auto change = [this] {
    std::filesystem::rename(tree_.path("link"), tree_.path("config.yaml"));
  };
  EXPECT_EQ(reason_after(change, false), ConfigWatch::Reason::kReplaced);
}

TEST_F(ComingFileTest, OneThatIsCreatedInANewDirectoryMayBeHalfWritten) {
  tree_.write("directory/config.yaml", "one");
  std::filesystem::remove(tree_.path("config.yaml"));
  std::filesystem::create_symlink("directory/config.yaml", tree_.path("config.yaml"));
  EXPECT_EQ(reason_after([this] {
              std::filesystem::rename(tree_.path("directory"), tree_.path("kept"));
              tree_.write("directory/config.yaml", "hal");
            }),
            ConfigWatch::Reason::kWrittenInPlace);
}

TEST_F(ConfigWatchTest, AFileThatIsGoneIsAChange) {
  std::filesystem::remove(tree_.path("config.yaml"));
  look(3);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, AChangeThatWasReadForAnotherReasonIsNone) {
  replace("three");
  watch_.file_is_read(file());  // by a signal
  look(3);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsDueOnceMoreAfterAMinute) {
  watch_.try_again();
  look(ConfigWatch::kLooksOfAMinute - 1);
  EXPECT_EQ(tries_, 0);

  look(2 * ConfigWatch::kLooksOfAMinute);
  EXPECT_EQ(tries_, 1);
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileHasChanged) {
  watch_.try_again();
  replace("three");
  look(2 * ConfigWatch::kLooksOfAMinute);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(tries_, 0);
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileWasWrittenInPlace) {
  int tries = 0;
  ConfigWatch watch{loop_, log_, tree_.path("config.yaml"),
                    [&](ConfigWatch::Reason why) {
                      tries += why == ConfigWatch::Reason::kWrittenInPlace ? 0 : 1;
                    },
                    1ms};
  watch.try_again();
  tree_.write("config.yaml", "half");
  for (int i = 0; i < 2 * ConfigWatch::kLooksOfAMinute; ++i) watch.see(file(), false);
  EXPECT_EQ(tries, 0);
}

TEST_F(ConfigWatchTest, AFileThatChangesAtEachLookIsReportedOnceAfterAMinute) {
  const std::ifstream original{tree_.path("config.yaml")};  // keeps its inode from being used again
  for (int i = 0; i < 3 * ConfigWatch::kLooksOfAMinute; ++i) {
    replace(std::to_string(i));
    look(1);
  }
  EXPECT_EQ(restless_, 1);
  EXPECT_EQ(changes_, 0);

  look(2);
  EXPECT_EQ(changes_, 1);
}

TEST_F(ConfigWatchTest, TheLoopGoesOnWhileTheFileSystemDoesNotAnswer) {
  std::promise<void> answer;
  FileThread files{loop_, log_, "test", "a file"};
  bool has_ended = false;
  files.run([&, answered = answer.get_future().share()]() -> std::function<void()> {
    answered.wait();
    return [&] { has_ended = true; };
  });

  bool goes_on = false;
  boost::asio::post(loop_, [&] { goes_on = true; });
  loop_.run_for(10ms);
  EXPECT_TRUE(goes_on && files.is_busy() && !has_ended);

  answer.set_value();
  loop_.run_for(test::kPatience);
  EXPECT_TRUE(has_ended && !files.is_busy());
}

TEST_F(ConfigWatchTest, TheLoopEndsOnceItIsStopped) {
  watch_.start();
  watch_.stop();
  loop_.run();
  EXPECT_EQ(changes_, 0);
}

TEST_F(ConfigWatchTest, TheLoopEndsIfItIsStoppedAfterTheTimeForALookHasCome) {
  watch_.start();
  boost::asio::post(loop_, [this] {
    std::this_thread::sleep_for(5ms);
    boost::asio::post(loop_, [this] { watch_.stop(); });
  });
  loop_.run_for(test::kPatience);  // less, once it is out of work
  EXPECT_TRUE(loop_.stopped());
}

}  // namespace
}  // namespace pex::daemon
