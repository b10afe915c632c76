#include "cgroup/use/uncounted_use.h"

#include <cstddef>
#include <string_view>

#include "support/test_headers.h"
#include "unit/cgroup/patterns.h"

namespace pex::cgroup::uncounted_use_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::FieldsAre;
using Counted = UncountedUse::Counted;
using State = Counted::State;
using Time = UncountedUse::Time;

/// The CPU times of a tree of cgroups. What runs in "/" is in none.
class Machine {
 public:
  explicit Machine(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) add(path);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void add(const std::string& path) { own_.emplace(path, 0ns); }
  void run(const std::string& path, Time time) { own_[path == "/" ? "" : path] += time; }
  void remove(const std::string& path) {
    own_[""] += own_.at(path);  // the root keeps it
    own_.erase(path);
  }

  std::optional<UncountedUse::Use> update(const std::vector<Counted>& counted, Time later = 1s) {
    now_ += later;
    return use_.update(counted, now_);
  }
  bool is_due(Time later) const { return use_.is_due(now_ + later); }

  std::size_t reads = 0;
  bool is_readable = true;
  Time root_is_behind{};

 private:
  static bool is_in(std::string_view path, std::string_view directory) {
    return path == directory || path.starts_with(std::string(directory) + "/") || directory.empty();
  }
  std::optional<Time> cpu_time(const std::string& path) {
    ++reads;
    if (!is_readable || (!path.empty() && !own_.contains(path))) return {};
    Time sum = path.empty() ? -root_is_behind : 0ns;
    for (const auto& [each, own] : own_) sum += is_in(each, path) ? own : 0ns;
    return sum;
  }
  std::vector<std::string> children(const std::string& path) const {
    std::vector<std::string> found;
    for (const auto& [each, own] : own_) {
      if (each.size() > path.size() + 1 && is_in(each, path) &&
          each.find('/', path.size() + 1) == std::string::npos) {
        found.push_back(each);
      }
    }
    return found;
  }

  std::map<std::string, Time> own_{{"", 0ns}};
  UncountedUse::Clock::time_point now_{100s};
  UncountedUse use_{[this](const std::string& path) { return cpu_time(path); },
                    [this](const std::string& path, std::size_t) { return children(path); }};
};

testing::Matcher<UncountedUse::Part> part(const std::string& path, double cpus, double share,
                                          bool is_of_all_below = false) {
  return FieldsAre(path,
                   FieldsAre(testing::DoubleNear(cpus, 1e-9), testing::DoubleNear(share, 1e-9)),
                   is_of_all_below);
}

TEST(UncountedUseTest, IsTheTimeOfTheRootWithoutThatOfCountedCgroups) {
  Machine machine{std::vector<std::string>{"/a", "/b"}};
  machine.run("/a", 50s);
  machine.run("/b", 7s);

  EXPECT_EQ(machine.update({{"/a"}})->total, 0ns) << "what was before is not known";
  machine.run("/a", 600ms);
  machine.run("/b", 300ms);
  machine.run("/", 100ms);
  const auto use = machine.update({{"/a"}});

  EXPECT_EQ(use->total, 400ms);
  EXPECT_THAT(use->rate, testing::Optional(FieldsAre(0.4, 0.4)));
  EXPECT_THAT(use->largest, ElementsAre(part("/b", 0.3, 0.3), part("/", 0.1, 0.1)));
}

TEST(UncountedUseTest, CountsACgroupInsideOfACountedOneOnce) {
  Machine machine{{"/a", "/a-b", "/a/b"}};
  (void)machine.update({{"/a"}, {"/a-b"}, {"/a/b"}});
  machine.run("/a/b", 1s);
  machine.run("/a-b", 1s);
  machine.run("/", 2s);

  EXPECT_EQ(machine.update({{"/a"}, {"/a-b"}, {"/a/b"}})->total, 2s);
}

TEST(UncountedUseTest, HasWhatACgroupDidBeforeItsCountersWereOpen) {
  Machine machine{std::vector<std::string>{}};
  (void)machine.update({});
  machine.add("/a");
  machine.run("/a", 1s);

  EXPECT_EQ(machine.update({{"/a", 900ms, State::kBusy, true}})->total, 100ms);
}

TEST(UncountedUseTest, DoesNotHaveWhatACountedCgroupDidBeforeItEnded) {
  Machine machine{std::vector<std::string>{"/a"}};
  (void)machine.update({{"/a", 500ms}});
  machine.run("/a", 1s);
  (void)machine.update({{"/a", 1500ms}});
  machine.run("/a", 300ms);
  machine.remove("/a");

  EXPECT_EQ(machine.update({{"/a", 1800ms, State::kEnded}})->total, 0ns);
  EXPECT_EQ(machine.update({{"/a", 1800ms, State::kEnded}})->total, 0ns);
}

TEST(UncountedUseTest, OfACgroupThatIsNotNewOnlyWhatFollowsIsCounted) {
  Machine machine{std::vector<std::string>{"/a", "/a/b"}};
  (void)machine.update({{"/a", 100h}, {"/a/b", 50h}});
  machine.run("/a/b", 1s);
  machine.remove("/a/b");
  machine.remove("/a");
  const Time ended = 100h + 1s;
  (void)machine.update({{"/a", ended, State::kEnded}, {"/a/b", 50h + 1s, State::kEnded}});
  machine.run("/", 1s);
  EXPECT_EQ(machine.update({{"/back", 70h}})->total, 1s) << "it was counted before, and set aside";
  machine.run("/", 1s);

  EXPECT_EQ(machine.update({{"/back", 70h}})->total, 2s);
}

TEST(UncountedUseTest, GoesOnSoonWhereTheAccountOfTheRootLacksTime) {
  Machine machine{std::vector<std::string>{"/a", "/b"}};
  (void)machine.update({{"/a"}});
  machine.run("/a", 1h);
  machine.root_is_behind = 59min;  // stolen
  EXPECT_EQ(machine.update({{"/a"}})->total, 0ns);
  machine.run("/b", 3s);

  EXPECT_EQ(machine.update({{"/a"}})->total, 1s);
}

TEST(UncountedUseTest, DoesNotReadACgroupThatIsIdleOrStandsStillAndKnowsLaterWhatItDid) {
  struct Row {
    const char* name;
    Counted before, still, later;
  };
  const Row rows[] = {
      {"idle", {"/a"}, {"/a", 0s, State::kIdle}, {"/a"}},
      {"counters have stood still", {"/a", 5s}, {"/a", 5s}, {"/a", 5900ms}},
  };
  for (const Row& row : rows) {
    Machine machine{std::vector<std::string>{"/a"}};
    (void)machine.update({row.before});
    const std::size_t reads = machine.reads;
    (void)machine.update({row.still});
    EXPECT_EQ(machine.reads - reads, 1) << "the root, where it is " << row.name;
    machine.run("/a", 1s);

    EXPECT_EQ(machine.update({row.later})->total, 0ns) << row.name;
  }
}

TEST(UncountedUseTest, NeverFallsWhereTheTimeOfTheRootIsBehind) {
  Machine machine{std::vector<std::string>{"/a", "/b"}};
  (void)machine.update({{"/a"}});
  machine.run("/b", 100ms);
  (void)machine.update({{"/a"}});
  machine.run("/a", 1s);
  machine.root_is_behind = 4ms;
  EXPECT_EQ(machine.update({{"/a"}})->total, 100ms);
  machine.root_is_behind = 0ms;
  machine.run("/b", 10ms);

  EXPECT_EQ(machine.update({{"/a"}})->total, 110ms);
}

TEST(UncountedUseTest, SubtractsWhatACgroupDidWhileTheTimeOfTheRootStoodStill) {
  Machine machine{std::vector<std::string>{"/a"}};
  machine.run("/", 1s);
  (void)machine.update({{"/a"}});
  machine.run("/a", 3ms);
  machine.root_is_behind = 3ms;
  const auto still = machine.update({{"/a"}});
  EXPECT_FALSE(still->rate);
  EXPECT_TRUE(still->largest.empty());
  machine.root_is_behind = 0ms;

  EXPECT_EQ(machine.update({{"/a"}})->total, 0ns);
}

TEST(UncountedUseTest, IsNotKnownWhereTheKernelDoesNotReport) {
  Machine machine{std::vector<std::string>{"/a"}};
  machine.is_readable = false;

  EXPECT_EQ(machine.update({{"/a"}}), std::nullopt);
  EXPECT_EQ(machine.update({{"/a"}}), std::nullopt);
}

TEST(UncountedUseTest, FindsWhereMostOfItIsAtTheSecondUpdateAfterItAppeared) {
  Machine machine{{"/idle", "/counted", "/x", "/x/counted"}};
  const std::vector<Counted> counted{{"/counted"}, {"/x/counted"}};
  (void)machine.update(counted);
  machine.add("/x/y");
  machine.add("/x/y/z");
  const auto run = [&] {
    machine.run("/x/y/z", 700ms);
    machine.run("/x/counted", 200ms);
    machine.run("/", 100ms);
  };
  run();
  (void)machine.update(counted);
  run();

  EXPECT_THAT(machine.update(counted)->largest,
              ElementsAre(part("/x/y/z", 0.7, 0.7), part("/", 0.1, 0.1)));
}

TEST(UncountedUseTest, NamesADirectoryWithTooManyCgroupsInstead) {
  Machine machine{std::vector<std::string>{"/many"}};
  for (std::size_t i = 0; i <= UncountedUse::kMaxChildren; ++i) {
    machine.add("/many/" + std::to_string(i));
  }
  machine.run("/", 1s);
  (void)machine.update({});
  machine.run("/many/7", 1s);

  EXPECT_THAT(machine.update({})->largest, ElementsAre(part("/many", 1, 1, true)));
}

TEST(UncountedUseTest, BoundsItsReadings) {
  Machine machine{std::vector<std::string>{}};
  constexpr int kDirectories = 100;
  for (int i = 0; i < kDirectories; ++i) {
    for (int j = 0; j < kDirectories; ++j) {
      const std::string directory = "/" + std::to_string(i);
      machine.add(directory);
      machine.add(directory + "/" + std::to_string(j));
      machine.run(directory + "/" + std::to_string(j), 10ms);
    }
  }
  (void)machine.update({});

  EXPECT_LE(machine.reads, UncountedUse::kMaxReadsOfUncounted + UncountedUse::kMaxChildren + 1);
  std::vector<Counted> counted;
  for (int i = 0; i < 1000; ++i) counted.push_back({"/none/" + std::to_string(i)});
  (void)machine.update(counted);
  EXPECT_FALSE(machine.is_due(4s)) << "250 readings in a second";
  EXPECT_TRUE(machine.is_due(5s));
}

TEST(UncountedUseTest, LeavesOutWhatIsLessThanAHundredth) {
  Machine machine{std::vector<std::string>{"/a", "/b"}};
  machine.run("/", 1s);
  (void)machine.update({});
  machine.run("/a", 995ms);
  machine.run("/b", 5ms);

  EXPECT_THAT(machine.update({})->largest, ElementsAre(part("/a", 0.995, 0.995)));
}

RC_GTEST_PROP(UncountedUseProperty, AddsUpWithTheCountedCgroups,
              (const std::vector<std::vector<unsigned char>>& polls,
               const std::vector<bool>& are_counted)) {
  const std::vector<std::string> paths{"/a", "/a/a", "/a/b", "/b", "/b/a", "/c"};
  Machine machine{paths};
  std::vector<Counted> counted;
  for (std::size_t i = 0; i < std::min(paths.size(), are_counted.size()); ++i) {
    if (are_counted[i]) counted.push_back({paths[i]});
  }
  const auto is_counted = [&](const std::string& path) {
    return std::any_of(counted.begin(), counted.end(), [&](const Counted& each) {
      return path == each.path || path.starts_with(each.path + "/");
    });
  };
  (void)machine.update(counted);
  Time expected{};
  for (const auto& poll : polls) {
    for (std::size_t i = 0; i < poll.size(); ++i) {
      const std::string& path = paths[i % paths.size()];
      machine.run(path, Time{poll[i] * 1000});
      if (!is_counted(path)) expected += Time{poll[i] * 1000};
    }
    RC_ASSERT(machine.update(counted)->total == expected);
  }
}

TEST(PatternForTest, HasAStarForNumbersAndIds) {
  struct Row {
    const char* path;
    const char* pattern;
  };
  const Row rows[] = {
      {"/hog", "/hog"},
      {"/slurm/uid_1000/job_77/step_batch", "/slurm/uid_*/job_*/step_batch"},
      {"/system.slice/python3.service", "/system.slice/python3.service"},
      {"/x/0a1b2c3d4e5f6071.scope", "/x/*.scope"},
      {"/x/6f9619ff-8b86-d011-b42d-00cf4fc964ff", "/x/*-*-*-*-*"},
      {"/deadbeef/decade", "/deadbeef/decade"},
      {"/a\xff\x01z", "/a??z"},
      {"/it's [a], b*", "/it?s ?a?? b?"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(pattern_for(row.path), row.pattern);
    EXPECT_TRUE(pattern(pattern_for(row.path)).matches(row.path)) << row.path;
  }
}

TEST(WhyUncountedTest, NamesThePatternThatCountsIt) {
  const Selection selection{.include = {pattern("/system.slice/*")},
                            .exclude = {pattern("/system.slice/cron.service")}};

  EXPECT_EQ(why_uncounted({"/job-7"}, selection),
            "no pattern of cgroups.include matches it; add '/job-*' to it to count it");
  EXPECT_EQ(why_uncounted({"/jobs", {}, true}, selection),
            "no pattern of cgroups.include matches it; add '/jobs/**' to it to count it");
  EXPECT_EQ(why_uncounted({"/system.slice/cron.service"}, selection),
            "cgroups.exclude has '/system.slice/cron.service'");
  EXPECT_THAT(why_uncounted({"/"}, selection), testing::HasSubstr("kernel threads"));
  EXPECT_THAT(why_uncounted({"/system.slice/a"}, selection), testing::HasSubstr("limit"));
}

}  // namespace
}  // namespace pex::cgroup::uncounted_use_test
