#include "cgroup/left_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/unique_fd.h"
#include "support/temp_tree.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const LeftOut::Clock::time_point kStart = LeftOut::Clock::now();

/// Cgroups as plain files, of which it is known how often they are asked for their use.
class LeftOutTest : public testing::Test {
 protected:
  void set_use(const std::string& path, int use) {
    tree_.write(path + "/cpu.stat", "usage_usec " + std::to_string(use) + "\n");
  }
  void add(const std::string& path, int use) {
    set_use(path, use);
    left_out_.add(path);
  }
  /// From now on.
  void count_reads_of(const std::string& path) {
    const std::string file = tree_.path(path + "/cpu.stat");
    ASSERT_GE(::inotify_add_watch(opened_.get(), file.c_str(), IN_OPEN), 0);
  }
  /// Since the last call. Where two follow each other in one file, inotify tells of one.
  int reads() {
    alignas(inotify_event) std::array<char, std::size_t{64} << 10> buffer;
    const ssize_t size = ::read(opened_.get(), buffer.data(), buffer.size());
    return size <= 0 ? 0 : static_cast<int>(size / static_cast<ssize_t>(sizeof(inotify_event)));
  }

  test::TempTree tree_;
  LeftOut left_out_{{tree_.root()}};
  UniqueFd opened_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
};

TEST_F(LeftOutTest, NamesThoseThatHaveUsedMost) {
  add("/a", 1);
  add("/b", 9);
  add("/c", 5);

  EXPECT_THAT(left_out_.most_used(2), ElementsAre("/b", "/c"));
}

TEST_F(LeftOutTest, WhereAllHaveRoomNoneIsAsked) {
  add("/a", 1);
  add("/b", 9);
  count_reads_of("/a");
  count_reads_of("/b");

  EXPECT_THAT(left_out_.most_used(2), ElementsAre("/a", "/b"));
  EXPECT_EQ(reads(), 0);
}

TEST_F(LeftOutTest, AUseThatIsKnownIsNotReadAgainForAChoice) {
  for (const char* path : {"/a", "/b", "/c"}) {
    add(path, 1);
    count_reads_of(path);
  }
  (void)left_out_.most_used(1);
  EXPECT_EQ(reads(), 3);

  for (int choices = 0; choices < 10; ++choices) (void)left_out_.most_used(1);

  EXPECT_EQ(reads(), 0);
}

TEST_F(LeftOutTest, OfThoseThatWereNeverReadAChoiceReadsSoManyAtMost) {
  for (const char* path : {"/a", "/b", "/c", "/d"}) {
    add(path, 1);
    count_reads_of(path);
  }
  set_use("/d", 9);
  reads();

  EXPECT_THAT(left_out_.most_used(1, 3), ElementsAre("/a"));  // as far as it is known
  EXPECT_EQ(reads(), 3);
  EXPECT_THAT(left_out_.most_used(1, 3), ElementsAre("/d"));
  EXPECT_EQ(reads(), 1);
}

TEST_F(LeftOutTest, EachUseIsReadAgainWithinHalfAMinuteHoweverOftenItIsCalled) {
  for (int i = 10; i < 40; ++i) {
    add("/" + std::to_string(i), i);
    count_reads_of("/" + std::to_string(i));
  }
  (void)left_out_.most_used(1);
  left_out_.refresh(kStart);
  reads();
  set_use("/17", 100);
  reads();

  int most_at_once = 0;
  int all = 0;
  for (auto passed = 0ms; passed <= 30s; passed += 100ms) {
    left_out_.refresh(kStart + passed);
    const int now = reads();
    most_at_once = std::max(most_at_once, now);
    all += now;
  }

  EXPECT_EQ(most_at_once, 1);
  EXPECT_NEAR(all, 30, 1);
  EXPECT_THAT(left_out_.most_used(1), ElementsAre("/17"));
}

TEST_F(LeftOutTest, ALongPauseIsMadeUpForByOneReadingOfEach) {
  for (const char* path : {"/a", "/b", "/c"}) {
    add(path, 1);
    count_reads_of(path);
  }
  left_out_.refresh(kStart);

  left_out_.refresh(kStart + 1h);

  EXPECT_EQ(reads(), 3);
}

TEST_F(LeftOutTest, ADirectoryThatIsMadeAnewHasUsedWhatItHasItself) {
  add("/a", 9);
  add("/b", 5);
  ASSERT_THAT(left_out_.most_used(1), ElementsAre("/a"));

  add("/a", 1);

  EXPECT_THAT(left_out_.most_used(1), ElementsAre("/b"));
  EXPECT_EQ(left_out_.size(), 2U);
}

TEST_F(LeftOutTest, GoesOnWhenTheOneThatWasReadLastHasGone) {
  for (const char* path : {"/a", "/b", "/c"}) add(path, 1);
  left_out_.refresh(kStart);
  left_out_.refresh(kStart + 10s);  // reads /a
  left_out_.remove("/a");
  set_use("/b", 2);
  set_use("/c", 3);

  left_out_.refresh(kStart + 25s);
  left_out_.refresh(kStart + 40s);

  EXPECT_THAT(left_out_.most_used(1, 0), ElementsAre("/c"));
}

TEST_F(LeftOutTest, OfNoneNamesNone) {
  left_out_.refresh(kStart);
  left_out_.refresh(kStart + 1h);

  EXPECT_THAT(left_out_.most_used(1), IsEmpty());
  EXPECT_THAT(left_out_.paths(10), IsEmpty());
}

}  // namespace
}  // namespace pex::cgroup
