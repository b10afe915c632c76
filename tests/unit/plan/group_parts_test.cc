#include "plan/group_parts.h"

#include "support/test_headers.h"

namespace pex::plan::group_parts_test {
namespace {

/// An event with one instance for each of `pmus`; "" is one that is counted on all CPUs.
events::EventSpec event_on(const std::vector<std::string>& pmus) {
  events::EventSpec event;
  for (const std::string& pmu : pmus) event.instances.push_back({pmu, {}});
  return event;
}

/// "cpu_core: 0 2; : 1.1": the PMU of each part, and its members as event or event.instance.
std::string text_of(const std::vector<GroupPart>& parts) {
  std::string text;
  for (const GroupPart& part : parts) {
    text += (text.empty() ? "" : "; ") + part.pmu + ":";
    for (const GroupPart::Member& member : part.members) {
      text += " " + std::to_string(member.event);
      if (member.instance != 0) text += "." + std::to_string(member.instance);
    }
  }
  return text;
}

const events::EventSpec kEverywhere = event_on({""});
const events::EventSpec kCore = event_on({"cpu_core"});
const events::EventSpec kAtom = event_on({"cpu_atom"});
const events::EventSpec kMemory = event_on({"imc_0", "imc_1", "imc_2", "imc_3"});
const events::EventSpec kEnergy = event_on({"power"});

TEST(GroupPartsTest, HoldTheEventsOfOnePmuEach) {
  using Names = std::vector<std::string>;
  const Names homogeneous = {"cpu"};
  const Names hybrid = {"cpu_atom", "cpu_core"};
  struct Row {
    const char* what;
    std::vector<events::EventSpec> events;
    Names core_pmus;
    const char* parts;
  };
  const Row rows[] = {
      {"nothing", {}, hybrid, ""},
      {"one kind of cores", {kEverywhere, kEverywhere}, homogeneous, ": 0 1"},
      {"no core PMU at all", {kEverywhere}, {}, ": 0"},
      {"an event on both kinds of cores", {kCore, kAtom}, hybrid, "cpu_core: 0; cpu_atom: 1"},
      {"software in between",
       {kCore, kAtom, kEverywhere, kCore},
       hybrid,
       "cpu_core: 0 2 3; cpu_atom: 1 2"},
      {"software first", {kEverywhere, kCore, kAtom}, hybrid, "cpu_atom: 0 2; cpu_core: 0 1"},
      {"software beside one kind of cores alone", {kCore, kEverywhere}, hybrid, "cpu_core: 0; : 1"},
      {"software alone", {kEverywhere, kEverywhere}, hybrid, ": 0 1"},
      {"memory channels", {kMemory}, homogeneous, "imc_0: 0; imc_1: 0.1; imc_2: 0.2; imc_3: 0.3"},
      {"two events of memory channels",
       {event_on({"imc_0", "imc_1"}), event_on({"imc_0", "imc_1"})},
       homogeneous,
       "imc_0: 0 1; imc_1: 0.1 1.1"},
      {"an uncore PMU beside software", {kEnergy, kEverywhere}, homogeneous, "power: 0; : 1"},
      {"an uncore PMU beside both kinds of cores",
       {kCore, kAtom, kEnergy, kEverywhere},
       hybrid,
       "cpu_core: 0 3; cpu_atom: 1 3; power: 2"},
      {"one kind of cores, as the other one is left out",
       {kCore, kEverywhere},
       {"cpu_core"},
       "cpu_core: 0 1"},
      {"the name of an only core PMU", {kCore, kEverywhere}, {}, "cpu_core: 0; : 1"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(text_of(parts_by_pmu(row.events, row.core_pmus)), row.parts) << row.what;
  }
}

}  // namespace
}  // namespace pex::plan::group_parts_test
