// How a program that links the library counts: configuration -> plan -> collector -> snapshot. It
// uses no header of the daemon.

#include <future>

#include "config/load.h"
#include "count/collector.h"
#include "count/descriptor_source.h"
#include "plan/cgroup_tree.h"
#include "plan/load_plan.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using Snapshot = std::shared_ptr<const collect::Snapshot>;

Snapshot poll(collect::Collector& collector) {
  std::promise<Snapshot> promise;
  collector.poll([&](const auto&, Snapshot snapshot) { promise.set_value(std::move(snapshot)); });
  return promise.get_future().get();
}

/// The value of an event at the first row of a scope.
std::optional<double> value_of(const std::string& event, const collect::ScopePlan& plan,
                               const std::vector<collect::GroupTable>& tables) {
  for (const collect::PublishedEvent& published : plan.columns) {
    if (published.event.name != event) continue;
    const auto total = collect::value_of(published, tables, 0);
    if (total) return static_cast<double>(total->value) * published.event.scale;
  }
  return {};
}

class FromTextTest : public testing::Test {
 protected:
  const test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"},
                             {"cgroup/cgroup.controllers", ""},
                             {"cgroup/system.slice/web.service/cgroup.procs", ""}};
  const host::HostRoots roots_{tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
  test::ScriptedKernel kernel_{roots_.cgroupfs};
};

TEST_F(FromTextTest, ATextBecomesCountsOfCpusAndCgroups) {
  config::Loaded loaded = config::load_text(
      "groups:\n"
      "  - {name: software, events: ['context-switches,task-clock'], scope: [cpu, cgroup]}\n"
      "cgroups: {include: ['/system.slice/*.service']}\n",
      "example.yaml");
  ASSERT_FALSE(loaded.diagnostics.has_errors());
  Result<LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan_for_machine(std::move(loaded.config), roots_, kernel_);
  ASSERT_TRUE(planned);
  Result<CgroupTree> tree = find_counted_tree(*planned, roots_, kernel_);
  ASSERT_TRUE(tree);

  Result<std::unique_ptr<collect::Collector>> collector = collect::Collector::create(
      collect::descriptor_sources(kernel_),
      track_targets(*planned, roots_, tree->hierarchy, collect::descriptor_cost), {});
  ASSERT_TRUE(collector);
  (void)poll(**collector);
  const auto second = std::chrono::seconds{1};
  using Kind = test::ScriptedKernel::Answer::Kind;
  kernel_.answer("cpu0 context-switches", {Kind::kCounts, second, second, {12, 1'000'000'000}});
  kernel_.answer("cpu0 /system.slice/web.service context-switches",
                 {Kind::kCounts, second, second, {5, 250'000'000}});
  const Snapshot snapshot = poll(**collector);

  const collect::CountingPlan& plan = *snapshot->plan;
  EXPECT_EQ(value_of("context-switches", plan.cpu, snapshot->cpu), 12);
  EXPECT_EQ(value_of("task-clock", plan.cpu, snapshot->cpu), 1);
  ASSERT_EQ(snapshot->targets->cgroups.size(), 1U);
  EXPECT_EQ(snapshot->targets->cgroups.front().path, "/system.slice/web.service");
  EXPECT_EQ(value_of("context-switches", plan.cgroup, snapshot->cgroup), 5);
  EXPECT_EQ(value_of("task-clock", plan.cgroup, snapshot->cgroup), 0.25);
}

TEST_F(FromTextTest, WhatCannotBeCountedIsAnErrorThatNamesNoProgram) {
  config::Loaded loaded =
      config::load_text("groups: [{name: g, events: [cycels], scope: cpu}]\n", "example.yaml");

  const auto planned = plan_for_machine(std::move(loaded.config), roots_, kernel_);

  ASSERT_FALSE(planned);
  ASSERT_EQ(planned.error().size(), 1U);
  EXPECT_EQ(yaml::error_of(planned.error().front()).attempted,
            "example.yaml:1:29: groups[0].events[0]: there is no event 'cycels'");
}

TEST_F(FromTextTest, APatternOfTheOperatorThatMatchesNoCgroupIsAWarning) {
  const auto warnings_of = [&](const std::string& cgroups) {
    config::Loaded loaded = config::load_text(
        "groups: [{name: software, events: [context-switches], scope: cgroup}]\n" + cgroups,
        "example.yaml");
    const auto planned = plan_for_machine(std::move(loaded.config), roots_, kernel_);
    std::vector<std::string> warnings;
    const Result<CgroupTree> tree = find_cgroup_tree(*planned, roots_);
    for (const Error& warning : tree->warnings) {
      warnings.push_back(describe(warning));
    }
    return warnings;
  };
  using Texts = std::vector<std::string>;

  EXPECT_EQ(warnings_of(""), Texts{});  // the default is for every kind of machine
  EXPECT_EQ(warnings_of("cgroups: {include: ['/system.slice/*.service']}\n"), Texts{});
  EXPECT_EQ(warnings_of("cgroups: {include: ['/lxc/*', '/system.slice/*', '/sytem.slice/*']}\n"),
            Texts{"example.yaml:2:50: cgroups.include[2]: '/sytem.slice/*' matched no cgroup when "
                  "the configuration was loaded. Remedy: correct it, or keep it for cgroups that "
                  "are created later"});
  EXPECT_EQ(warnings_of("cgroups: {include: ['/sytem.slice/*']}\n"
                        "limits: {max_cgroup_directories: 1}\n"),
            Texts{});  // it may match one beyond the limit
}

TEST(UnreadableTreeTest, NoPatternIsBlamedForWhatCannotBeRead) {
  test::TempTree tree{{"sys/devices/system/cpu/online", "0\n"}};
  tree.write("proc/self/mountinfo",
             "30 23 0:26 / " + tree.path("none") + " rw - cgroup2 cgroup2 rw\n");
  const host::HostRoots roots{tree.path("sys"), tree.path("proc"), ""};
  test::ScriptedKernel kernel{tree.path("none")};
  config::Loaded loaded = config::load_text(
      "groups: [{name: software, events: [context-switches], scope: cgroup}]\n"
      "cgroups: {include: ['/a/*']}\n",
      "example.yaml");
  const auto planned = plan_for_machine(std::move(loaded.config), roots, kernel);
  ASSERT_TRUE(planned);

  const Result<CgroupTree> found = find_cgroup_tree(*planned, roots);

  ASSERT_TRUE(found);
  EXPECT_TRUE(found->hierarchy);
  EXPECT_THAT(found->warnings, testing::IsEmpty());
}

}  // namespace
}  // namespace pex::plan
