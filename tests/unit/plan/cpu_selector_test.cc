#include "plan/cpu_selector.h"

#include <future>

#include "config/load.h"
#include "count/collector.h"
#include "count/descriptor_source.h"
#include "plan/availability.h"
#include "plan/load_plan.h"
#include "support/planning.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// CPUs 0 to 7 are online, 2 and 3 isolated.
class CpuSelectorTest : public testing::Test {
 protected:
  Result<LeftOutCpus, std::vector<yaml::Diagnostic>> choose(const std::string& cpus,
                                                            const std::string& of_group = "{}") {
    const config::Loaded loaded = config::load_text(text(cpus, of_group), "c.yaml");
    EXPECT_FALSE(loaded.diagnostics.has_errors());
    return select_cpus(loaded.config, roots_, {0, 1, 2, 3, 4, 5, 6, 7},
                       [](const config::Group&) { return true; });
  }

  static std::string text(const std::string& cpus, const std::string& of_group) {
    return "cpus: " + cpus +
           "\ngroups:\n  - {name: core, events: [cycles], scope: [cpu, cgroup], cpus: " + of_group +
           "}\n  - {name: other, events: [task-clock], scope: cpu}\n";
  }

  std::vector<std::string> errors(const std::string& cpus, const std::string& of_group = "{}") {
    std::vector<std::string> lines;
    const auto chosen = choose(cpus, of_group);
    if (chosen) return lines;
    for (const yaml::Diagnostic& error : chosen.error()) lines.push_back(describe(error));
    return lines;
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0-7\n"},
                       {"sys/devices/system/cpu/isolated", "2-3\n"},
                       {"sys/devices/system/cpu/nohz_full", "(null)\n"},
                       {"cgroup/cgroup.controllers", ""}};
  const host::HostRoots roots_{tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
};

TEST_F(CpuSelectorTest, LeavesOutWhatTheKernelKeepsAndWhatIsNamed) {
  EXPECT_THAT(choose("{exclude: [isolated, nohz_full, \"5,2\"]}")->everywhere,
              ElementsAre(2, 3, 5));
  EXPECT_THAT(choose("{exclude: [nohz_full]}")->everywhere, IsEmpty());
}

TEST_F(CpuSelectorTest, LeavesOutMoreOfAGroup) {
  const auto left_out = choose("{exclude: [isolated]}", "{exclude: [\"3-4\"]}");

  EXPECT_THAT(left_out->of("core"), ElementsAre(4));
  EXPECT_THAT(left_out->of("other"), IsEmpty());
}

TEST_F(CpuSelectorTest, KnowsNoIsolatedCpusWhereTheKernelHasNoSuchFile) {
  tree_.remove("sys/devices/system/cpu/isolated");

  EXPECT_THAT(choose("{exclude: [isolated]}")->everywhere, IsEmpty());
}

TEST_F(CpuSelectorTest, MayNameCpusThatAreNotThere) {
  EXPECT_THAT(choose("{exclude: [\"100-101\"]}")->everywhere, ElementsAre(100, 101));
}

TEST_F(CpuSelectorTest, RefusesWhatIsNoListWithItsPlace) {
  EXPECT_THAT(errors("{exclude: [\"5-2\"]}"),
              ElementsAre(HasSubstr("c.yaml:1:18: cpus.exclude[0]: '5-2' is not a list of CPUs")));
}

TEST_F(CpuSelectorTest, RefusesToLeaveNoCpuWithThePlace) {
  EXPECT_THAT(errors("{exclude: [\"0-7\"]}"),
              ElementsAre(HasSubstr("c.yaml:1:7: cpus: no CPU is left: 0-7 are online")));
  EXPECT_THAT(errors("{exclude: [isolated]}", "{exclude: [\"0-1,4-7\"]}"),
              ElementsAre(HasSubstr("c.yaml:3:64: groups[0].cpus: no CPU is left")));
}

/// LoadedPlan and counted over a scripted kernel.
class LeftOutCpusTest : public CpuSelectorTest {
 protected:
  Result<LoadedPlan, std::vector<yaml::Diagnostic>> plan(const std::string& cpus,
                                                         const std::string& of_group) {
    config::Loaded loaded = config::load_text(text(cpus, of_group), "c.yaml");
    return plan_for_machine(std::move(loaded.config), roots_, kernel_);
  }

  test::ScriptedKernel kernel_;
};

TEST_F(LeftOutCpusTest, AreNeitherTriedNorCounted) {
  const auto planned = plan("{exclude: [\"0-5\"]}", "{exclude: [6]}");

  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->cpus->online, ElementsAre(6, 7));
  EXPECT_THAT(planned->cpus->left_out, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(kernel_.opened_groups(), Contains("cpu7 cycles"));
  EXPECT_THAT(kernel_.opened_groups(), Contains("cpu6 task-clock"));
  for (const std::string& group : kernel_.opened_groups()) {
    EXPECT_TRUE(group.starts_with("cpu7 ") || group == "cpu6 task-clock" ||
                group == "pid0 cpu-clock")
        << group;
  }
}

TEST_F(LeftOutCpusTest, MayBeAllThatThereAreInAGroupForALargerMachine) {
  const auto planned = plan("{}", "{exclude: [\"0-7\"]}, when: {cpus: 16}");

  ASSERT_TRUE(planned) << describe(planned.error().front());
  ASSERT_EQ(planned->plan.left_out_groups.size(), 1U);
  EXPECT_EQ(planned->plan.left_out_groups[0].name, "core");
}

TEST_F(LeftOutCpusTest, TakeNoDescriptors) {
  const auto all = plan("{}", "{}");
  const auto one = plan("{exclude: [\"0-6\"]}", "{}");
  const auto one_of_group = plan("{}", "{exclude: [\"0-6\"]}");
  const auto events_of_cgroup = [](const LoadedPlan& planned) {
    return collect::descriptor_cost(planned.plan.counting, *planned.cpus).cgroup;
  };

  EXPECT_EQ(8 * events_of_cgroup(*one), events_of_cgroup(*all));
  EXPECT_LT(events_of_cgroup(*one_of_group), events_of_cgroup(*all));
}

TEST_F(LeftOutCpusTest, GetNoWorkerAndNoEvent) {
  const auto planned = plan("{exclude: [\"0-5\"]}", "{exclude: [6]}");
  test::ScriptedKernel counting_kernel;
  const auto collector =
      collect::Collector::create(collect::descriptor_sources(counting_kernel),
                                 track_targets(*planned, roots_, {}, collect::descriptor_cost), {});
  std::promise<std::shared_ptr<const collect::Snapshot>> polled;

  (*collector)->poll([&](auto, auto snapshot) { polled.set_value(snapshot); });
  const auto snapshot = polled.get_future().get();

  EXPECT_THAT(
      counting_kernel.open_groups(),
      ElementsAre("cpu6 dummy", "cpu6 task-clock", "cpu7 cycles", "cpu7 dummy", "cpu7 task-clock"));
  const auto& rows = snapshot->rows_of(Aggregation::kCpu);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(snapshot->cpu[0].rows[0].value, collect::GroupRow::Value::kNotHere);
  EXPECT_EQ(snapshot->cpu[0].rows[1].value, collect::GroupRow::Value::kKnown);
  EXPECT_FALSE(collect::lacks_coverage(snapshot->cpu[0].rows[0]));
}

/// A plan for a hybrid machine of which all CPUs of cpu_atom are left out.
Plan plan_without_atoms(const std::string& events, test::ScriptedKernel& kernel) {
  const config::Loaded loaded =
      config::load_text("groups:\n" + test::group_of(events, "weak: false"), "c.yaml");
  const host::HostRoots roots = test::machine("intel_hybrid");
  const Result<events::EventResolver> resolver = events::EventResolver::create(roots);
  return *make_plan(loaded.config, Machine{*resolver,
                                           kernel,
                                           *host::online_cpus(roots),
                                           {resolver->pmus().find("cpu_atom")->cpus, {}}});
}

TEST(LeftOutPmuTest, IsNeitherCountedNorTried) {
  test::ScriptedKernel kernel;

  const Plan plan = plan_without_atoms("cycles", kernel);

  EXPECT_THAT(test::groups_of(plan.counting.cpu), ElementsAre("core on cpu_core: cycles"));
  for (const std::string& group : kernel.opened_groups()) {
    for (int atom = 16; atom < 24; ++atom) {
      EXPECT_FALSE(group.starts_with("cpu" + std::to_string(atom) + " ")) << group;
    }
  }
}

TEST(LeftOutPmuTest, LeavesAGroupOfTheOthersWholeWithItsSoftwareEvents) {
  test::ScriptedKernel kernel;

  EXPECT_THAT(test::groups_of(plan_without_atoms("cycles, task-clock", kernel).counting.cpu),
              ElementsAre("core on cpu_core: cycles, task-clock"));
}

}  // namespace
}  // namespace pex::plan
