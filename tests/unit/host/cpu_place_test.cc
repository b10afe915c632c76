#include "host/cpu_place.h"

#include <ostream>
#include <string_view>

#include "base/text.h"
#include "host/topology.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {

std::ostream& operator<<(std::ostream& out, const CpuPlace& place) {
  return out << "cpu " << place.cpu << " core " << place.core << " die " << place.die << " package "
             << place.package << " numa_node " << place.numa_node;
}

namespace {

HostRoots below(const std::string& sysfs) { return {.sysfs = sysfs, .cgroupfs = {}}; }

HostRoots machine(const std::string& name) {
  return below(PEX_SOURCE_DIR "/tests/unit/events/machines/" + name + "/sys");
}

TEST(CpuPlaceTest, IsWhatTheTopologyOfTheCpuHas) {
  const test::TempTree tree{
      {"sys/devices/system/cpu/cpu70/topology/core_id", "5\n"},
      {"sys/devices/system/cpu/cpu70/topology/die_id", "1\n"},
      {"sys/devices/system/cpu/cpu70/topology/physical_package_id", "3\n"},
      {"sys/devices/system/cpu/cpu70/topology/thread_siblings_list", "6,69-70\n"},
      {"sys/devices/system/cpu/cpu70/node12/"}};

  const CpuPlace place = read_cpu_place(below(tree.path("sys")), 70);

  EXPECT_EQ(
      place,
      (CpuPlace{
          .cpu = 70, .core = 5, .die = 1, .package = 3, .numa_node = 12, .threads = {6, 69, 70}}));
}

TEST(CpuPlaceTest, IsACoreOfItsOwnWhereNothingIsReportedOrNoNumber) {
  const test::TempTree bare{{"sys/devices/system/cpu/cpu3/"}};
  EXPECT_EQ(read_cpu_place(below(bare.path("sys")), 3), (CpuPlace{.cpu = 3, .core = 3}));

  for (const char* content : {"-1\n", "", "\n", "two\n", "4294967295\n", "1 2\n"}) {
    const test::TempTree tree{
        {"sys/devices/system/cpu/cpu3/topology/core_id", content},
        {"sys/devices/system/cpu/cpu3/topology/die_id", content},
        {"sys/devices/system/cpu/cpu3/topology/physical_package_id", content}};

    const CpuPlace place = read_cpu_place(below(tree.path("sys")), 3);

    EXPECT_EQ(place, (CpuPlace{.cpu = 3, .core = 3})) << "'" << content << "'";
  }
}

/// The cores after that, by their CPUs.
std::vector<int> separated(std::map<int, CpuPlace>& places) {
  separate_cores(places);
  std::vector<int> cores;
  for (const auto& [cpu, place] : places) cores.push_back(place.core);
  return cores;
}

TEST(SeparateCoresTest, NumbersCoresByTheirFirstCpuWhereEachClusterStartsAgain) {
  std::map<int, CpuPlace> places;
  for (const auto& [cpu, cluster, core] :
       {std::array{0, 0, 0}, {1, 0, 1}, {4, 1, 0}, {5, 1, 0}, {6, 1, 1}}) {
    places[cpu] = {.cpu = cpu, .core = core, .cluster = cluster};
  }

  EXPECT_EQ(separated(places), (std::vector{0, 1, 4, 4, 6}));
}

TEST(SeparateCoresTest, CpusOfOneNumberAreOneCoreOnlyIfTheyAreThreadsOfIt) {
  std::map<int, CpuPlace> places;
  places[0] = {.cpu = 0, .core = 5, .threads = {0, 2}};
  places[1] = {.cpu = 1, .core = 5, .threads = {1}};  // while CPU 3 was offline
  places[2] = {.cpu = 2, .core = 5, .threads = {0, 2}};
  places[3] = {.cpu = 3, .core = 5, .threads = {1, 3}};

  EXPECT_EQ(separated(places), (std::vector{0, 1, 0, 1}));
}

TEST(SeparateCoresTest, ThreadsOfOneCoreHaveOneNumberWhateverTheirNumbersAre) {
  std::map<int, CpuPlace> places;
  for (const int cpu : {0, 1, 2, 3}) {
    places[cpu] = {.cpu = cpu, .core = cpu, .threads = {cpu / 2 * 2, cpu / 2 * 2 + 1}};
  }

  EXPECT_EQ(separated(places), (std::vector{0, 0, 2, 2}));
}

/// "3/1/-1/0//2-3", as in topologies.txt, which has an empty part for a file that is not there.
CpuPlace place_of(std::string_view cpu, test::TempTree& tree) {
  const std::vector<std::string_view> parts = split(cpu, '/');
  const std::string folder = "sys/devices/system/cpu/cpu" + std::string(parts.at(0)) + "/topology/";
  std::size_t part = 1;
  for (const char* file :
       {"core_id", "die_id", "physical_package_id", "cluster_id", "thread_siblings_list"}) {
    const std::string_view content = parts.at(part++);
    if (!content.empty()) tree.write(folder + file, std::string(content) + "\n");
  }
  return read_cpu_place(below(tree.path("sys")), std::stoi(std::string(parts.front())));
}

TEST(SeparateCoresTest, RowsOfCoresAreTheThreadsThatTheKernelListsOnEachMachineOfTheDumps) {
  std::ifstream file(PEX_SOURCE_DIR "/tests/unit/host/topologies.txt");
  int machines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string_view> words = split(line, ' ');
    test::TempTree tree;
    std::map<int, CpuPlace> places;
    std::set<std::vector<int>> cores;
    for (std::size_t word = 1; word < words.size(); ++word) {
      const CpuPlace place = place_of(words[word], tree);
      places[place.cpu] = place;
      cores.insert(place.threads);
    }

    separate_cores(places);

    std::map<std::array<int, 3>, std::vector<int>> rows;
    for (const auto& [cpu, place] : places) {
      rows[{place.package, place.die, place.core}].push_back(cpu);
    }
    std::set<std::vector<int>> of_rows;
    for (const auto& [row, cpus] : rows) of_rows.insert(cpus);
    EXPECT_EQ(of_rows, cores) << words.front();
    ++machines;
  }
  EXPECT_EQ(machines, 66);
}

TEST(SeparateCoresTest, KeepsNumbersThatAreUniqueInADie) {
  std::map<int, CpuPlace> places;
  places[0] = {.cpu = 0, .core = 3, .cluster = 0};
  places[1] = {.cpu = 1, .core = 3, .cluster = 0};
  places[2] = {.cpu = 2, .core = 3, .package = 1, .cluster = 7};

  const std::map<int, CpuPlace> before = places;
  separate_cores(places);

  EXPECT_EQ(places, before);
}

TEST(CpuPlaceTest, KnowsTheNodeFromItsOwnEntryAlone) {
  const test::TempTree tree{{"sys/devices/system/cpu/cpu0/node/"},
                            {"sys/devices/system/cpu/cpu0/nodes3/"},
                            {"sys/devices/system/cpu/cpu0/firmware_node"},
                            {"sys/devices/system/cpu/cpu0/node-1/"},
                            {"sys/devices/system/cpu/cpu0/node2/"}};

  const CpuPlace place = read_cpu_place(below(tree.path("sys")), 0);

  EXPECT_EQ(place.numa_node, 2);
}

TEST(CpuPlaceTest, IsThatOfEveryKindOfMachine) {
  struct Row {
    const char* machine;
    CpuPlace place;
  };
  const Row rows[] = {
      {"intel_client", {.cpu = 0, .core = 0}},
      {"intel_client", {.cpu = 7, .core = 3}},
      {"intel_hybrid", {.cpu = 3, .core = 4}},
      {"intel_hybrid", {.cpu = 15, .core = 28}},
      {"intel_hybrid", {.cpu = 23, .core = 39}},
      {"intel_server", {.cpu = 15, .core = 15}},
      {"intel_server", {.cpu = 16, .core = 0, .package = 1, .numa_node = 1}},
      {"intel_server", {.cpu = 31, .core = 15, .package = 1, .numa_node = 1}},
      {"amd_zen", {.cpu = 9, .core = 9}},
      {"arm_neoverse", {.cpu = 2, .core = 2, .package = 36}},
      {"arm_biglittle", {.cpu = 3, .core = 3}},
      {"arm_biglittle", {.cpu = 5, .core = 1, .package = 1}},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(read_cpu_place(machine(row.machine), row.place.cpu), row.place) << row.machine;
  }
}

TEST(CpuPlaceTest, IsKnownOfEveryCpuOfThisMachine) {
  const Result<std::vector<int>> cpus = online_cpus({});
  ASSERT_TRUE(cpus) << describe(cpus.error());

  EXPECT_GE(cpus->size(), 1U);
  for (const int cpu : *cpus) EXPECT_EQ(read_cpu_place({}, cpu).cpu, cpu);
}

}  // namespace
}  // namespace pex::host
