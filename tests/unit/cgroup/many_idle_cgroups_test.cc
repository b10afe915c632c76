#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cgroup/use/idle_cgroups.h"
#include "support/time_budget.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

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

TEST(ManyIdleCgroupsTest, ADirectoryThatIsReplacedHidesNothingThatIsUsedAfterwards) {
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
}

TEST(ManyIdleCgroupsTest, ADirectoryWhoseCpuTimeIsSetTo0HidesNothing) {
  constexpr std::size_t kIdle = 500;
  Watched all;
  make_services(all, kIdle);
  all.become_idle(kIdle);
  all.tree.set("/system.slice", 0s);
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
