// What the last minutes take of the largest machine that there may be. A program of its own, as it
// counts what operator new gives out.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "history/activity.h"
#include "support/events.h"
#include "support/test_headers.h"
#include "unit/exposition/snapshots.h"

namespace {

std::atomic<std::size_t> in_use = 0;
std::atomic<std::size_t> peak = 0;

void* allocate(std::size_t size) {
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc{};
  in_use += malloc_usable_size(memory);
  peak = std::max(peak.load(), in_use.load());
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) in_use -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

// In place of the library's, for the whole program; those of arrays call these.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }

namespace pex::history {
namespace {

constexpr std::size_t kCpus = 32;  // a word for each of its groups and cgroups would be 4 MB
constexpr std::size_t kCgroups = 2000;
constexpr std::size_t kMegabyte = 1'000'000;

std::shared_ptr<const collect::TargetSet> cgroups() {
  collect::TargetSet set;
  for (std::size_t i = 0; i < kCgroups; ++i) {
    collect::CgroupTarget& target = set.cgroups.emplace_back();
    target.series = i + 1;
    target.path = std::string(94, 'x') + "/" + std::to_string(10'000 + i);
  }
  return std::make_shared<const collect::TargetSet>(std::move(set));
}

/// Eight groups that can lose the PMU.
std::shared_ptr<const collect::CountingPlan> plan() {
  std::vector<test::GroupOf> groups = {
      {"core", {"cycles", "instructions"}},
      {"software", {"task-clock", "context-switches", "minor-faults", "major-faults"}}};
  while (groups.size() < 8) groups.push_back({std::to_string(groups.size()), {"branches"}});
  collect::CountingPlan plan;
  plan.cgroup = test::scope_plan(groups);
  for (collect::GroupPlan& group : plan.cgroup.groups) group.shares_pmu = true;
  return std::make_shared<const collect::CountingPlan>(std::move(plan));
}

/// Each cgroup has as many rows, as where it is published for each CPU.
collect::Snapshot snapshot_of(std::shared_ptr<const collect::CountingPlan> plan,
                              std::shared_ptr<const collect::TargetSet> targets, std::size_t rows) {
  collect::Snapshot snapshot;
  const std::size_t all = targets->cgroups.size() * rows;
  snapshot.cgroup = exposition::tables(plan->cgroup, all, std::vector<std::uint64_t>(all * 12));
  for (std::size_t row = 0; row < all; ++row) snapshot.cgroup_rows.push_back({row / rows, {}});
  snapshot.targets = std::move(targets);
  snapshot.plan = std::move(plan);
  return snapshot;
}

TEST(ActivityMemoryTest, IsBoundedHoweverLongItRunsAndHoweverManyCpusThereAre) {
  const auto counted = plan();
  const auto targets = cgroups();
  const collect::Snapshot on_one_cpu = snapshot_of(counted, targets, 1);
  const collect::Snapshot on_all_cpus = snapshot_of(counted, targets, kCpus);
  const std::size_t before = in_use;
  peak = before;

  auto activity = std::make_unique<Activity>();
  auto now = Activity::Clock::time_point{} + std::chrono::hours{1};
  for (std::size_t point = 0; point < 2 * Activity::kPoints; ++point, now += Activity::kSpacing) {
    activity->add(on_one_cpu, now);
  }
  activity->add(on_all_cpus, now);

  EXPECT_EQ(activity->ages().size(), Activity::kPoints);
  EXPECT_EQ(activity->measures(Scope::kCgroup).size(), Activity::kMaxMeasuresOfCgroup);
  EXPECT_LE(in_use - before, 4 * kMegabyte);
  EXPECT_LE(peak - before, 5 * kMegabyte);
  activity.reset();
  EXPECT_EQ(in_use, before);
}

}  // namespace
}  // namespace pex::history
