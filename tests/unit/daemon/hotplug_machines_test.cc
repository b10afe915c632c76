#include <linux/perf_event.h>

#include <cerrno>
#include <cstddef>

#include "events/pmu.h"
#include "host/cpu_list.h"
#include "support/forwarding_kernel.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/daemon/polled_app.h"

// Each CPU of each machine of the tests is offline at the start and comes back: then the same is
// counted as after a start with it. Of a machine with more than 4 CPUs, one of each role: those of
// the same core PMU, package and die, first or other thread of a core, readers of the same PMUs.

namespace pex::daemon {
namespace {

namespace fs = std::filesystem;

std::string read_word(const fs::path& file) {
  std::ifstream in{file};
  std::string word;
  std::getline(in, word);
  return word;
}

std::vector<int> cpus_in(const fs::path& file) {
  const auto cpus = host::parse_cpu_list(read_word(file));
  return cpus ? *cpus : std::vector<int>{};
}

bool has(const std::vector<int>& cpus, int cpu) {
  return std::ranges::find(cpus, cpu) != cpus.end();
}

/// A copy of the trees of a machine, whose CPUs come and go.
class HotplugMachine {
 public:
  HotplugMachine(const fs::path& sys, const fs::path& cgroup) {
    fs::copy(sys, tree_.path("sys"), fs::copy_options::recursive);
    fs::copy(cgroup, tree_.path("cgroup"), fs::copy_options::recursive);
    all_ = online_ = cpus_in(tree_.path(kOnline));
    fs::create_directories(tree_.path(kPmus));
    for (const fs::directory_entry& pmu : fs::directory_iterator(tree_.path(kPmus))) {
      pmus_.push_back(pmu.path().filename());
    }
    std::sort(pmus_.begin(), pmus_.end());
    for (const std::string& pmu : pmus_) {
      if (!fs::exists(file_of(pmu, "cpus"))) continue;
      const std::string type = read_word(file_of(pmu, "type"));
      cores_[static_cast<std::uint32_t>(std::stoul(type))] = cpus_in(file_of(pmu, "cpus"));
    }
  }

  host::HostRoots roots() const {
    return {tree_.path("sys"), tree_.path("proc"), tree_.path("cgroup")};
  }

  std::vector<int> cpus_of_each_role() const {
    constexpr std::size_t kFew = 4;
    if (all_.size() <= kFew) return all_;
    std::map<std::string, int> roles;
    for (const int cpu : all_) roles.emplace(role_of(cpu), cpu);
    std::vector<int> cpus;
    for (const auto& [role, cpu] : roles) cpus.push_back(cpu);
    return cpus;
  }

  /// Another CPU reads its PMUs in its absence, and afterwards.
  bool is_reader(int cpu) const { return !pmus_of(cpu, "cpumask").empty(); }

  /// The kernel names another reader of the same core, else of the same package, and keeps it when
  /// the CPU comes back; it removes the CPU's topology.
  void take_away(int cpu) {
    std::vector<int> rest = all_;
    std::erase(rest, cpu);
    for (const std::string& pmu : pmus_) {
      const bool names_offline_cpus = pmu.starts_with("arm");
      if (!names_offline_cpus) replace(pmu + "/cpus", cpu, {});
      replace(pmu + "/cpumask", cpu, rest);
    }
    write(kOnline, online_ = rest);
    const std::string topology = topology_of(cpu);
    if (fs::exists(tree_.path(topology))) tree_.rename(topology, "topology");
  }

  void bring_back(int cpu) {
    write(kOnline, online_ = all_);
    if (fs::exists(tree_.path("topology"))) tree_.rename("topology", topology_of(cpu));
    for (const auto& [file, cpus] : lost_) write(file, cpus);
    lost_.clear();
  }

  bool is_single() const { return all_.size() == 1; }
  bool is_online(int cpu) const { return has(online_, cpu); }

  /// "- {name: g0, events: [...], scope: cpu}" for each kind of PMU that counts on some CPUs only.
  std::string groups() const {
    std::string text =
        "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup], estimator: time}\n";
    std::set<std::string_view> families;
    for (const std::string& pmu : pmus_) {
      if (!fs::exists(file_of(pmu, "cpus")) && !fs::exists(file_of(pmu, "cpumask"))) continue;
      if (!families.insert(events::without_number(pmu)).second) continue;
      const std::string number = std::to_string(families.size());
      text += "  - {name: g" + number + ", events: ['" + std::string(events::without_number(pmu)) +
              "/config=1,name=m" + number + "/'], scope: cpu}\n";
    }
    return text;
  }

  /// The CPUs of each core PMU with a list, by its type.
  const std::map<std::uint32_t, std::vector<int>>& cores() const { return cores_; }

 private:
  static constexpr const char* kOnline = "sys/devices/system/cpu/online";
  static constexpr const char* kPmus = "sys/bus/event_source/devices";

  std::string file_of(const std::string& pmu, const std::string& name) const {
    return tree_.path(std::string(kPmus) + "/" + pmu + "/" + name);
  }
  static std::string topology_of(int cpu) {
    return "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology";
  }
  std::string pmus_of(int cpu, const char* list) const {
    std::string names;
    for (const std::string& pmu : pmus_) {
      if (has(cpus_in(file_of(pmu, list)), cpu)) names += " " + pmu;
    }
    return names;
  }
  std::string core_of(int cpu) const {
    std::string core;
    for (const char* part : {"physical_package_id", "die_id", "core_id"}) {
      core += place_of(cpu, part) + " ";
    }
    return core;
  }
  std::string role_of(int cpu) const {
    const bool is_sibling = std::any_of(all_.begin(), all_.end(), [&](int other) {
      return other < cpu && core_of(other) == core_of(cpu);
    });
    return place_of(cpu, "physical_package_id") + " " + place_of(cpu, "die_id") +
           (is_sibling ? " sibling" : "") + pmus_of(cpu, "cpus") + pmus_of(cpu, "cpumask");
  }
  std::string place_of(int cpu, const std::string& name) const {
    return read_word(tree_.path(topology_of(cpu) + "/" + name));
  }
  void write(const std::string& file, const std::vector<int>& cpus) {
    tree_.write(file, host::format_cpu_list(cpus) + "\n");
  }

  void replace(const std::string& file, int cpu, const std::vector<int>& others) {
    const std::string path = std::string(kPmus) + "/" + file;
    std::vector<int> cpus = cpus_in(tree_.path(path));
    if (!has(cpus, cpu)) return;
    const std::vector<int> before = cpus;
    std::erase(cpus, cpu);
    const int heir = heir_of(cpu, cpus, others);
    if (heir < 0) {
      lost_[path] = before;
    } else {
      cpus.push_back(heir);
    }
    std::sort(cpus.begin(), cpus.end());
    write(path, cpus);
  }

  int heir_of(int cpu, const std::vector<int>& readers, const std::vector<int>& others) const {
    const std::string package = place_of(cpu, "physical_package_id");
    const auto is_of_package = [&](int other) {
      return place_of(other, "physical_package_id") == package;
    };
    const bool is_by_core = std::any_of(readers.begin(), readers.end(), is_of_package);
    for (const int other : others) {
      if (has(readers, other) || !is_of_package(other)) continue;
      if (!is_by_core || place_of(other, "core_id") == place_of(cpu, "core_id")) return other;
    }
    return -1;
  }

  test::TempTree tree_{{"proc/"}};
  std::vector<int> all_;
  std::vector<int> online_;
  std::vector<std::string> pmus_;
  std::map<std::uint32_t, std::vector<int>> cores_;
  std::map<std::string, std::vector<int>> lost_;  ///< files whose CPU has no heir
};

/// Refuses events on CPUs that are offline, and those of a core PMU on the CPUs of another one.
class HotplugKernel final : public test::ForwardingKernel {
 public:
  HotplugKernel(test::ScriptedKernel& kernel, const HotplugMachine& machine)
      : ForwardingKernel(kernel), machine_(machine) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (!machine_.is_online(request.cpu)) return Error{ENODEV, "", {}};
    const bool is_generic =
        request.event.type == PERF_TYPE_HARDWARE || request.event.type == PERF_TYPE_HW_CACHE;
    const auto type =
        is_generic ? static_cast<std::uint32_t>(request.event.config >> 32) : request.event.type;
    const auto core = machine_.cores().find(type);
    if (core != machine_.cores().end() && !has(core->second, request.cpu))
      return Error{ENOENT, "", {}};
    return ForwardingKernel::open(request);
  }

 private:
  const HotplugMachine& machine_;
};

/// The daemon on a machine.
class Daemon {
 public:
  Daemon(const HotplugMachine& machine, const std::string& config_file)
      : scripted_(machine.roots().cgroupfs),
        kernel_(scripted_, machine),
        app_(options_for(machine, config_file), kernel_) {
    scripted_.only_tried(true);
    EXPECT_THAT(app_.start(), ::testing::IsEmpty());
    scripted_.only_tried(false);
  }

  void poll() { app_.poll(); }

  /// The groups that are open, then the series without their values.
  std::set<std::string> counted() {
    std::set<std::string> all;
    for (const std::string& group : scripted_.open_groups()) all.insert(group);
    for (const std::string& line : lines_of(app_.scrape())) {
      const bool is_refusal = line.starts_with("perf_event_exporter_event_refusal_info");
      const bool is_own = line.starts_with("perf_event_exporter_") || line.starts_with("process_");
      if (line.starts_with('#') || (is_own && !is_refusal)) continue;
      all.insert(is_refusal ? line : line.substr(0, line.rfind(' ')));
    }
    return all;
  }

 private:
  static Options options_for(const HotplugMachine& machine, const std::string& config_file) {
    Options options;
    options.config_file = config_file;
    options.roots = machine.roots();
    options.listen_addresses = {"127.0.0.1:0"};
    return options;
  }

  test::ScriptedKernel scripted_;
  HotplugKernel kernel_;
  PolledApp app_;
};

std::vector<std::string> missing(const std::set<std::string>& from,
                                 const std::set<std::string>& in) {
  std::vector<std::string> names;
  std::set_difference(in.begin(), in.end(), from.begin(), from.end(), std::back_inserter(names));
  return names;
}

/// `wanted` is what `fresh` has counted, if that is known; else or if it differs, it is polled.
void expect_same_end(Daemon& returned, Daemon& fresh, std::set<std::string>& wanted,
                     const std::string& what) {
  std::set<std::string> end;
  constexpr int kMaxPolls = 8;  // a CPU may be late
  for (int poll = 0; poll < kMaxPolls && (poll == 0 || end != wanted); ++poll) {
    if (poll > 0 || wanted.empty()) {
      fresh.poll();
      fresh.poll();  // a first interval ends here
      wanted = fresh.counted();
    }
    returned.poll();
    end = returned.counted();
  }

  EXPECT_THAT(missing(end, wanted), ::testing::IsEmpty()) << what;
  EXPECT_THAT(missing(wanted, end), ::testing::IsEmpty()) << what;
}

void expect_same_end(const fs::path& sys, const fs::path& cgroup, const std::string& config) {
  const HotplugMachine whole{sys, cgroup};
  if (whole.is_single()) return;
  test::TempTree folder;
  folder.write("config.yaml",
               config.empty() ? "collection: {max_age: 1h}\ngroups:\n" + whole.groups() : config);
  Daemon of_whole{whole, folder.path("config.yaml")};
  std::set<std::string> counted_by_whole;  // the same after each CPU that is not a reader
  HotplugMachine same{sys, cgroup};
  for (const int cpu : whole.cpus_of_each_role()) {
    std::optional<HotplugMachine> with_other_readers;
    if (whole.is_reader(cpu)) with_other_readers.emplace(sys, cgroup);
    HotplugMachine& machine = with_other_readers ? *with_other_readers : same;
    machine.take_away(cpu);
    Daemon returned{machine, folder.path("config.yaml")};
    returned.poll();
    machine.bring_back(cpu);
    const std::string what = sys.string() + " without CPU " + std::to_string(cpu);
    if (with_other_readers) {
      Daemon fresh{machine, folder.path("config.yaml")};
      std::set<std::string> counted;
      expect_same_end(returned, fresh, counted, what);
    } else {
      expect_same_end(returned, of_whole, counted_by_whole, what);
    }
  }
}

TEST(HotplugMachinesTest, ACpuThatComesBackIsCountedAsAfterAStartWithIt) {
  const fs::path machines = PEX_SOURCE_DIR "/tests/unit/events/machines";
  for (const fs::directory_entry& machine : fs::directory_iterator(machines)) {
    if (!fs::exists(machine.path() / "sys")) continue;
    expect_same_end(machine.path() / "sys", machines / "cgroup", {});
  }
}

/// PMUs of CPUs 0-2, of which some have no CPU, or all CPUs, while one is offline.
TEST(HotplugMachinesTest, ACpuThatComesBackIsCountedAsAfterAStartWithItWhateverItsPmuHasWithoutIt) {
  struct Row {
    const char* pmu;
    const char* list;
    const char* cpus;
  };
  const std::vector<Row> machines[] = {
      {{"armv7_cortex_a7", "cpus", "0-1"}},
      {{"armv7_cortex_a7", "cpus", "2"}},
      {{"core", "cpus", "2"}},
      {{"cpu_core", "cpus", "0"}, {"cpu_atom", "cpus", "1"}, {"cpu_lowpower", "cpus", "2"}},
      {{"cpu_core", "cpus", "0-1"}, {"cpu_atom", "cpus", "2"}},
      {{"cpu_core", "cpus", "0-2"}, {"cpu_atom", "cpus", ""}},
      {{"imc_0", "cpumask", "0"}, {"imc_1", "cpumask", "2"}, {"dsu_0", "cpumask", "2"}},
  };
  for (const std::vector<Row>& pmus : machines) {
    test::TempTree tree{{"sys/devices/system/cpu/online", "0-2\n"},
                        {"sys/devices/system/cpu/present", "0-2\n"}};
    for (const char* cpu : {"0", "1", "2"}) {
      tree.write("sys/devices/system/cpu/cpu" + std::string(cpu) + "/topology/physical_package_id",
                 cpu);
    }
    int type = 10;
    for (const Row& pmu : pmus) {
      const std::string folder = "sys/bus/event_source/devices/" + std::string(pmu.pmu);
      tree.write(folder + "/type", std::to_string(type++) + "\n");
      tree.write(folder + "/" + pmu.list, std::string(pmu.cpus) + "\n");
    }
    SCOPED_TRACE(pmus.front().pmu + std::string(" on ") + pmus.front().cpus);
    expect_same_end(tree.path("sys"), PEX_SOURCE_DIR "/tests/unit/events/machines/cgroup", {});
  }
}

TEST(HotplugMachinesTest, ACpuThatComesBackIsCountedAsAfterAStartWithItInEachGoldenCase) {
  for (const fs::directory_entry& test :
       fs::directory_iterator(PEX_SOURCE_DIR "/tests/e2e/cases")) {
    std::ostringstream config;
    config << std::ifstream{test.path() / "config.yaml"}.rdbuf();
    expect_same_end(test.path() / "host/sys", test.path() / "host/cgroup", config.str());
  }
}

}  // namespace
}  // namespace pex::daemon
