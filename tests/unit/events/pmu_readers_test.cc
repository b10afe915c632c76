#include "events/pmu_readers.h"

#include "events/pmu.h"
#include "host/cpu_place.h"
#include "host/topology.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::events {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using Cpus = std::vector<int>;

/// Of two packages whose dies have two CPUs each.
void write_topology(test::TempTree& tree, int per_package) {
  for (int cpu = 0; cpu < 2 * per_package; ++cpu) {
    const std::string topology = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree.write(topology + "physical_package_id", std::to_string(cpu / per_package));
    tree.write(topology + "die_id", std::to_string(cpu % per_package / 2));
  }
  tree.write("sys/devices/system/cpu/online", "0-" + std::to_string(2 * per_package - 1));
}

/// Eight CPUs: two packages of two dies of two CPUs.
class ReadersTest : public testing::Test {
 protected:
  ReadersTest() {
    roots_.sysfs = tree_.path("sys");
    roots_.procfs = tree_.path("proc");
    write_topology(tree_, 4);
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

/// As cstate_core has.
TEST_F(ReadersTest, OfACoreOnlyItsOwnThreadsStandInForItsReader) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string topology = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree_.write(topology + "die_id", "0");
    tree_.write(topology + "thread_siblings_list",
                std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1));
  }
  EXPECT_THAT(readers("uncore", {0, 2, 4, 6}, {2, 4}), ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(readers("uncore", {0, 2, 4, 6}, {2, 3}), ElementsAre(0, 2, 4, 6)) << "a whole core";
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
    write_topology(tree_, per_package_);
    for (int cpu = 0; cpu < 2 * per_package_; ++cpu) {
      cpus_.push_back(cpu);
      if (cpu % 2 == 0) of_dies_.push_back(cpu);
    }
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

/// By its folder in the machines of these tests.
class MachineTest : public testing::TestWithParam<const char*> {};

TEST_P(MachineTest, AnotherCpuOfThePackageReadsWhicheverReaderIsLeftOut) {
  const std::string root = PEX_SOURCE_DIR "/tests/unit/events/machines/" + std::string(GetParam());
  const host::HostRoots roots{.sysfs = root + "/sys", .procfs = root + "/proc", .cgroupfs = {}};
  const Cpus online = *host::online_cpus(roots);
  const PmuCatalogue pmus = *PmuCatalogue::read(roots);
  const auto package_of = [&](int cpu) { return host::read_cpu_place(roots, cpu).package; };
  for (const Pmu& pmu : pmus.pmus()) {
    std::map<int, int> readers_in;  // package -> number
    for (const int cpu : pmu.cpus) ++readers_in[package_of(cpu)];
    for (const int left_out : pmu.cpus) {
      if (pmu.kind != PmuKind::kUncore || readers_in[package_of(left_out)] > 1) continue;
      Cpus counted = online;
      std::erase(counted, left_out);
      const Cpus used = readers_of(roots, pmu.name, pmu.cpus, counted, {left_out});
      std::map<int, int> used_in;
      for (const int cpu : used) ++used_in[package_of(cpu)];
      EXPECT_EQ(used_in, readers_in) << pmu.name << " without CPU " << left_out;
      EXPECT_THAT(used, Not(Contains(left_out))) << pmu.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MachineTest,
                         testing::Values("intel_client", "intel_hybrid", "intel_server", "amd_zen",
                                         "arm_neoverse", "arm_biglittle"));

}  // namespace
}  // namespace pex::events
