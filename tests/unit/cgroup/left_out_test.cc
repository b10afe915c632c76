#include "cgroup/discovery/left_out.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstddef>

#include "base/unique_fd.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup::left_out_test {
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

  /// What is read of those never read before, in the order of paths.
  std::vector<std::string> unknown(std::size_t max_reads = LeftOut::kMaxReads) {
    return paths(left_out_.read_unknown(max_reads));
  }
  static std::vector<std::string> paths(const std::vector<LeftOut::Use>& uses) {
    std::vector<std::string> all;
    for (const LeftOut::Use& use : uses) all.push_back(use.path);
    return all;
  }

  test::TempTree tree_;
  LeftOut left_out_{{tree_.root()}};
  UniqueFd opened_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
};

TEST_F(LeftOutTest, ReadsWhatEachHasUsed) {
  add("/a", 1);
  add("/b", 9);

  EXPECT_THAT(left_out_.read_unknown(), ElementsAre(LeftOut::Use{"/a", 1}, LeftOut::Use{"/b", 9}));
}

TEST_F(LeftOutTest, AUseThatIsKnownIsNotReadAgainForAChoice) {
  for (const char* path : {"/a", "/b", "/c"}) {
    add(path, 1);
    count_reads_of(path);
  }
  (void)left_out_.read_unknown();
  EXPECT_EQ(reads(), 3);

  for (int choices = 0; choices < 10; ++choices) EXPECT_THAT(unknown(), IsEmpty());

  EXPECT_EQ(reads(), 0);
}

TEST_F(LeftOutTest, OfThoseThatWereNeverReadAChoiceReadsSoManyAtMost) {
  for (const char* path : {"/a", "/b", "/c", "/d"}) add(path, 1);

  EXPECT_THAT(unknown(3), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(unknown(3), ElementsAre("/d"));
}

TEST_F(LeftOutTest, EachUseIsReadAgainWithinHalfAMinuteHoweverOftenItIsCalled) {
  for (int i = 10; i < 40; ++i) add("/" + std::to_string(i), i);
  (void)left_out_.read_unknown();
  EXPECT_THAT(left_out_.refresh(kStart), IsEmpty());

  std::size_t most_at_once = 0;
  std::vector<std::string> all;
  for (auto passed = 0ms; passed <= 30s; passed += 100ms) {
    const std::vector<std::string> now = paths(left_out_.refresh(kStart + passed));
    most_at_once = std::max(most_at_once, now.size());
    all.insert(all.end(), now.begin(), now.end());
  }

  EXPECT_EQ(most_at_once, 1U);
  EXPECT_NEAR(static_cast<double>(all.size()), 30, 1);
  EXPECT_THAT(all, testing::Contains("/17"));
}

TEST_F(LeftOutTest, ALongPauseIsMadeUpForByOneReadingOfEach) {
  for (const char* path : {"/a", "/b", "/c"}) add(path, 1);
  (void)left_out_.refresh(kStart);

  EXPECT_THAT(paths(left_out_.refresh(kStart + 1h)), ElementsAre("/a", "/b", "/c"));
}

TEST_F(LeftOutTest, WhatWasReadAgainIsNotUnknown) {
  for (const char* path : {"/a", "/b"}) add(path, 1);
  (void)left_out_.refresh(kStart);
  (void)left_out_.refresh(kStart + 15s);

  EXPECT_THAT(unknown(), ElementsAre("/b"));
}

TEST_F(LeftOutTest, ADirectoryThatIsCreatedAgainHasUsedWhatItHasItself) {
  add("/a", 9);
  (void)left_out_.read_unknown();

  add("/a", 1);

  EXPECT_THAT(left_out_.read_unknown(), ElementsAre(LeftOut::Use{"/a", 1}));
  EXPECT_EQ(left_out_.size(), 1U);
}

TEST_F(LeftOutTest, GoesOnWhenTheOneThatWasReadLastHasGone) {
  for (const char* path : {"/a", "/b", "/c"}) add(path, 1);
  (void)left_out_.refresh(kStart);
  EXPECT_THAT(paths(left_out_.refresh(kStart + 10s)), ElementsAre("/a"));
  left_out_.remove("/a");

  EXPECT_THAT(paths(left_out_.refresh(kStart + 25s)), ElementsAre("/b"));
  EXPECT_THAT(paths(left_out_.refresh(kStart + 40s)), ElementsAre("/c"));
}

TEST_F(LeftOutTest, OfNoneNamesNone) {
  EXPECT_THAT(left_out_.refresh(kStart), IsEmpty());
  EXPECT_THAT(left_out_.refresh(kStart + 1h), IsEmpty());
  EXPECT_THAT(left_out_.read_unknown(), IsEmpty());
  EXPECT_THAT(left_out_.paths(10), IsEmpty());
}

}  // namespace
}  // namespace pex::cgroup::left_out_test
