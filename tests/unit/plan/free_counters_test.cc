#include "plan/machine/free_counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "host/self_process.h"
#include "support/counting_kernel.h"
#include "support/temp_tree.h"

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
  test::TempTree tree_{{"sys/bus/event_source/devices/cpu/type", "4\n"}};

  /// Of the PMU `cpu` on its CPU 2.
  std::optional<FreeCounters> count(PmuKernel& kernel) const {
    const Result<events::EventResolver> resolver =
        events::EventResolver::create({.sysfs = tree_.path("sys"), .cgroupfs = {}});
    EXPECT_TRUE(resolver);
    return count_free_counters(kernel, *resolver, *resolver->pmus().find("cpu"), 2);
  }
};

TEST_F(FreeCountersTest, AreAsManyAsOnePinnedGroupCanHave) {
  PmuKernel kernel{{.general = 6}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 6U);
  EXPECT_EQ(free->fixed, 0U);
}

TEST_F(FreeCountersTest, AreFixedWhereAnEventIsCountedNextToAllGeneralOnes) {
  PmuKernel kernel{{.general = 4,
                    .fixed = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                              PERF_COUNT_HW_REF_CPU_CYCLES}}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 4U);
  EXPECT_EQ(free->fixed, 3U);
}

TEST_F(FreeCountersTest, AreFewerWhenOthersHoldSome) {
  PmuKernel kernel{{.general = 4, .fixed = {PERF_COUNT_HW_CPU_CYCLES}, .held = 1}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 3U);
  EXPECT_EQ(free->fixed, 1U);
}

TEST_F(FreeCountersTest, AreNoneWhenOthersHoldThemAll) {
  PmuKernel kernel{{.general = 2, .held = 2}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 0U);
}

TEST_F(FreeCountersTest, AreFoundWithAnotherEventWhereTheFirstIsNotKnown) {
  PmuKernel kernel{{.general = 3, .unknown = {PERF_COUNT_HW_BRANCH_MISSES}}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 3U);
}

TEST_F(FreeCountersTest, AreNotKnownWhereNoHardwareEventOpens) {
  PmuKernel kernel{{.unknown = {PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_CACHE_MISSES,
                                PERF_COUNT_HW_INSTRUCTIONS}}};

  EXPECT_FALSE(count(kernel));
}

TEST_F(FreeCountersTest, AreNeverMoreThanTheTrialsGo) {
  PmuKernel kernel{{.general = 1000}};

  const std::optional<FreeCounters> free = count(kernel);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, kMaxGeneralCounters);
}

TEST_F(FreeCountersTest, LeaveNothingOpenAndTouchOneCpu) {
  PmuKernel kernel{{.general = 4}};
  const std::optional<std::uint64_t> before = host::list_open_fds();

  (void)count(kernel);

  EXPECT_EQ(host::list_open_fds(), before);
  EXPECT_EQ(kernel.opened_on, std::set<int>{2});
}

TEST_F(FreeCountersTest, AreThoseOfOnePmuOfAHybridMachine) {
  tree_.remove("sys/bus/event_source/devices/cpu");
  tree_.write("sys/bus/event_source/devices/cpu_atom/type", "10\n");
  tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "2-3\n");
  tree_.write("sys/bus/event_source/devices/cpu_core/type", "4\n");
  tree_.write("sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
  const Result<events::EventResolver> resolver =
      events::EventResolver::create({.sysfs = tree_.path("sys"), .cgroupfs = {}});
  ASSERT_TRUE(resolver);
  PmuKernel kernel{{.general = 6}};

  const std::optional<FreeCounters> free =
      count_free_counters(kernel, *resolver, *resolver->pmus().find("cpu_atom"), 2);

  ASSERT_TRUE(free);
  EXPECT_EQ(free->general, 6U);
}

TEST_F(FreeCountersTest, AreThoseOfEachCorePmuThatIsCounted) {
  tree_.remove("sys/bus/event_source/devices/cpu");
  tree_.write("sys/devices/system/cpu/online", "0-3\n");
  for (const auto& [pmu, type, cpus] :
       {std::tuple{"cpu_core", "4\n", "0-1\n"}, {"cpu_atom", "10\n", "2-3\n"}}) {
    const std::string folder = std::string("sys/bus/event_source/devices/") + pmu;
    tree_.write(folder + "/type", type);
    tree_.write(folder + "/cpus", cpus);
  }
  const host::HostRoots roots{.sysfs = tree_.path("sys"), .cgroupfs = {}};
  PmuKernel kernel{{.general = 6}};

  EXPECT_EQ(count_free_counters(kernel, roots, {}).size(), 2U);
  EXPECT_EQ(count_free_counters(kernel, roots, {2, 3}).size(), 1U);
  EXPECT_EQ(count_free_counters(kernel, roots, {0, 1}).count("cpu_atom"), 1U);
  EXPECT_EQ(count_free_counters(kernel, roots, {0, 1, 2, 3}).size(), 0U);
}

}  // namespace
}  // namespace pex::plan
