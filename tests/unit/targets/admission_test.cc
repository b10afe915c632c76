#include "targets/admission.h"

#include <fcntl.h>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
const OpenRate::Clock::time_point kStart = OpenRate::Clock::now();

TEST(OpenRateTest, IsFullAgainAfterASecondAndNeverFullerThanThat) {
  OpenRate rate{100};
  ASSERT_TRUE(rate.take(100, kStart));

  EXPECT_FALSE(rate.take(60, kStart + 500ms));
  EXPECT_TRUE(rate.take(60, kStart + 600ms));
  EXPECT_TRUE(rate.take(100, kStart + 1h));
  EXPECT_FALSE(rate.take(1, kStart + 1h));
}

TEST(OpenRateTest, WhatTakesMoreThanASecondsWorthGoesThroughAndDelaysWhatFollows) {
  OpenRate rate{100};

  EXPECT_TRUE(rate.take(300, kStart));
  EXPECT_FALSE(rate.take(1, kStart + 2s));
  EXPECT_TRUE(rate.take(1, kStart + 2s + 20ms));
}

TEST(OpenRateTest, ToAskIsFree) {
  OpenRate rate{100};

  EXPECT_TRUE(rate.allows(100, kStart));
  EXPECT_TRUE(rate.take(100, kStart));
  EXPECT_FALSE(rate.allows(1, kStart));
  EXPECT_TRUE(rate.allows(50, kStart + 500ms));
  EXPECT_TRUE(rate.take(50, kStart + 500ms));
}

class WaitingLineTest : public testing::Test {
 protected:
  using Cgroup = std::shared_ptr<const cgroup::Cgroup>;

  Cgroup make(const std::string& name) {
    tree_.write(name + "/cgroup.procs", "");
    auto cgroup = std::make_shared<cgroup::Cgroup>();
    cgroup->path = "/" + name;
    cgroup->directory.reset(::open(tree_.path(name).c_str(), O_RDONLY | O_CLOEXEC));
    return cgroup;
  }
  std::string next(std::size_t number) {
    OpenRate rate{number};
    std::string paths;
    for (const Cgroup& cgroup : line_.take(rate, 1, kStart)) paths += cgroup->path;
    return paths;
  }

  test::TempTree tree_;
  WaitingLine line_;
};

TEST_F(WaitingLineTest, FirstComeFirstServed) {
  const Cgroup a = make("a");
  const Cgroup b = make("b");
  const Cgroup c = make("c");
  (void)line_.follow({c}, {});
  (void)line_.follow({a, b, c}, {});

  EXPECT_EQ(next(2), "/c/a");
  EXPECT_EQ(next(2), "/b");
  EXPECT_TRUE(line_.empty());
}

TEST_F(WaitingLineTest, WhatIsCountedDoesNotWait) {
  const Cgroup a = make("a");
  const Cgroup b = make("b");

  (void)line_.follow({a, b}, {a.get()});

  EXPECT_EQ(line_.size(), 1U);
  EXPECT_EQ(next(1), "/b");
}

TEST_F(WaitingLineTest, OneThatIsCreatedAgainComesLast) {
  const Cgroup first = make("a");
  const Cgroup b = make("b");
  (void)line_.follow({first, b}, {});
  tree_.remove("a");
  const Cgroup second = make("a");

  EXPECT_EQ(line_.follow({second, b}, {}), 1U);

  EXPECT_EQ(next(2), "/b/a");
}

TEST_F(WaitingLineTest, OneThatOnlyLostItsRoomLeavesAndWasNotRemoved) {
  const Cgroup a = make("a");
  const Cgroup b = make("b");
  (void)line_.follow({a, b}, {});

  EXPECT_EQ(line_.follow({b}, {}), 0U);

  EXPECT_EQ(line_.size(), 1U);
}

TEST(ShortageTest, LeavesNoMoreRoomThanFittedUntilASecondHasPassed) {
  Shortage shortage;
  EXPECT_EQ(shortage.room(kStart), kAnyNumber) << "none is met yet";

  shortage.met("open_files", 3, kStart);

  EXPECT_EQ(shortage.room(kStart), 3U);
  EXPECT_EQ(shortage.bound(), "open_files");
  EXPECT_EQ(shortage.room(kStart + 999ms), 3U);
  EXPECT_EQ(shortage.room(kStart + 1s), kAnyNumber);
}

TEST(ShortageTest, IsTriedAgainLessAndLessOftenUpToAMinute) {
  Shortage shortage;
  auto now = kStart;
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
    shortage.met("memory", 1, now);

    EXPECT_EQ(shortage.room(now + wait - 1ms), 1U);
    EXPECT_EQ(shortage.room(now + wait), kAnyNumber);
    now += wait;
  }
}

TEST(ShortageTest, BeginsAgainWhenTheLastOneIsLongOver) {
  Shortage shortage;
  shortage.met("open_files", 1, kStart);
  shortage.met("open_files", 1, kStart + 1s);

  shortage.met("open_files", 1, kStart + 1min);

  EXPECT_EQ(shortage.room(kStart + 1min + 1s), kAnyNumber);
}

}  // namespace
}  // namespace pex::collect
