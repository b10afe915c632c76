#include "cgroup/use/idle_cgroups.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <unordered_map>

#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Updates once a second, in which the CPU times are those of `cpu_times_`.
class IdleCgroupsTest : public ::testing::Test {
 protected:
  const Cgroup& add(std::uint64_t id) {
    auto cgroup = std::make_shared<Cgroup>();
    cgroup->id = id;
    cgroup->path = "/" + std::to_string(id);
    cpu_times_[id] = 0ns;
    present_.push_back(cgroup);
    return *present_.back();
  }
  bool update() { return idle_.update(present_, now_ += 1s); }
  /// The number of updates after which it is idle.
  int updates_until_idle(const Cgroup& cgroup) {
    for (int updates = 1; updates < 10'000; ++updates) {
      update();
      if (idle_.is_idle(cgroup)) return updates;
    }
    return 0;
  }

  std::map<std::uint64_t, std::optional<nanoseconds>> cpu_times_;
  int reads_ = 0;
  IdleCgroups::Cgroups present_;
  IdleCgroups::Clock::time_point now_ = IdleCgroups::Clock::now();
  IdleCgroups idle_{{.close_after = 60s, .open_after = 5ms}, [this](const std::string& path) {
                      ++reads_;
                      return cpu_times_.at(std::stoull(path.substr(1)));
                    }};
};

TEST_F(IdleCgroupsTest, ACgroupWithoutCpuTimeIsIdleAfterAWhile) {
  const Cgroup& works = add(1);
  const Cgroup& rests = add(2);
  for (int i = 0; i < 60; ++i) {
    *cpu_times_[1] += 1us;
    EXPECT_FALSE(update());
  }
  *cpu_times_[1] += 1us;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(works));
  EXPECT_TRUE(idle_.is_idle(rests));
  EXPECT_EQ(idle_.idle(), 1u);
}

TEST_F(IdleCgroupsTest, WhatItHasUsedSinceItsCpuTimeWasResetMakesItBusyAgain) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 1h;
  updates_until_idle(cgroup);
  cpu_times_[1] = 0ms;
  EXPECT_FALSE(update());
  cpu_times_[1] = 7ms;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 7ms);
}

TEST_F(IdleCgroupsTest, ItIsBusyAgainOnceItHasUsedEnoughCpuTimeAndSaysHowMuchOnce) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 1h;
  updates_until_idle(cgroup);
  cpu_times_[1] = 1h + 4ms;
  EXPECT_FALSE(update());
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
  cpu_times_[1] = 1h + 7ms;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.idle(), 0u);
  EXPECT_EQ(idle_.take_passed_over(cgroup), 7ms);
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
}

TEST_F(IdleCgroupsTest, OneThatWorksNowAndThenStaysBusyForTwiceAsLongEachTime) {
  const Cgroup& cgroup = add(1);
  EXPECT_EQ(updates_until_idle(cgroup), 61);
  for (const int longer : {120, 240, 480}) {
    *cpu_times_[1] += 1s;
    update();
    EXPECT_EQ(updates_until_idle(cgroup), longer);
  }
}

TEST_F(IdleCgroupsTest, OneThatWorksNowAndThenStaysBusyForAWeekAtMost) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  for (int i = 0; i < 20; ++i) {
    *cpu_times_[1] += 1s;
    update();
    ASSERT_FALSE(idle_.is_idle(cgroup));
    now_ += 7 * 24h;
    update();
    ASSERT_TRUE(idle_.is_idle(cgroup)) << i;
  }
}

TEST_F(IdleCgroupsTest, OneWhoseCpuTimeCannotBeReadIsBusy) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  cpu_times_[1] = std::nullopt;

  EXPECT_TRUE(update());

  EXPECT_FALSE(idle_.is_idle(cgroup));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(update());
}

TEST_F(IdleCgroupsTest, OneThatIsGoneIsForgotten) {
  const Cgroup& cgroup = add(1);
  const std::shared_ptr<const Cgroup> held = present_.front();
  updates_until_idle(cgroup);
  present_.clear();

  EXPECT_FALSE(update());

  EXPECT_EQ(idle_.idle(), 0u);
  EXPECT_FALSE(idle_.is_idle(*held));
}

TEST_F(IdleCgroupsTest, ManyAreReadInTurn) {
  for (std::uint64_t id = 0; id < 200; ++id) add(id);
  update();
  EXPECT_EQ(reads_, 64);
  idle_.update(present_, now_ + 1ms);
  EXPECT_EQ(reads_, 64) << "twice a second";
  for (int i = 0; i < 4 * 60; ++i) update();
  EXPECT_EQ(idle_.idle(), 200u);
}

TEST_F(IdleCgroupsTest, BusyOnesAreReadLessOftenThanIdleOnes) {
  for (std::uint64_t id = 0; id < 50; ++id) add(id);
  const auto work = [&] {
    for (std::uint64_t id = 1; id < 50; ++id) *cpu_times_[id] += 1ms;
    update();
  };
  for (int i = 0; i < 100; ++i) work();
  ASSERT_EQ(idle_.idle(), 1u);
  reads_ = 0;
  for (int i = 0; i < 40; ++i) work();
  EXPECT_EQ(reads_, 40 + 49 * 10) << "a sixteenth of 60 s is reached in the fourth second";
}

TEST_F(IdleCgroupsTest, AllAreBusyWhereNothingNeedsToBeClosed) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  cpu_times_[1] = 2ms;

  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_FALSE(idle_.wake_all(present_, now_));

  EXPECT_FALSE(idle_.is_idle(cgroup));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 2ms);
}

TEST_F(IdleCgroupsTest, OneThatIsGoneMeanwhileIsNotWaitedFor) {
  updates_until_idle(add(1));
  present_.clear();
  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_FALSE(idle_.wake_all(present_, now_));
}

TEST_F(IdleCgroupsTest, CpuTimeThatFallsIsNone) {
  const Cgroup& cgroup = add(1);
  cpu_times_[1] = 10s;
  updates_until_idle(cgroup);
  cpu_times_[1] = 1s;  // of another one at its path
  EXPECT_FALSE(update());
  EXPECT_TRUE(idle_.wake_all(present_, now_));
  EXPECT_EQ(idle_.take_passed_over(cgroup), 0ns);
}

TEST_F(IdleCgroupsTest, RulesThatChangeHoldForAll) {
  const Cgroup& cgroup = add(1);
  updates_until_idle(cgroup);
  idle_.set_rules({.close_after = 0s});
  EXPECT_TRUE(update());
  EXPECT_FALSE(idle_.is_idle(cgroup));
  idle_.set_rules({.close_after = 7s});
  EXPECT_EQ(updates_until_idle(cgroup), 7);
}

TEST_F(IdleCgroupsTest, NoneIsIdleWhereCountersAreNeverClosed) {
  IdleCgroups never{{.close_after = 0s}, [](const std::string&) { return 0ns; }};
  const Cgroup& cgroup = add(1);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(never.update(present_, now_ += 1s));
  EXPECT_FALSE(never.is_idle(cgroup));
}

// --- many ---------------------------------------------------------------------------------------

/// A tree of cgroups with their CPU times, some of which work all the time: also between two
/// readings of one update.
class CpuTimes {
 public:
  void use(const std::string& path, nanoseconds time) {
    for (nanoseconds* each : with_those_above(path)) *each += time;
  }
  /// Whether or not it is one of those that are counted.
  void work_always(const std::string& path) {
    for (nanoseconds* each : with_those_above(path)) ++working_[each];
  }
  void rest() { working_.clear(); }
  void work(nanoseconds time) {
    for (const auto& [each, tasks] : working_) *each += tasks * time;
  }
  void set(const std::string& path, nanoseconds time) { used_[path] = time; }
  nanoseconds used(const std::string& path) { return used_[path]; }
  std::optional<nanoseconds> read(const std::string& path) {
    ++reads;
    work(10us);
    return used_[path];
  }

  std::size_t reads = 0;

 private:
  std::vector<nanoseconds*> with_those_above(std::string path) {
    std::vector<nanoseconds*> times;
    for (; !path.empty(); path.resize(path.rfind('/'))) times.push_back(&used_[path]);
    return times;
  }

  std::unordered_map<std::string, nanoseconds> used_;
  std::unordered_map<nanoseconds*, int> working_;  ///< the number of their tasks
};

/// Those that are counted in it, with an update each second.
struct Watched {
  std::size_t add(const std::string& path) {
    auto cgroup = std::make_shared<Cgroup>();
    cgroup->id = ++last_id;
    cgroup->path = path;
    present.push_back(std::move(cgroup));
    return present.size() - 1;
  }
  const std::string& path(std::size_t at) const { return present[at]->path; }
  bool is_idle(std::size_t at) const { return idle.is_idle(*present[at]); }
  void use(std::size_t at, nanoseconds time) { tree.use(path(at), time); }
  /// Returns the number of readings.
  std::size_t update(std::chrono::seconds later = 1s) {
    tree.work(later);
    const std::size_t before = tree.reads;
    (void)idle.update(present, now += later);
    return tree.reads - before;
  }
  /// All but those that work always.
  void become_idle(std::size_t number) {
    for (int i = 0; i < 1000 && idle.idle() != number; ++i) update(100s);
    for (int i = 0; i < 4; ++i) update();
    ASSERT_EQ(idle.idle(), number);
  }

  CpuTimes tree;
  std::uint64_t last_id = 0;
  IdleCgroups::Cgroups present;
  IdleCgroups::Clock::time_point now = IdleCgroups::Clock::now();
  IdleCgroups idle{{.close_after = 60s, .open_after = 5ms},
                   [this](const std::string& path) { return tree.read(path); }};
};

/// Pods with containers, one of which works.
void make_pods(Watched& all, std::size_t number) {
  for (std::size_t i = 0; i < number; ++i) {
    all.add("/kubepods/" + std::string(i % 3 == 0 ? "besteffort" : "burstable") + "/pod" +
            std::to_string(i / 4) + "/" + std::to_string(i % 4));
  }
  all.tree.work_always(all.path(all.add("/kubepods/burstable/pod7/busy")));
}

/// Services, few of which work.
void make_services(Watched& all, std::size_t number) {
  for (std::size_t i = 0; i < number; ++i) {
    all.add("/system.slice/" + std::to_string(i) + ".service");
  }
  for (const char* name : {"a", "b", "c"}) {
    all.tree.work_always(all.path(all.add("/system.slice/" + std::string(name) + ".service")));
  }
}

/// Cgroups of version 1 below others with tasks of their own, at two levels: so those that are
/// counted explain nothing.
void make_version_1(Watched& all, std::size_t number) {
  for (std::size_t i = 0; i < number; ++i) {
    const std::string outer = "/" + std::to_string(i / 1000);
    const std::string inner = outer + "/" + std::to_string(i / 100);
    if (i % 1000 == 0) all.tree.work_always(outer);
    if (i % 100 == 0) all.tree.work_always(inner);
    all.add(inner + "/" + std::to_string(i));
  }
}

struct Shape {
  void (*make)(Watched& all, std::size_t number);
  std::size_t reads;  ///< at most, in an update in which all are idle but those that always work
};

class ShapesOfIdleCgroupsTest : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ShapesOfIdleCgroupsTest,
                         testing::Values(Shape{&make_pods, 12}, Shape{&make_services, 8},
                                         Shape{&make_version_1, IdleCgroups::kMaxReadsOfIdle}));

TEST_P(ShapesOfIdleCgroupsTest, AnyOfManyIsBusyTwoUpdatesAfterItHasWorkedAndFewAreRead) {
  constexpr std::size_t kIdle = 5000;
  Watched all;
  GetParam().make(all, kIdle);
  all.become_idle(kIdle);
  for (int i = 0; i < 10; ++i) EXPECT_LE(all.update(), GetParam().reads);
  std::mt19937 random{20260901};
  for (int i = 0; i < 20; ++i) {
    const std::size_t one = random() % kIdle;
    for (std::size_t pause = random() % 3; pause > 0; --pause) all.update();
    all.use(one, 5ms);
    all.update();
    all.update();
    ASSERT_FALSE(all.is_idle(one)) << all.path(one);
  }
}

TEST(ManyIdleCgroupsTest, NoneStarvesWhereReadingsRunOut) {
  constexpr std::size_t kTooMany = 3 * IdleCgroups::kMaxReadsOfIdle - 1000;
  Watched all;
  make_version_1(all, kTooMany);
  all.become_idle(kTooMany);
  for (std::size_t one = 0; one < kTooMany; one += 3001) {
    all.use(one, 5ms);
    for (int update = 0; update < 3; ++update) all.update();
    EXPECT_FALSE(all.is_idle(one)) << all.path(one);
  }
}

TEST(ManyIdleCgroupsTest, ThoseThatUseLittleStayIdleUntilOneHasUsedEnough) {
  constexpr std::size_t kIdle = 500;
  Watched all;
  make_services(all, kIdle);
  all.become_idle(kIdle);
  for (int i = 0; i < 49; ++i) {
    for (std::size_t one = 0; one < kIdle; ++one) all.use(one, 100us);
    all.update();
  }
  EXPECT_EQ(all.idle.idle(), kIdle);

  all.use(321, 100us);
  all.update();

  EXPECT_FALSE(all.is_idle(321));
  EXPECT_EQ(all.idle.idle(), kIdle - 1);
}

TEST(ManyIdleCgroupsTest, ADirectoryThatIsReplacedOrBeginsAt0HidesNothingThatIsUsed) {
  constexpr std::size_t kIdle = 500;
  const std::string above = "/system.slice";
  Watched all;
  make_services(all, kIdle);
  for (const nanoseconds more : {nanoseconds{-1s}, nanoseconds{1000s}}) {
    all.become_idle(kIdle);
    all.tree.set(above, all.tree.used(above) + more);
    all.update();
    all.use(17, 5ms);

    all.update();

    EXPECT_FALSE(all.is_idle(17));
  }

  all.become_idle(kIdle);
  all.tree.set(above, 0s);
  all.use(17, 5ms);

  all.update();

  EXPECT_FALSE(all.is_idle(17));
}

/// A random tree whose cgroups come and go, work always or for a moment, and are counted or not.
class AnyTree {
 public:
  explicit AnyTree(unsigned seed) : random_(seed) {
    constexpr std::size_t kInner = 6;
    for (std::size_t i = 0; i < 60; ++i) {
      const std::size_t above = below(std::min(i, kInner) + 1);
      paths_.push_back((above == i ? "" : paths_[above]) + "/" + std::to_string(i));
      if (below(4) > 0) all_.add(paths_.back());
    }
  }

  void step() {
    constexpr nanoseconds kTimes[] = {100us, 1ms, 2400us, 5ms, 50ms};
    if (below(8) == 0) all_.tree.rest();
    if (below(8) == 0) all_.tree.work_always(any_path());
    if (below(8) == 0) replace();
    for (std::size_t uses = below(4); uses > 0; --uses) {
      all_.tree.use(any_path(), kTimes[below(std::size(kTimes))]);
    }
    all_.tree.work(1s);
    std::unordered_map<std::uint64_t, nanoseconds> used;
    for (const auto& cgroup : all_.present) used[cgroup->id] = all_.tree.used(cgroup->path);
    all_.idle.set_rules(kRules);  // so that all are soon idle again
    (void)all_.idle.update(all_.present, all_.now += 1s);
    for (const auto& cgroup : all_.present) {
      if (!all_.idle.is_idle(*cgroup)) {
        used_when_idle_.erase(cgroup->id);
        continue;
      }
      const auto [at, is_new] = used_when_idle_.try_emplace(cgroup->id, used[cgroup->id]);
      EXPECT_LT(used[cgroup->id] - at->second, kRules.open_after) << cgroup->path;
      seen_idle += is_new ? 1 : 0;
    }
  }

  std::size_t seen_idle = 0;

 private:
  static constexpr IdleCgroups::Rules kRules{.close_after = 4s, .open_after = 5ms};

  std::size_t below(std::size_t end) { return random_() % end; }
  const std::string& any_path() { return paths_[below(paths_.size())]; }
  /// One that is counted by another one, or by none.
  void replace() {
    if (all_.present.empty()) return;
    const std::size_t at = below(all_.present.size());
    all_.present.erase(all_.present.begin() + static_cast<std::ptrdiff_t>(at));
    const std::string& path = any_path();
    const bool is_there = std::any_of(all_.present.begin(), all_.present.end(),
                                      [&](const auto& each) { return each->path == path; });
    if (!is_there) all_.add(path);
  }

  std::mt19937 random_;
  Watched all_;
  std::vector<std::string> paths_;
  std::unordered_map<std::uint64_t, nanoseconds> used_when_idle_;
};

TEST(ManyIdleCgroupsTest, NoneThatHasUsedEnoughStaysIdleInAnyTree) {
  std::size_t seen_idle = 0;
  test::run_rounds(10000, [&](unsigned round) {
    AnyTree tree{round};
    for (int i = 0; i < 300; ++i) tree.step();
    seen_idle += tree.seen_idle;
  });
  EXPECT_GT(seen_idle, 100U);
}

}  // namespace
}  // namespace pex::cgroup
