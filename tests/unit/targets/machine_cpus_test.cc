#include "targets/machine_cpus.h"

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using Cpus = std::vector<int>;

const std::string kDevices = "sys/bus/event_source/devices/";

TEST(MachineCpusTest, CountsOnTheCpusOfThePmuThatAreOnline) {
  struct Row {
    const char* pmu;
    bool on_cpu_0, on_cpu_2;
    std::size_t count;
  };
  const MachineCpus cpus{.online = {0, 1, 2},
                         .pmus = {{"big", {0, 1, 8}}, {"little", {2}}, {"none", {}}},
                         .places = {}};
  const Row rows[] = {
      {"", true, true, 3},       {"big", true, false, 2},      {"little", false, true, 1},
      {"none", false, false, 0}, {"unknown", false, false, 0},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(cpus.counts_on(row.pmu, 0), row.on_cpu_0) << row.pmu;
    EXPECT_EQ(cpus.counts_on(row.pmu, 2), row.on_cpu_2) << row.pmu;
    EXPECT_EQ(cpus.count_of(row.pmu), row.count) << row.pmu;
  }
}

TEST(ResizedTest, HasKindsOfCoresByTheirShareAndUncorePmusAsHere) {
  const MachineCpus here{.online = {1, 2, 3},
                         .pmus = {{"big", {1}}, {"little", {2, 3}}, {"imc", {1}}},
                         .places = {{1, {}}, {2, {}}, {3, {}}},
                         .left_out = {0}};

  const MachineCpus there = resized(here, 8, {0}, {"imc"});

  EXPECT_EQ(there.online, (Cpus{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(there.left_out, Cpus{0});
  EXPECT_EQ(there.pmus.at("imc").size(), 1U);
  EXPECT_EQ(there.pmus.at("big").size(), 2U);
  EXPECT_EQ(there.pmus.at("little").size(), 4U);
}

/// Eight CPUs of two packages, of which the memory of the first one is read on its first CPU.
class CpuTrackerTest : public testing::Test {
 protected:
  CpuTrackerTest() {
    set_online("0-7");
    set_mask("uncore_imc", "0");
    for (int cpu = 0; cpu < 8; ++cpu) set_package(cpu, cpu / 4);
  }

  void set_online(const std::string& cpus) {
    tree_.write("sys/devices/system/cpu/online", cpus + "\n");
  }
  void set_mask(const std::string& pmu, const std::string& cpus) {
    tree_.write(kDevices + pmu + "/cpumask", cpus + "\n");
  }
  void set_package(int cpu, int package) {
    tree_.write(topology(cpu) + "/physical_package_id", std::to_string(package) + "\n");
  }
  static std::string topology(int cpu) {
    return "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology";
  }
  CpuTracker tracker(std::vector<std::string> pmus) const {
    return {{.sysfs = tree_.path("sys"), .cgroupfs = {}}, std::move(pmus)};
  }

  test::TempTree tree_;
  std::vector<Error> failures_;
};

TEST_F(CpuTrackerTest, KnowsTheCpusOfTheMachineAndOfThePmusThatWereAskedFor) {
  set_mask("power", "0,4");
  CpuTracker cpus = tracker({"uncore_imc"});

  const auto now = cpus.update(failures_);

  EXPECT_EQ(now->online, (Cpus{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(now->pmus.at("uncore_imc"), Cpus{0});
  EXPECT_FALSE(now->pmus.contains("power"));
  EXPECT_EQ(now->places.at(5).package, 1);
  EXPECT_TRUE(failures_.empty());
}

TEST_F(CpuTrackerTest, LeavesOutAllCpusAsLongAsItIsTold) {
  CpuTracker cpus = tracker({"uncore_imc"});
  const auto before = cpus.update(failures_);

  cpus.leave_out_all(true);
  const auto none = cpus.update(failures_);
  cpus.leave_out_all(false);
  const auto after = cpus.update(failures_);

  EXPECT_TRUE(none->online.empty());
  EXPECT_EQ(none->left_out, before->online);
  EXPECT_EQ(none->unread_on("uncore_imc", {}), Cpus{}) << "its totals stay";
  EXPECT_EQ(after->unread_on("uncore_imc", {0}), Cpus{0});
  EXPECT_EQ(after->online, before->online);
  EXPECT_TRUE(after->left_out.empty());
}

TEST_F(CpuTrackerTest, FollowsAPmuToTheCpuThatTakesItOver) {
  CpuTracker cpus = tracker({"uncore_imc"});
  (void)cpus.update(failures_);
  set_online("1-7");
  set_mask("uncore_imc", "4");

  const auto now = cpus.update(failures_);

  EXPECT_FALSE(now->counts_on("uncore_imc", 0));
  EXPECT_TRUE(now->counts_on("uncore_imc", 4));
}

TEST_F(CpuTrackerTest, PrefersTheCpusOfACorePmuToACpumask) {
  tree_.write(kDevices + "cpu_core/cpus", "0-3\n");
  set_mask("cpu_core", "0");
  CpuTracker cpus = tracker({"cpu_core"});

  EXPECT_EQ(cpus.update(failures_)->pmus.at("cpu_core"), (Cpus{0, 1, 2, 3}));
}

TEST_F(CpuTrackerTest, RemembersThePlacesOfCpusThatAreOffline) {
  CpuTracker cpus = tracker({});
  (void)cpus.update(failures_);
  set_online("0-3");
  tree_.remove(topology(7));

  const auto now = cpus.update(failures_);

  EXPECT_EQ(now->online, (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(now->places.at(7).package, 1);
}

TEST_F(CpuTrackerTest, LearnsThePlaceOfACpuWhenItComes) {
  set_online("0-3");
  CpuTracker cpus = tracker({});
  const auto before = cpus.update(failures_);
  set_online("0-4");

  const auto now = cpus.update(failures_);

  EXPECT_FALSE(before->places.contains(4));
  EXPECT_EQ(now->places.at(4).package, 1);
}

TEST_F(CpuTrackerTest, WhenAPmuCannotReportItsCpusThoseOfBeforeHold) {
  CpuTracker cpus = tracker({"uncore_imc"});
  (void)cpus.update(failures_);
  set_online("0-6");
  set_mask("uncore_imc", "none");

  const auto now = cpus.update(failures_);

  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_NE(failures_[0].attempted.find("uncore_imc"), std::string::npos);
  EXPECT_EQ(now->online.size(), 7U);
  EXPECT_EQ(now->pmus.at("uncore_imc"), Cpus{0});
}

TEST_F(CpuTrackerTest, AsksAPmuAgainThatCouldNotReport) {
  set_mask("uncore_imc", "none");
  CpuTracker cpus = tracker({"uncore_imc"});
  (void)cpus.update(failures_);
  set_mask("uncore_imc", "0");

  const auto now = cpus.update(failures_);

  EXPECT_TRUE(now->counts_on("uncore_imc", 0));
  EXPECT_EQ(cpus.update(failures_), now);
}

TEST_F(CpuTrackerTest, OnePmuThatCannotReportThemDoesNotCostTheOthers) {
  CpuTracker cpus = tracker({"gone", "uncore_imc"});

  const auto now = cpus.update(failures_);

  EXPECT_EQ(failures_.size(), 1U);
  EXPECT_EQ(now->count_of("gone"), 0U);
  EXPECT_EQ(now->count_of("uncore_imc"), 1U);
}

TEST_F(CpuTrackerTest, WhenTheMachineCannotReportItsCpusThoseOfBeforeHold) {
  CpuTracker cpus = tracker({"uncore_imc"});
  const auto before = cpus.update(failures_);
  set_online("none");

  const auto now = cpus.update(failures_);

  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_EQ(failures_[0].code, EINVAL);
  EXPECT_EQ(now, before);
}

TEST_F(CpuTrackerTest, KeepsThoseApartThatAreLeftOut) {
  set_online("0-3");
  CpuTracker cpus{{.sysfs = tree_.path("sys"), .cgroupfs = {}}, {"uncore_imc"}, {0, 2, 9}};

  const auto before = cpus.update(failures_);
  EXPECT_EQ(before->online, (Cpus{1, 3}));
  EXPECT_EQ(before->left_out, (Cpus{0, 2}));
  EXPECT_FALSE(before->is_online(0));
  EXPECT_TRUE(before->counts_on("uncore_imc", 1)) << "instead of CPU 0, of the same package";
  EXPECT_EQ(before->count_of("uncore_imc"), 1U);

  set_online("1,3");
  EXPECT_EQ(cpus.update(failures_)->left_out, Cpus{});
}

TEST_F(CpuTrackerTest, KnowsWhichReadersOfAnUncorePmuAreLeftOutByAllGroupsOrByOne) {
  set_mask("uncore_imc", "0,4");
  tree_.write(kDevices + "cpu_atom/cpus", "4-7\n");
  const auto unread = [&](std::vector<int> left_out, const std::vector<int>& left_out_too) {
    CpuTracker cpus{{.sysfs = tree_.path("sys"), .cgroupfs = {}},
                    {"uncore_imc", "cpu_atom"},
                    std::move(left_out)};
    const auto now = cpus.update(failures_);
    EXPECT_EQ(now->unread_on("cpu_atom", {4}), Cpus{}) << "a CPU of it reads itself";
    return now->unread_on("uncore_imc", left_out_too);
  };
  EXPECT_EQ(unread({4, 5}, {}), Cpus{}) << "CPU 6 is of the same package";
  EXPECT_EQ(unread({4, 5}, {6}), Cpus{6});
  EXPECT_EQ(unread({4, 5, 6, 7}, {}), Cpus{4});
}

TEST_F(CpuTrackerTest, CountsAGroupOnFewerCpusThatLeavesOutMore) {
  const std::shared_ptr<const MachineCpus> cpus = tracker({}).update(failures_);

  EXPECT_FALSE(cpus->counts_on("", 1, {1, 2}));
  EXPECT_TRUE(cpus->counts_on("", 3, {1, 2}));
  EXPECT_EQ(cpus->count_of("", {1, 2}), 6U);
}

}  // namespace
}  // namespace pex::collect
