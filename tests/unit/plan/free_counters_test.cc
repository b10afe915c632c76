#include "plan/machine/free_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>

#include <cerrno>

#include "host/self_process.h"
#include "plan/machine/machine_description.h"
#include "support/counting_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::plan {
namespace {

using Config = std::uint64_t;

/// A core PMU: `general` counters for any event it knows, and one more for each of `fixed`. Others
/// hold `held` general ones for good.
struct Hardware {
  std::size_t general = 4;
  std::set<Config> fixed = {};
  std::size_t held = 0;
  std::set<Config> unknown = {};
};

/// Refuses groups that could never be scheduled with EINVAL, as the kernel does, and reads nothing
/// of pinned ones for which no counter is left.
class PmuKernel final : public test::CountingKernel {
 public:
  explicit PmuKernel(Hardware hardware) : hardware_(std::move(hardware)) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    const Config config = request.event.config & 0xff;
    if (request.event.type != PERF_TYPE_HARDWARE || hardware_.unknown.contains(config)) {
      return Error{ENOENT, {}, {}};
    }
    opened_on.insert(request.cpu);
    perf::OpenCounter counter{UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}, ++opened_};
    const bool leads = request.leader_fd < 0;
    Group& group = groups_[leads ? counter.fd.get() : request.leader_fd];
    if (leads) group = {};
    if (leads && !request.pinned) ADD_FAILURE() << "a group that is not pinned";
    group.configs.push_back(config);
    group.ids.push_back(counter.id);
    if (general_counters_for(group) > hardware_.general) return Error{EINVAL, {}, {}};
    return counter;
  }

  Result<> enable_group(int) override { return {}; }
  Result<> disable_group(int) override { return {}; }

  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    const Group& group = groups_[leader_fd];
    if (general_counters_for(group) + hardware_.held > hardware_.general) return std::size_t{0};
    std::vector<std::uint64_t> reading = {group.ids.size(), 1000, 1000};
    for (const std::uint64_t id : group.ids) reading.insert(reading.end(), {7, id});
    std::copy(reading.begin(), reading.end(), words.begin());
    return reading.size();
  }
  std::chrono::nanoseconds now() override { return {}; }

  std::set<int> opened_on;  ///< CPUs

 private:
  struct Group {
    std::vector<Config> configs;
    std::vector<std::uint64_t> ids;
  };

  std::size_t general_counters_for(const Group& group) const {
    const std::set<Config> kinds{group.configs.begin(), group.configs.end()};
    std::size_t on_fixed = 0;
    for (const Config config : kinds) on_fixed += hardware_.fixed.count(config);
    return group.configs.size() - on_fixed;
  }

  Hardware hardware_;
  std::uint64_t opened_ = 0;
  std::map<int, Group> groups_;  ///< by the leader's descriptor
};

class FreeCountersTest : public testing::Test {
 protected:
  /// CPUs 0 and 1 are of cpu_core, 2 and 3 of cpu_atom.
  void become_hybrid() {
    tree_.remove("sys/bus/event_source/devices/cpu");
    tree_.write("sys/devices/system/cpu/online", "0-3\n");
    tree_.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
    tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "2-3\n");
    tree_.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
    tree_.write("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
  }

  test::TempTree tree_{{"sys/bus/event_source/devices/cpu/type", "4\n"}};

  /// On CPU 2 of the PMU.
  std::optional<FreeCounters> count(PmuKernel& kernel, const char* pmu = "cpu") const {
    const Result<events::EventResolver> resolver =
        events::EventResolver::create({.sysfs = tree_.path("sys"), .cgroupfs = {}});
    EXPECT_TRUE(resolver);
    return count_free_counters(kernel, *resolver, *resolver->pmus().find(pmu), 2);
  }
};

TEST_F(FreeCountersTest, AreAsManyAsOnePinnedGroupCanHave) {
  struct Row {
    const char* what;
    Hardware hardware;
    std::size_t general;
    std::size_t fixed = 0;
  };
  const Row rows[] = {
      {"general ones only", {.general = 6}, 6},
      {"fixed ones, counted next to all general ones",
       {.general = 4,
        .fixed = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                  PERF_COUNT_HW_REF_CPU_CYCLES}},
       4,
       3},
      {"others hold some", {.general = 4, .fixed = {PERF_COUNT_HW_CPU_CYCLES}, .held = 1}, 3, 1},
      {"others hold all", {.general = 2, .held = 2}, 0},
      {"found with another event", {.general = 3, .unknown = {PERF_COUNT_HW_BRANCH_MISSES}}, 3},

  };

  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    PmuKernel kernel{row.hardware};

    const std::optional<FreeCounters> free = count(kernel);

    ASSERT_TRUE(free);
    EXPECT_EQ(free->general, row.general);
    EXPECT_EQ(free->fixed, row.fixed);
  }
}

TEST_F(FreeCountersTest, AreNeverMoreThanTheTrialsGo) {
  PmuKernel kernel{{.general = 1000}};

  EXPECT_EQ(count(kernel)->general, kMaxGeneralCounters);
}

TEST_F(FreeCountersTest, AreNotKnownWhereNoHardwareEventOpens) {
  PmuKernel kernel{{.unknown = {PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_CACHE_MISSES,
                                PERF_COUNT_HW_INSTRUCTIONS}}};

  EXPECT_FALSE(count(kernel));
}

TEST_F(FreeCountersTest, LeaveNothingOpenAndTouchOneCpu) {
  PmuKernel kernel{{.general = 4}};
  const std::optional<std::uint64_t> before = host::list_open_fds();

  (void)count(kernel);

  EXPECT_EQ(host::list_open_fds(), before);
  EXPECT_EQ(kernel.opened_on, std::set<int>{2});
}

TEST_F(FreeCountersTest, AreThoseOfOnePmuOfAHybridMachine) {
  become_hybrid();
  PmuKernel kernel{{.general = 6}};

  const std::optional<FreeCounters> free = count(kernel, "cpu_atom");

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 6U);
}

TEST_F(FreeCountersTest, AreThoseOfEachCorePmuThatIsCounted) {
  become_hybrid();
  const host::HostRoots roots{.sysfs = tree_.path("sys"), .cgroupfs = {}};
  PmuKernel kernel{{.general = 6}};

  EXPECT_EQ(count_free_counters(kernel, roots, {}).size(), 2U);
  EXPECT_EQ(count_free_counters(kernel, roots, {2, 3}).size(), 1U);
  EXPECT_EQ(count_free_counters(kernel, roots, {0, 1}).count("cpu_atom"), 1U);
  EXPECT_EQ(count_free_counters(kernel, roots, {0, 1, 2, 3}).size(), 0U);
}

class MachineDescriptionTest : public testing::Test {
 protected:
  MachineDescription describe() {
    return describe_machine(
        {.sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = {}});
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0-3\n"}};
};

TEST_F(MachineDescriptionTest, HasNoPmuWithoutACorePmu) { EXPECT_EQ(describe().pmu, ""); }

TEST_F(MachineDescriptionTest, HasTheNameOfThePmuOrThatOfItsMicroarchitecture) {
  tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
  EXPECT_EQ(describe().pmu, "cpu");

  tree_.write("sys/bus/event_source/devices/cpu/caps/pmu_name", "skylake\n");
  EXPECT_EQ(describe().pmu, "skylake");
}

TEST_F(MachineDescriptionTest, ListsEachCorePmuOfAHybridMachine) {
  tree_.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  tree_.write("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "2-3\n");

  EXPECT_EQ(describe().pmu, "cpu_atom,cpu_core");
}

}  // namespace
}  // namespace pex::plan
