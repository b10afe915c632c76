#include "events/pmu_readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temp_tree.h"

namespace pex::events {
namespace {

using ::testing::ElementsAre;
using Cpus = std::vector<int>;

/// Eight CPUs: two packages of two dies of two CPUs.
class ReadersTest : public testing::Test {
 protected:
  ReadersTest() {
    roots_.sysfs = tree_.path("sys");
    roots_.procfs = tree_.path("proc");
    for (int cpu = 0; cpu < 8; ++cpu) {
      const std::string topology =
          "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      tree_.write(topology + "physical_package_id", std::to_string(cpu / 4));
      tree_.write(topology + "die_id", std::to_string(cpu / 2 % 2));
    }
    tree_.write("sys/devices/system/cpu/online", "0-7");
    tree_.write("sys/bus/event_source/devices/power/cpumask", "0,4");
    tree_.write("sys/bus/event_source/devices/uncore/cpumask", "0,4");
    tree_.write("sys/bus/event_source/devices/cpu_atom/cpus", "0");
  }
  /// With some CPUs left out.
  Cpus readers(const std::string& pmu, const Cpus& named, const Cpus& left_out = {}) {
    Cpus counted;
    for (int cpu = 0; cpu < 8; ++cpu) {
      if (std::find(left_out.begin(), left_out.end(), cpu) == left_out.end()) {
        counted.push_back(cpu);
      }
    }
    return readers_of(roots_, pmu, named, counted, left_out);
  }
  void vendor(const std::string& name) {
    tree_.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + name + "\n");
  }

  test::TempTree tree_;
  host::HostRoots roots_;
};

TEST_F(ReadersTest, AreThoseThatTheKernelNamesWhileTheyAreCounted) {
  EXPECT_THAT(readers("uncore", {0, 4}), ElementsAre(0, 4));
  EXPECT_THAT(readers("uncore", {0, 2, 4, 6}, {1, 5}), ElementsAre(0, 2, 4, 6));
}

TEST_F(ReadersTest, AnyCpuOfThePackageStandsInForItsOnlyReader) {
  EXPECT_THAT(readers("uncore", {0, 4}, {4, 5}), ElementsAre(0, 6));
  EXPECT_THAT(readers("uncore", {0, 4}, {0, 1, 2, 4}), ElementsAre(3, 5));
}

TEST_F(ReadersTest, OfADieOnlyItsOwnCpusStandInForItsReader) {
  EXPECT_THAT(readers("uncore", {0, 2, 4, 6}, {2, 4}), ElementsAre(0, 3, 5, 6));
}

TEST_F(ReadersTest, NobodyStandsInWhereThatIsNotKnownToBeRight) {
  EXPECT_THAT(readers("uncore", {0, 1, 4}, {1}), ElementsAre(0, 1, 4)) << "two readers of a die";
  EXPECT_THAT(readers("uncore", {0, 4}, {4, 5, 6, 7}), ElementsAre(0, 4)) << "a whole package";
  EXPECT_THAT(readers("cpu_atom", {0}, {0}), ElementsAre(0)) << "the counters of a CPU";
}

TEST_F(ReadersTest, EnergyOfAmdIsReadOnceForEachPackage) {
  for (const char* amd : {"AuthenticAMD", "HygonGenuine"}) {
    vendor(amd);
    EXPECT_THAT(readers("power", {0, 2, 4, 6}), ElementsAre(0, 4)) << amd;
    EXPECT_THAT(readers("power", {0, 2, 4, 6}, {0, 1}), ElementsAre(2, 4)) << amd;
    EXPECT_THAT(readers("uncore", {0, 2, 4, 6}), ElementsAre(0, 2, 4, 6)) << amd;
  }
  vendor("GenuineIntel");
  EXPECT_THAT(readers("power", {0, 2, 4, 6}), ElementsAre(0, 2, 4, 6));
}

/// Two packages of so many dies of two CPUs. Linux 6.9 to 6.11.5 names a CPU of each die, others
/// one of each package.
class EnergyOfAmdTest : public testing::TestWithParam<int> {
 protected:
  EnergyOfAmdTest() {
    roots_.sysfs = tree_.path("sys");
    roots_.procfs = tree_.path("proc");
    for (int cpu = 0; cpu < 2 * per_package_; ++cpu) {
      const std::string topology =
          "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      tree_.write(topology + "physical_package_id", std::to_string(cpu / per_package_));
      tree_.write(topology + "die_id", std::to_string(cpu % per_package_ / 2));
      cpus_.push_back(cpu);
      if (cpu % 2 == 0) of_dies_.push_back(cpu);
    }
    tree_.write("sys/devices/system/cpu/online", "0-" + std::to_string(cpus_.back()));
    tree_.write("sys/bus/event_source/devices/power/cpumask", "");
    tree_.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
  }
  Cpus readers(const Cpus& named, int left_out) {
    Cpus counted = cpus_;
    std::erase(counted, left_out);
    return readers_of(roots_, "power", named, counted, {left_out});
  }

  const int per_package_ = 2 * GetParam();
  test::TempTree tree_;
  host::HostRoots roots_;
  Cpus cpus_;
  Cpus of_dies_;
};

TEST_P(EnergyOfAmdTest, IsReadOnOneCpuOfEachPackageWhicheverCpuIsLeftOut) {
  for (const Cpus& named : {of_dies_, Cpus{0, per_package_}}) {
    for (const int left_out : cpus_) {
      const auto first = [&](int cpu) { return cpu == left_out ? cpu + 1 : cpu; };
      EXPECT_THAT(readers(named, left_out), ElementsAre(first(0), first(per_package_)))
          << named.size() << " named, CPU " << left_out << " left out";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dies, EnergyOfAmdTest, testing::Values(1, 2, 12));

}  // namespace
}  // namespace pex::events
