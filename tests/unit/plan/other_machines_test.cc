
#include <cstddef>
#include <iterator>

#include "events/event_resolver.h"
#include "events/event_table.h"
#include "support/planning.h"
#include "support/test_headers.h"

// One file for machines of several kinds: the machine never decides what is a mistake in it.

namespace pex::plan {
namespace {

namespace fs = std::filesystem;

using ::testing::IsEmpty;
using ::testing::Not;

/// Those of tests/unit/events/machines, and one without any PMU.
std::vector<std::string> machines() {
  std::vector<std::string> names{""};
  for (const auto& folder : fs::directory_iterator(PEX_SOURCE_DIR "/tests/unit/events/machines")) {
    if (fs::exists(folder.path() / "sys")) names.push_back(folder.path().filename());
  }
  return names;
}

/// Of each machine, read once.
const events::EventResolver& resolver_of(const std::string& machine) {
  static std::map<std::string, events::EventResolver> resolvers;
  const auto known = resolvers.find(machine);
  if (known != resolvers.end()) return known->second;
  return resolvers.emplace(machine, *events::EventResolver::create(test::machine(machine)))
      .first->second;
}

/// libpfm4's names are those of the CPU that runs the test.
const std::set<std::string> kOfVendors = {"INST_RETIRED:ANY_P", "arm_n1::L1D_CACHE_REFILL"};

/// Of core PMUs that no machine here has: AMD Zen 3, Arm with trace units, and what may come.
const std::set<std::string> kOfOtherCores = {"branch-brs", "trcextout0", "trcextout3",
                                             "tma-slots",  "op_uops",    "fused-uops"};

/// What any of the machines has, as `list` prints it and as a core PMU's own name.
std::set<std::string> events_of_all() {
  std::set<std::string> all = kOfVendors;
  all.insert(kOfOtherCores.begin(), kOfOtherCores.end());
  for (const std::string& machine : machines()) {
    for (const events::ListedEvent& event : events::list_events(resolver_of(machine))) {
      if (event.kind != "vendor") all.insert(event.name);
    }
    for (const events::Pmu* pmu : resolver_of(machine).pmus().core_pmus()) {
      for (const auto& [name, event] : pmu->events) {
        if (!events::is_table_name(name)) all.insert(name);
      }
    }
  }
  return all;
}

/// A few events of each kind and PMU.
std::set<std::string> events_of_each_kind() {
  std::set<std::string> some = kOfVendors;
  some.insert({"r1c2", "mem:0x1000:w", "cycles", "branches", "LLC-loads", "task-clock", "dummy",
               "context-switches", "mem-loads", "L1D_PENALTY_CYCLES", "kprobe:do_exit",
               "branch-brs", "MyGroup:open", "mygroup:up"});
  for (const std::string& machine : machines()) {
    std::set<std::string> pmus;
    for (const events::ListedEvent& event : events::list_events(resolver_of(machine))) {
      if (event.kind != "pmu" && event.kind != "tracepoint") continue;
      if (pmus.insert(event.pmu).second) some.insert(event.name);
    }
  }
  return some;
}

/// In groups of 60, one event a line.
config::Config config_of(const std::vector<std::string>& entries, const std::string& keys) {
  std::string text = "groups:\n";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i % 60 == 0) {
      text += "  - name: g" + std::to_string(i / 60) + "\n    " + keys + "\n    events:\n";
    }
    text += "      - " + entries[i] + "\n";
  }
  const config::Loaded loaded = config::load_text(text, "c.yaml");
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors())
    ADD_FAILURE() << describe(error);
  return loaded.config;
}

/// The lines with errors, each with the first one.
std::map<std::size_t, std::string> mistakes(const std::string& machine,
                                            const config::Config& config) {
  test::ScriptedKernel kernel;
  std::map<std::size_t, std::string> lines;
  for (const yaml::Diagnostic& error : check_events(config, {resolver_of(machine), kernel, {0}})) {
    lines.emplace(error.position.line, error.message);
  }
  return lines;
}

/// With modifiers, names and units that are right for some and wrong for others, and twice.
std::vector<std::string> variations() {
  std::vector<std::string> entries;
  for (const std::string& event : events_of_each_kind()) {
    const bool has_modifiers = !event.starts_with("kprobe");
    const std::string colon = event.ends_with('/') ? "" : ":";
    entries.push_back("'" + event + "'");
    for (const char* letters : {"u", "h", "kI", "G"}) {
      if (has_modifiers) entries.push_back("'" + event + colon + letters + "'");
    }
    for (const char* keys :
         {"name: one", "unit: bytes, name: in_bytes", "name: group_enabled, unit: seconds",
          "filter: 'a == 1', name: filtered"}) {
      entries.push_back("{event: '" + event + "', " + keys + "}");
    }
  }
  return entries;
}

TEST(OtherMachinesTest, WhatOneListsIsNoErrorOnAnother) {
  std::vector<std::string> entries;
  for (const std::string& event : events_of_all()) entries.push_back("'" + event + "'");
  const config::Config config = config_of(entries, "scope: [cpu, cgroup]");
  for (const std::string& machine : machines()) {
    EXPECT_THAT(mistakes(machine, config), IsEmpty()) << machine;
  }
}

TEST(OtherMachinesTest, AllFindTheSameMistakes) {
  const config::Config config = config_of(variations(), "scope: [cpu, cgroup]");
  const std::map<std::size_t, std::string> of_none = mistakes("", config);
  EXPECT_THAT(of_none, Not(IsEmpty()));

  for (const std::string& machine : machines()) {
    const std::map<std::size_t, std::string> found = mistakes(machine, config);
    std::map<std::size_t, std::string> differ;
    std::set_symmetric_difference(found.begin(), found.end(), of_none.begin(), of_none.end(),
                                  std::inserter(differ, differ.end()),
                                  [](const auto& a, const auto& b) { return a.first < b.first; });
    EXPECT_THAT(differ, IsEmpty()) << machine;
  }
}

TEST(OtherMachinesTest, NothingIsAnErrorInAnOptionalGroup) {
  std::vector<std::string> entries = variations();
  for (const char* entry : {"cycels", "'cycles:uu'", "'cpu/x=/'", "'{cycles,branches}'",
                            "{event: 'cycles,branches', name: two}"}) {
    entries.emplace_back(entry);
  }
  const config::Config config =
      config_of(entries, "scope: [cpu, cgroup]\n    optional: true\n    exclude_user: true");
  for (const std::string& machine : machines()) {
    EXPECT_THAT(mistakes(machine, config), IsEmpty()) << machine;
  }
}

}  // namespace
}  // namespace pex::plan
