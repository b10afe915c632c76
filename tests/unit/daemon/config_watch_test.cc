#include "daemon/run/config_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>

#include "support/few_descriptors.h"
#include "support/patience.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using enum ConfigWatch::Reason;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class ConfigWatchTest : public testing::Test {
 protected:
  void rename(const std::string& from, const std::string& to) {
    std::filesystem::rename(tree_.path(from), tree_.path(to));
  }
  void link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, tree_.path(name));
  }
  void write(const std::string& text) { tree_.write("config.yaml", text); }
  void replace(const std::string& text) {
    tree_.write("new.yaml", text);
    rename("new.yaml", "config.yaml");
  }
  FileFingerprints file() const {
    FileFingerprints now;
    now.add(tree_.path("config.yaml"));
    return now;
  }
  /// Looks so many times.
  void look(int times, std::optional<bool> is_created = false) {
    while (times-- > 0) watch_.see(file(), is_created);
  }

  Log log_{LogLevel::kError, LogFormat::kLogfmt};
  test::TempTree tree_{{"config.yaml", "one"}};
  boost::asio::io_context loop_{1};
  std::vector<ConfigWatch::Reason> due_;
  bool reads_at_once_ = true;
  ConfigWatch watch_{loop_, log_, tree_.path("config.yaml"),
                     [this](ConfigWatch::Reason why) {
                       due_.push_back(why);
                       if (reads_at_once_ && why != kNeverRests) watch_.file_is_read(file());
                     },
                     1ms};
};

TEST_F(ConfigWatchTest, NothingHappensWhileTheFileIsTheSame) {
  look(5);
  EXPECT_THAT(due_, IsEmpty());
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedIsReportedOnceItHasStayedTheSame) {
  replace("three");
  look(1);
  EXPECT_THAT(due_, IsEmpty());

  look(5);
  EXPECT_THAT(due_, ElementsAre(kReplaced));
}

TEST_F(ConfigWatchTest, AChangeThatIsReadLaterIsReportedOnce) {
  reads_at_once_ = false;
  replace("three");
  look(8);
  EXPECT_THAT(due_, ElementsAre(kReplaced));
}

TEST_F(ConfigWatchTest, AFileThatIsWrittenInPlaceIsNoReplacedOneHoweverLongItsWriterPauses) {
  for (const char* text : {"o", "on", "one more", "one more line"}) {
    write(text);
    look(4);
  }
  EXPECT_EQ(due_, std::vector(4, kWrittenInPlace));
}

TEST_F(ConfigWatchTest, AFileThatIsReplacedAfterItWasWrittenInPlaceIsReported) {
  write("half");
  look(4);
  replace("three");
  look(4);
  EXPECT_THAT(due_, ElementsAre(kWrittenInPlace, kReplaced));
}

TEST_F(ConfigWatchTest, AFileOfAnotherHostMayBeHalfWrittenUnlessItWasMovedAfterItWasWritten) {
  rename("config.yaml", "kept");
  write("half");
  look(4, {});
  EXPECT_THAT(due_, ElementsAre(kWrittenInPlace));

  tree_.write("new.yaml", "three");
  std::filesystem::last_write_time(tree_.path("new.yaml"),
                                   std::filesystem::file_time_type::clock::now() - 1h);
  rename("new.yaml", "config.yaml");
  look(4, {});
  EXPECT_THAT(due_, ElementsAre(kWrittenInPlace, kReplaced));
}

TEST_F(ConfigWatchTest, AFileThatIsGoneIsAChange) {
  tree_.remove("config.yaml");
  look(3);
  EXPECT_THAT(due_, ElementsAre(kReplaced));
}

TEST_F(ConfigWatchTest, AChangeThatWasReadForAnotherReasonIsNone) {
  replace("three");
  watch_.file_is_read(file());  // by a signal
  look(3);
  EXPECT_THAT(due_, IsEmpty());
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsDueOnceMoreAfterAMinute) {
  watch_.try_again();
  look(ConfigWatch::kLooksOfAMinute - 1);
  EXPECT_THAT(due_, IsEmpty());

  look(2 * ConfigWatch::kLooksOfAMinute);
  EXPECT_THAT(due_, ElementsAre(kNotAdopted));
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileHasChanged) {
  watch_.try_again();
  replace("three");
  look(2 * ConfigWatch::kLooksOfAMinute);
  EXPECT_THAT(due_, ElementsAre(kReplaced));
}

TEST_F(ConfigWatchTest, WhatWasNotAdoptedIsNotDueOnceTheFileWasWrittenInPlace) {
  reads_at_once_ = false;
  watch_.try_again();
  write("half");
  look(2 * ConfigWatch::kLooksOfAMinute);
  EXPECT_THAT(due_, Each(kWrittenInPlace));
}

TEST_F(ConfigWatchTest, AFileThatChangesAtEachLookIsReportedOnceAfterAMinute) {
  const std::ifstream original{tree_.path("config.yaml")};  // keeps its inode from being used again
  for (int i = 0; i < 3 * ConfigWatch::kLooksOfAMinute; ++i) {
    replace(std::to_string(i));
    look(1);
  }
  EXPECT_THAT(due_, ElementsAre(kNeverRests));

  look(2);
  EXPECT_THAT(due_, ElementsAre(kNeverRests, kReplaced));
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
  EXPECT_THAT(due_, IsEmpty());
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

/// What is done with a file while the loop looks at it -> why it is due.
class ComingFileTest : public ConfigWatchTest {
 protected:
  ConfigWatch::Reason reason_after(const std::function<void()>& change,
                                   const std::string& file = "config.yaml",
                                   bool has_inotify = true) {
    std::optional<ConfigWatch::Reason> reason;
    ConfigWatch watch{loop_, log_, tree_.path(file),
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
  const auto change = [this] {
    rename("config.yaml", "kept");
    write("hal");
  };
  EXPECT_EQ(reason_after(change), kWrittenInPlace);
}

TEST_F(ComingFileTest, OneThatIsMovedThereWasWrittenBefore) {
  const auto change = [this] {
    rename("config.yaml", "kept");
    replace("three");
  };
  EXPECT_EQ(reason_after(change), kReplaced);
}

TEST_F(ComingFileTest, OneThatIsWrittenAfterItWasMovedThereMayBeHalfWritten) {
  const auto change = [this] {
    replace("three");
    write("hal");
  };
  EXPECT_EQ(reason_after(change), kWrittenInPlace);
}

TEST_F(ComingFileTest, OneThatALinkLeadsToWasWrittenBeforeAlsoWithoutInotify) {
  tree_.write("other.yaml", "other");
  for (const bool has_inotify : {true, false}) {
    write("one");
    link("other.yaml", "link");
    EXPECT_EQ(reason_after([this] { rename("link", "config.yaml"); }, "config.yaml", has_inotify),
              kReplaced)
        << has_inotify;
    loop_.restart();
    tree_.remove("config.yaml");
  }
}

TEST_F(ComingFileTest, OneThatIsCreatedInANewDirectoryMayBeHalfWritten) {
  tree_.write("directory/config.yaml", "one");
  tree_.remove("config.yaml");
  link("directory/config.yaml", "config.yaml");
  const auto change = [this] {
    rename("directory", "kept");
    tree_.write("directory/config.yaml", "hal");
  };
  EXPECT_EQ(reason_after(change), kWrittenInPlace);
}

TEST_F(ComingFileTest, OneThatIsReplacedThroughALinkInItsPathIsAChange) {
  tree_.write("old/config.yaml", "same");
  tree_.write("new/config.yaml", "same");
  link("old", "data");
  link("new", "data.new");

  EXPECT_EQ(reason_after([this] { rename("data.new", "data"); }, "data/config.yaml"), kReplaced);
}

}  // namespace
}  // namespace pex::daemon
