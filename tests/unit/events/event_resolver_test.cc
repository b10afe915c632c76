#include "events/event_resolver.h"

#include <linux/hw_breakpoint.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "elf/symbol_offset.h"
#include "events/event_table.h"
#include "host/cpu_list.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::events {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Resolved = Result<std::vector<EventSpec>, Unresolved>;

constexpr const char* kMachines[] = {"intel_client", "intel_hybrid", "intel_server",
                                     "amd_zen",      "arm_neoverse", "arm_biglittle",
                                     "apple_m1",     "ibm_power10",  "ibm_z16"};
constexpr const char* kModes[] = {"", ":u", ":k", ":uk"};

/// Nothing of this machine: neither its sysfs nor the mounts it would find a tracefs in.
EventResolver resolver_below(const std::string& root) {
  return *EventResolver::create({.sysfs = root + "/sys", .procfs = root + "/proc", .cgroupfs = {}});
}

EventResolver resolver_of(const std::string& machine) {
  return resolver_below(PEX_SOURCE_DIR "/tests/unit/events/machines/" + machine);
}

/// Of one event that is spelled well.
Resolved resolve(const EventResolver& resolver, const std::string& text) {
  return resolver.resolve(parse_events(text)->events.front());
}

/// Of one that is one event there, in one instance.
EventSpec resolved_on(const std::string& machine, const std::string& text) {
  return resolve(resolver_of(machine), text)->front();
}

perf::EventAttributes attributes_of(const EventSpec& event) {
  return event.instances.front().attributes;
}

/// Why it cannot be counted there.
Unresolved refusal_of(const EventResolver& resolver, const std::string& text) {
  const Resolved event = resolve(resolver, text);
  EXPECT_FALSE(event) << text;
  return event ? Unresolved{} : event.error();
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const GenericEvent& row : generic_events()) names.emplace_back(row.name);
  for (const CacheEvent& event : cache_events()) names.push_back(event.name);
  return names;
}

bool is_metric_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The reviewed table. What it calls the parts of an event:

std::string hex(std::uint64_t number) {
  char digits[16];
  const auto [end, code] = std::to_chars(digits, digits + sizeof digits, number, 16);
  return "0x" + std::string(digits, end);
}

std::string shortest(double number) {
  char digits[32];
  const auto [end, code] = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end};
}

std::string words_of(const perf::EventAttributes& attributes) {
  std::string text = hex(attributes.config);
  if (attributes.config1 != 0) text += " config1=" + hex(attributes.config1);
  if (attributes.config2 != 0) text += " config2=" + hex(attributes.config2);
  if (attributes.config3 != 0) text += " config3=" + hex(attributes.config3);
  return text;
}

/// A file by the path that it has, as it is held open.
std::string probe_of(const perf::EventAttributes& attributes) {
  if (attributes.probe.empty()) return "";
  if (!attributes.file) return " probe=" + attributes.probe;
  return " probe=" + std::filesystem::read_symlink(attributes.probe).string();
}

std::string breakpoint_of(const perf::EventAttributes& attributes) {
  std::string letters;
  if (attributes.breakpoint & HW_BREAKPOINT_R) letters += 'r';
  if (attributes.breakpoint & HW_BREAKPOINT_W) letters += 'w';
  if (attributes.breakpoint & HW_BREAKPOINT_X) letters += 'x';
  return letters.empty() ? "" : " breakpoint=" + letters;
}

std::string flags_of(const perf::EventAttributes& attributes) {
  std::string names;
  if (attributes.exclude_user) names += ",user";
  if (attributes.exclude_kernel) names += ",kernel";
  if (attributes.exclude_hypervisor) names += ",hv";
  if (attributes.exclude_idle) names += ",idle";
  if (attributes.exclude_host) names += ",host";
  if (attributes.exclude_guest) names += ",guest";
  return names.empty() ? "" : " exclude=" + names.substr(1);
}

std::string unit_of(const EventIdentity& identity) {
  const char* const unit = identity.unit == Unit::kSeconds  ? "seconds"
                           : identity.unit == Unit::kJoules ? "joules"
                           : identity.unit == Unit::kBytes  ? "bytes"
                                                            : "events";
  return identity.scale == 1 ? unit : std::string(unit) + " x" + shortest(identity.scale);
}

std::string metric_of(const EventIdentity& identity) {
  std::string labels;
  for (const auto& [name, value] : identity.labels) labels += "," + name + "=" + value;
  return labels.empty() ? identity.metric : identity.metric + "{" + labels.substr(1) + "}";
}

std::string cpus_of(const PmuCatalogue& pmus, const std::string& pmu) {
  return pmu.empty() ? "all" : host::format_cpu_list(pmus.find(pmu)->cpus);
}

std::string lines_of(const EventResolver& resolver, const std::string& begin,
                     const Resolved& resolved) {
  if (!resolved) {
    const Unresolved& why = resolved.error();
    return begin + (why.on_every_machine ? "mistake@" : "error@") +
           std::to_string(why.at.characters) + ": " + describe(why.error) + "\n";
  }
  std::string lines;
  for (const EventSpec& spec : *resolved) {
    for (const auto& [pmu, attributes] : spec.instances) {
      lines += begin + (pmu.empty() ? "-" : pmu) + " | " + std::to_string(attributes.type) + " | " +
               words_of(attributes) + breakpoint_of(attributes) + probe_of(attributes) +
               flags_of(attributes) + " | " + unit_of(spec.identity) + " | " +
               metric_of(spec.identity) + " | " + cpus_of(resolver.pmus(), pmu) +
               (spec.identity.is_uncore ? " uncore" : "") + "\n";
    }
  }
  return lines;
}

/// Consecutive lines about one event on one machine.
struct Case {
  std::string machine;
  std::string spelling;
  std::string lines;  ///< one blank on both sides of a '|'
  std::string begin() const { return machine + " | " + spelling + " | "; }
};

std::vector<Case> read_table(const std::string& path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::string joined;
    const std::vector<std::string_view> cells = split(line, '|');
    for (const std::string_view cell : cells) {
      joined += (joined.empty() ? "" : " | ") + std::string(trim(cell));
    }
    Case next{std::string(trim(cells[0])), std::string(trim(cells.at(1))), joined + "\n"};
    if (!cases.empty() && cases.back().begin() == next.begin()) {
      cases.back().lines += next.lines;
    } else {
      cases.push_back(std::move(next));
    }
  }
  return cases;
}

TEST(EventResolverTest, ResolvesWhatTheReviewedTableHas) {
  const std::vector<Case> cases = read_table(PEX_SOURCE_DIR "/tests/unit/events/resolved.txt");

  std::set<std::string> machines;
  for (const Case& row : cases) {
    const EventResolver resolver = resolver_of(row.machine);
    const auto parsed = parse_events(row.spelling);
    ASSERT_TRUE(parsed) << row.spelling << ": " << parsed.error().what;

    EXPECT_EQ(lines_of(resolver, row.begin(), resolver.resolve(parsed->events.front())), row.lines);
    machines.insert(row.machine);
  }

  EXPECT_EQ(machines, (std::set<std::string>(std::begin(kMachines), std::end(kMachines))));
  EXPECT_GE(cases.size(), 130U);
}

// The generic tables

TEST(EventResolverTest, KnowsEveryNameOfTheTablesOnEveryMachine) {
  for (const char* machine : kMachines) {
    const EventResolver resolver = resolver_of(machine);
    for (const std::string& name : table_names()) {
      const Resolved events = resolve(resolver, name);

      ASSERT_TRUE(events) << name;
      for (const EventSpec& event : *events) {
        EXPECT_EQ(event.identity.name, name);
        EXPECT_EQ(flags_of(event.instances.front().attributes), "") << name;
      }
    }
  }
}

TEST(EventResolverTest, KnowsItsOwnSpellingOfModifiers) {
  const EventResolver resolver = resolver_of("intel_client");
  for (const std::string& name : table_names()) {
    for (const char* modes : kModes) {
      const Resolved events = resolve(resolver, name + modes);
      if (!events) continue;

      const Resolved again = resolve(resolver, events->front().identity.name);

      ASSERT_TRUE(again) << events->front().identity.name;
      EXPECT_EQ(events->front().identity.name, name + modes);
      EXPECT_EQ(again->front().identity.name, events->front().identity.name);
      EXPECT_EQ(again->front().instances.front().attributes,
                events->front().instances.front().attributes);
    }
  }
}

TEST(EventResolverTest, GivesEveryEventAndModifierAMetricOfItsOwn) {
  const EventResolver resolver = resolver_of("intel_client");
  std::set<std::string> metrics;
  for (const std::string& name : table_names()) {
    for (const char* modes : kModes) {
      const Resolved events = resolve(resolver, name + modes);
      if (!events) continue;

      const std::string& metric = events->front().identity.metric;
      EXPECT_TRUE(metrics.insert(metric).second) << metric << " is used twice";
      EXPECT_TRUE(std::all_of(metric.begin(), metric.end(), is_metric_character)) << metric;
    }
  }
}

TEST(EventResolverTest, HelpsInOneSentence) {
  for (const char* machine : kMachines) {
    const EventResolver resolver = resolver_of(machine);
    std::vector<std::string> names = table_names();
    for (const ListedEvent& listed : list_events(resolver)) names.push_back(listed.name);
    for (const std::string& name : names) {
      for (const char* modes : kModes) {
        const auto parsed = parse_events(name + modes);
        if (!parsed) continue;
        const Resolved events = resolver.resolve(parsed->events.front());
        if (!events) continue;

        const std::string& help = events->front().identity.help;
        EXPECT_THAT(help, EndsWith("."));
        EXPECT_THAT(help, Not(EndsWith("..")));
        EXPECT_EQ(help.find_first_of("\n\\"), std::string::npos) << help;
      }
    }
  }
}

TEST(EventResolverTest, ResolvesAliases) {
  for (const auto& [alias, name] : {std::pair{"cpu-cycles", "cycles"},
                                    {"branch-instructions", "branches"},
                                    {"idle-cycles-frontend", "stalled-cycles-frontend"},
                                    {"idle-cycles-backend", "stalled-cycles-backend"},
                                    {"faults", "page-faults"},
                                    {"cs", "context-switches"},
                                    {"migrations", "cpu-migrations"},
                                    {"cpu-cycles:u", "cycles:u"}}) {
    const EventSpec by_alias = resolved_on("intel_client", alias);
    const EventSpec by_name = resolved_on("intel_client", name);

    EXPECT_EQ(by_alias.identity.name, name);
    EXPECT_EQ(by_alias.identity.metric, by_name.identity.metric);
    EXPECT_EQ(attributes_of(by_alias), attributes_of(by_name));
  }
}

TEST(EventResolverTest, CountsClocksInSecondsAndNoOtherNameOfTheTables) {
  for (const std::string& name : table_names()) {
    const bool is_clock = name == "cpu-clock" || name == "task-clock";

    const EventIdentity identity = resolved_on("intel_client", name).identity;

    EXPECT_EQ(identity.unit, is_clock ? Unit::kSeconds : Unit::kEvents) << name;
    EXPECT_EQ(identity.scale, is_clock ? 1e-9 : 1) << name;
  }
}

TEST(EventResolverTest, KnowsNoCacheOperationThatPerfListDoesNotHave) {
  const EventResolver resolver = resolver_of("intel_client");
  for (const char* name :
       {"L1-icache-stores", "L1-icache-store-misses", "iTLB-stores", "iTLB-prefetches",
        "iTLB-prefetch-misses", "branch-stores", "branch-prefetches", "L1-dcache-misses"}) {
    EXPECT_FALSE(resolve(resolver, name)) << name;
  }
}

// Modifiers

TEST(EventResolverTest, ShowsInNameAndHelpWhatAModifierLeaves) {
  struct Row {
    const char* text;
    const char* name;
    const char* help;
    const char* machine = "intel_client";
  };
  const Row rows[] = {
      {"instructions", "instructions", "Instructions retired."},
      {"instructions:u", "instructions:u", "Instructions retired, in user mode."},
      {"instructions:k", "instructions:k", "Instructions retired, in the kernel."},
      {"instructions:uk", "instructions:uk", "Instructions retired, without the hypervisor."},
      {"instructions:ku", "instructions:uk", "Instructions retired, without the hypervisor."},
      {"instructions:uh", "instructions:uh", "Instructions retired, without the kernel."},
      {"instructions:kh", "instructions:kh", "Instructions retired, without user mode."},
      {"instructions:hku", "instructions", "Instructions retired."},
      {"instructions:H", "instructions:H", "Instructions retired, outside of virtual machines."},
      {"instructions:GHppDWe", "instructions", "Instructions retired."},
      {"LLC-loads:u", "LLC-loads:u", "Loads of the last level cache, in user mode."},
      {"page-faults:k", "page-faults:k", "Page faults, minor and major, in the kernel."},
      {"cs:k", "context-switches:k", "Context switches, voluntary and forced, in the kernel."},
      {"r01c2:u", "r1c2:u", "Event 0x1c2 of the core PMU, in user mode."},
      {"cpu/event=60/u", "cpu/event=0x3c/u", "Event event=0x3c of the core PMU, in user mode."},
      {"mem-loads:u", "mem-loads:u", "Event mem-loads of the core PMU, in user mode."},
      {"sched:sched_switch:k", "sched:sched_switch:k",
       "Hits of the tracepoint sched:sched_switch, in the kernel."},
      {"mem:4096:w:u", "mem:0x1000/4:w:u", "Writes to the 4 bytes at 0x1000, in user mode."},
      {"mem:4096:x", "mem:0x1000/8:x", "Executions of the instruction at 0x1000."},
      // what x86 ignores
      {"instructions:h", "instructions:h", "Instructions retired, in the hypervisor.",
       "arm_neoverse"},
      {"instructions:IGk", "instructions:kGI",
       "Instructions retired, in the kernel, inside of virtual machines, while not idle.",
       "arm_neoverse"},
  };

  for (const Row& row : rows) {
    const EventIdentity identity = resolved_on(row.machine, row.text).identity;

    EXPECT_EQ(identity.name, row.name);
    EXPECT_EQ(identity.help, row.help);
  }
}

TEST(EventResolverTest, TracepointsThatCountNanosecondsAreSeconds) {
  const EventIdentity wait = resolved_on("intel_client", "sched:sched_stat_wait").identity;

  EXPECT_EQ(wait.unit, Unit::kSeconds);
  EXPECT_EQ(wait.scale, 1e-9);
  EXPECT_EQ(wait.help, "Time that the tracepoint sched:sched_stat_wait reports.");
  EXPECT_EQ(resolved_on("intel_client", "sched:sched_switch").identity.unit, Unit::kEvents);
}

/// With capitals, as names of vendors; of letters of modifiers only.
TEST(EventResolverTest, ATracepointIsFoundByItsListedNameWhateverThatLooksLike) {
  for (const auto& [system, name] : {std::pair{"MyGroup", "open_file"},
                                     {"MyGroup", "a-b"},
                                     {"MyGroup", "hk"},
                                     {"mygroup", "keep"},
                                     {"mygroup", "hup"},
                                     {"mygroup", "u"},
                                     {"My-Group", "u"},
                                     {"mem-loads", "kk"},
                                     {"probe", "up"},
                                     {"sdt_Server", "u"}}) {
    const std::string point = std::string(system) + ":" + name;
    const test::TempTree tree{
        {"sys/bus/event_source/devices/tracepoint/type", "2\n"},
        {"sys/kernel/tracing/events/" + std::string(system) + "/" + name + "/id", "77\n"}};
    const EventResolver resolver = resolver_below(tree.root());
    ASSERT_EQ(list_events(resolver).back().name, point);
    for (const char* modifiers : {"", ":k"}) {
      const Resolved event = resolve(resolver, point + modifiers);

      ASSERT_TRUE(event) << point << modifiers;
      EXPECT_EQ(event->front().identity.name, point + modifiers);
      EXPECT_EQ(event->front().identity.metric,
                metric_word(point) + (modifiers[0] != '\0' ? "_kernel" : ""));
      EXPECT_EQ(event->front().instances.front().attributes.config, 77U);
    }
    EXPECT_FALSE(resolve(resolver, std::string(system) + ":other"));
    EXPECT_FALSE(resolve(resolver, std::string(system) + "2:" + name));
  }
}

// Nothing is counted there, so nothing is wrong about it.
TEST(EventResolverTest, LetsPassWhatX86IgnoresWhereNothingCounts) {
  const test::TempTree tree{{"sys/bus/event_source/devices/software/type", "1\n"}};

  for (const char* text : {"cycles:I", "cycles:h", "LLC-loads:hI", "r1c2:I"}) {
    EXPECT_TRUE(resolve(resolver_below(tree.root()), text)) << text;
  }
}

TEST(EventResolverTest, RefusesModifiersThatWouldNotDoWhatTheySay) {
  const auto expect_refused = [](const char* text, bool on_every_machine) {
    const Unresolved why = refusal_of(resolver_of("intel_client"), text);
    EXPECT_EQ(why.on_every_machine, on_every_machine) << text;
    EXPECT_THAT(why.error.remedy.text(), ::testing::StartsWith("write '")) << text;
  };

  for (const char* text : {"task-clock:u", "task-clock:k", "cpu-clock:uk", "dummy:u",
                           "bpf-output:u", "context-switches:u", "cpu-migrations:u", "migrations:u",
                           "cgroup-switches:u", "context-switches:uh", "page-faults:H",
                           "minor-faults:I", "major-faults:h", "mem:0x1000:w:h"}) {
    expect_refused(text, true);
  }
  for (const char* text :
       {"sched:sched_switch:G", "msr/tsc/u", "power/energy-pkg/h", "uncore_cbox_0/clockticks/I",
        "i915/rc6-residency/G", "cycles:I", "cycles:h", "LLC-loads:uI", "r1c2:h",
        "cpu/event=0x3c/I", "mem-loads:h"}) {
    expect_refused(text, false);
  }
}

TEST(EventResolverTest, LetsPassModifiersThatAreAboutSamplesOrTheGroup) {
  for (const char* text : {"task-clock:D", "dummy:W", "cs:e", "msr/tsc/D", "power/energy-pkg/We",
                           "task-clock:p", "cs:ukh", "page-faults:HG"}) {
    EXPECT_TRUE(resolve(resolver_of("intel_client"), text)) << text;
  }
}

// Names for what has none in a table

TEST(EventResolverTest, PointsAtTheEventAmongOthers) {
  const auto parsed = parse_events("cycles, cpu/event=0x3c,umsk=1/, cycels");
  const EventResolver resolver = resolver_of("intel_client");

  const Resolved term = resolver.resolve(parsed->events[1]);
  const Resolved name = resolver.resolve(parsed->events[2]);

  EXPECT_EQ(term.error().at.characters, 23U);
  EXPECT_EQ(name.error().at.characters, 32U);
}

TEST(EventResolverTest, TakesANameInCapitalsForAnEventOfTheCorePmuIfThatHasIt) {
  const test::TempTree tree{
      {"sys/bus/event_source/devices/arc_pct/type", "4\n"},
      {"sys/bus/event_source/devices/arc_pct/format/event", "config:0-63\n"},
      {"sys/bus/event_source/devices/arc_pct/events/L1D_PENALTY_CYCLES", "event=0x5\n"}};

  const EventSpec event = resolve(resolver_below(tree.root()), "L1D_PENALTY_CYCLES:u")->front();

  EXPECT_EQ(event.identity.metric, "l1d_penalty_cycles_user");
  EXPECT_EQ(attributes_of(event).type, 4U);
  EXPECT_EQ(attributes_of(event).config, 5U);
}

TEST(EventResolverTest, OneCorePmuThatIsNotOnAllCpusIsCountedOnItsOwn) {
  const std::string a7 = "sys/bus/event_source/devices/armv7_cortex_a7";
  struct Row {
    const char* present;
    const char* cpus;
    const char* pmu;
  };
  const Row rows[] = {{"0-3", "0-1", "armv7_cortex_a7"},
                      {"0-1", "0-1", ""},
                      {"0-1", "0-3", ""},
                      {"", "0-1", "armv7_cortex_a7"},
                      {"0-1", "", "armv7_cortex_a7"}};
  for (const auto& [present, cpus, pmu] : rows) {
    const test::TempTree tree{{"sys/devices/system/cpu/online", "0-1\n"},
                              {"sys/devices/system/cpu/present", present},
                              {a7 + "/type", "8\n"},
                              {a7 + "/cpus", cpus},
                              {a7 + "/format/event", "config:0-7\n"},
                              {a7 + "/events/cpu_cycles", "event=0x11\n"}};
    for (const char* text :
         {"cycles", "LLC-loads", "r1", "cpu_cycles", "armv7_cortex_a7/event=8/"}) {
      const Resolved event = resolve(resolver_below(tree.root()), text);

      ASSERT_TRUE(event) << text;
      EXPECT_EQ(event->front().instances.front().pmu, pmu) << text;
      EXPECT_TRUE(event->front().identity.labels.empty()) << text;
    }
  }
}

TEST(EventResolverTest, EnergyOfACoreIsADomainOfEnergy) {
  const test::TempTree tree{
      {"sys/bus/event_source/devices/power_core/type", "20\n"},
      {"sys/bus/event_source/devices/power_core/cpumask", "0\n"},
      {"sys/bus/event_source/devices/power_core/format/event", "config:0-7\n"},
      {"sys/bus/event_source/devices/power_core/events/energy-core", "event=0x1\n"},
      {"sys/bus/event_source/devices/power_core/events/energy-core.unit", "Joules\n"},
      {"sys/bus/event_source/devices/power_core/events/energy-core.scale", "2.3e-10\n"}};
  const Resolved event = resolve(resolver_below(tree.root()), "power_core/energy-core/");

  ASSERT_TRUE(event);
  EXPECT_EQ(event->front().identity.metric, "energy");
  EXPECT_EQ(event->front().identity.labels.front().second, "core");
}

/// A machine with the event 'meter/draw/'.
test::TempTree meter(const std::string& unit, const std::string& scale) {
  const std::string folder = "sys/bus/event_source/devices/meter";
  return {{folder + "/type", "20\n"},
          {folder + "/cpumask", "0\n"},
          {folder + "/format/event", "config:0-7\n"},
          {folder + "/events/draw", "event=0x1\n"},
          {folder + "/events/draw.unit", unit + "\n"},
          {folder + "/events/draw.scale", scale + "\n"}};
}

TEST(EventResolverTest, UnitsOfSysfsBecomeBaseUnits) {
  struct Row {
    const char* unit;
    const char* scale;
    const char* metric;
    const char* worth;  ///< of a count
  };
  const Row rows[] = {
      {"Joules", "2.3283064365386962890625e-10", "meter_draw", "joules x2.3283064365386963e-10"},
      {"2^-32 Joules", "1", "meter_draw", "joules x2.3283064365386963e-10"},
      {"mJ", "1", "meter_draw", "joules x0.001"},
      {"Bytes", "64", "meter_draw", "bytes x64"},
      {"64Bytes", "1", "meter_draw", "bytes x64"},
      {"KiB", "1", "meter_draw", "bytes x1024"},
      {"MiB", "6.103515625e-5", "meter_draw", "bytes x64"},
      {"MB", "1.52587890625e-05", "meter_draw", "bytes x16"},
      {"MB", "1e-6", "meter_draw", "bytes"},
      {"MB", "1", "meter_draw", "bytes x1e+06"},
      {"ns", "1", "meter_draw", "seconds x1e-09"},
      {"ms", "1", "meter_draw", "seconds x0.001"},
      {"M", "1", "meter_draw", "events x1e+06"},
      {"MHz", "1", "meter_draw_hertz", "events x1e+06"},
      {"mWatts", "1.0e-3", "meter_draw_watts", "events x1e-06"},
      {"C", "1", "meter_draw_celsius", "events"},
      {"%", "1", "meter_draw_ratio", "events x0.01"},
      {"clks", "1", "meter_draw_cycles", "events"},
      {"cycles", "1", "meter_draw_cycles", "events"},
      {"nanofurlongs", "0.5", "meter_draw_nanofurlongs", "events x0.5"},
  };

  for (const Row& row : rows) {
    const test::TempTree tree = meter(row.unit, row.scale);

    const Resolved event = resolve(resolver_below(tree.root()), "meter/draw/");

    ASSERT_TRUE(event) << row.unit;
    EXPECT_EQ(event->front().identity.metric, row.metric) << row.unit;
    EXPECT_EQ(unit_of(event->front().identity), row.worth) << row.unit;
  }
}

/// Memory channels 0 and 1, of which 0 has an event, and another PMU that has none.
class ChannelsTest : public ::testing::Test {
 protected:
  void SetUp() override { write_event("0", "reads", "event=0x1", "64", "Bytes"); }

  void write_event(const std::string& channel, const std::string& name, const char* terms,
                   const char* scale, const char* unit) {
    const std::string event =
        "sys/bus/event_source/devices/uncore_imc_" + channel + "/events/" + name;
    tree_.write(event, terms);
    tree_.write(event + ".scale", scale);
    tree_.write(event + ".unit", unit);
  }
  Resolved resolved(const std::string& text) const {
    return resolve(resolver_below(tree_.root()), text);
  }
  Unresolved refusal(const std::string& text) const {
    return refusal_of(resolver_below(tree_.root()), text);
  }

  test::TempTree tree_{
      {"sys/bus/event_source/devices/uncore_imc_0/type", "20\n"},
      {"sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n"},
      {"sys/bus/event_source/devices/uncore_imc_0/format/event", "config:0-7\n"},
      {"sys/bus/event_source/devices/uncore_imc_1/type", "21\n"},
      {"sys/bus/event_source/devices/uncore_imc_1/cpumask", "0\n"},
      {"sys/bus/event_source/devices/uncore_imc_1/format/event", "config:0-3\n"},
      {"sys/bus/event_source/devices/uncore_ha_0/type", "22\n"},
      {"sys/bus/event_source/devices/uncore_ha_0/cpumask", "0\n"},
  };
};

TEST_F(ChannelsTest, AreAnEventTogetherWhenAllOfThemHaveIt) {
  write_event("1", "reads", "event=0x2", "64", "Bytes");

  const Resolved event = resolved("uncore_imc/reads/");

  ASSERT_TRUE(event);
  EXPECT_EQ(event->front().instances.size(), 2U);
}

TEST_F(ChannelsTest, AreNoSumWithoutOneOfThem) {
  for (const char* text : {"uncore_imc/reads/", "uncore_*/reads/"}) {
    const Unresolved why = refusal(text);

    EXPECT_FALSE(why.on_every_machine);
    EXPECT_EQ(why.error, (Error{ENOENT,
                                "PMU 'uncore_imc_1' has no event 'reads', and the sum over "
                                "uncore_imc would lack it",
                                "name the PMUs that have it, as in 'uncore_imc_0/reads/'"}));
  }
}

TEST_F(ChannelsTest, AreNoSumWhenOneCannotEncodeTheTerms) {
  const Unresolved why = refusal("uncore_imc/event=0x1f/");

  EXPECT_EQ(why.at.characters, 11U);
  EXPECT_EQ(why.error.attempted,
            "0x1f is too large for 'event' of PMU 'uncore_imc_1', and the sum over uncore_imc "
            "would lack it");
}

TEST_F(ChannelsTest, AreNoSumOfDifferentUnitsOrScales) {
  for (const auto& [scale, unit] : {std::pair{"32", "Bytes"}, {"64", "MiB"}}) {
    write_event("1", "reads", "event=0x1", scale, unit);

    const Error error = refusal("uncore_imc/reads/").error;

    EXPECT_EQ(error.code, EINVAL) << scale << unit;
    EXPECT_THAT(error.attempted, HasSubstr("PMU 'uncore_imc_1' counts 'reads' in"));
  }
}

TEST_F(ChannelsTest, AreOneEachWhenTheyAreAskedOneByOne) {
  EXPECT_TRUE(resolved("uncore_imc_0/reads/"));
  EXPECT_TRUE(resolved("uncore_imc_[0]/reads/"));
}

TEST_F(ChannelsTest, KeepTheirOwnErrorWhenNoneHasTheEvent) {
  EXPECT_EQ(refusal("uncore_imc/xyzzy/").error.attempted, "PMU 'uncore_imc_0' has no term 'xyzzy'");
}

TEST(EventResolverTest, ReportsWhatItDoesNotUnderstandInAnEventOfSysfs) {
  const test::TempTree tree{
      {"sys/bus/event_source/devices/odd/type", "20\n"},
      {"sys/bus/event_source/devices/odd/format/event", "config:0-7\n"},
      {"sys/bus/event_source/devices/odd/events/word", "event=many\n"},
      {"sys/bus/event_source/devices/odd/events/term", "level=1\n"},
      {"sys/bus/event_source/devices/odd/events/wide", "event=0x100\n"},
  };

  for (const char* text : {"odd/word/", "odd/term/", "odd/wide/"}) {
    const Unresolved why = refusal_of(resolver_below(tree.root()), text);

    EXPECT_FALSE(why.on_every_machine) << text;
    EXPECT_EQ(why.at.characters, 4U) << text;
  }
}

TEST(EventResolverTest, ProbesAFunctionAtItsPlaceInTheFile) {
  const test::TempTree tree;
  const std::string file = tree.path("exe");
  std::filesystem::copy_file("/proc/self/exe", file);

  const EventSpec event = resolved_on("intel_client", "uprobe:" + file + ":main+0x4");
  const perf::EventAttributes& attributes = event.instances.front().attributes;

  EXPECT_TRUE(std::filesystem::equivalent(attributes.probe, file));
  EXPECT_EQ(attributes.config2, *elf::symbol_offset(file, "main") + 4);
  EXPECT_EQ(event.identity.metric, "uprobe_exe_main_0x4");
  EXPECT_EQ(event.identity.help, "Hits of main+0x4 in " + file + ".");
}

TEST(EventResolverTest, ProbesTheFileThatThePathNamedWhateverIsPutInItsPlace) {
  const test::TempTree tree{{"other", "an other file"}};
  std::filesystem::copy_file("/proc/self/exe", tree.path("program"));
  const std::string place = tree.path("program") + ":main";
  std::filesystem::create_hard_link(tree.path("program"), tree.path("kept"));

  const EventSpec event = resolved_on("intel_client", "uprobe:" + place);
  std::filesystem::rename(tree.path("other"), tree.path("program"));

  EXPECT_TRUE(
      std::filesystem::equivalent(event.instances.front().attributes.probe, tree.path("kept")));
}

TEST(EventResolverTest, ProbesOnlyWhereAFunctionBeginsInAFileThatOthersCanReplace) {
  const test::TempTree tree{{"open/"}};
  const std::string file = tree.path("open/program");
  std::filesystem::copy_file("/proc/self/exe", file);
  const std::string begin = std::to_string(*elf::symbol_offset(file, "main"));
  const std::string behind = std::to_string(*elf::symbol_offset(file, "main") + 4);
  const EventResolver resolver = resolver_of("intel_client");
  const std::string probe = "uprobe:" + file + ":";
  EXPECT_TRUE(resolve(resolver, probe + "main+0x4"));
  std::filesystem::permissions(tree.path("open"), std::filesystem::perms::all);

  EXPECT_TRUE(resolve(resolver, probe + "main"));
  EXPECT_TRUE(resolve(resolver, probe + begin));
  for (const std::string& place : {std::string("main+0x4"), behind}) {
    const Error error = refusal_of(resolver, probe + place).error;
    EXPECT_EQ(error.code, EACCES);
    EXPECT_THAT(error.attempted, HasSubstr("no function begins there"));
  }
}

TEST(EventResolverTest, RefusesAProbeByTheWordsOfItsPmu) {
  for (const char* text : {"uprobe/config1=0x7f0000001000,config2=0x10/", "uprobe/retprobe/",
                           "kprobe/config1=0x7f0000001000/", "?probe/r1/"}) {
    const Error error = refusal_of(resolver_of("intel_client"), text).error;

    EXPECT_THAT(error.attempted, HasSubstr("cannot be given")) << text;
    EXPECT_THAT(describe(error), HasSubstr("probe:")) << text;
  }
}

TEST(EventResolverTest, NamesTheConfiguredFileOfAProbeThatItCannotFind) {
  const test::TempTree tree{{"program", "no program"}, {"folder/"}};

  for (const char* place : {"none:main", "none:0x10", "program:main", "folder:0x10"}) {
    const Unresolved why = refusal_of(resolver_of("intel_client"), "uprobe:" + tree.path(place));

    EXPECT_THAT(why.error.attempted,
                AllOf(HasSubstr(tree.path("")), Not(HasSubstr("/proc/self/fd"))));
  }
}

TEST(EventResolverTest, NeedsNoHardwareCounters) {
  const test::TempTree tree{{"sys/bus/event_source/devices/software/type", "1\n"}};

  const Resolved event = resolve(resolver_below(tree.root()), "cycles");

  ASSERT_TRUE(event);
  EXPECT_EQ(event->front().instances.front().pmu, "");
}

TEST(EventResolverTest, ReportsWhatAKernelWithoutPerfEventsLacks) {
  const test::TempTree tree{{"sys/"}};

  EXPECT_THAT(refusal_of(resolver_below(tree.root()), "msr/tsc/").error.remedy.text(),
              HasSubstr("CONFIG_PERF_EVENTS"));
}

TEST(EventResolverTest, FailsWhereThePmusCannotBeRead) {
  const test::TempTree tree{{"sys/bus/event_source", "a file in place of a folder\n"}};

  const Result<EventResolver> resolver =
      EventResolver::create({.sysfs = tree.path("sys"), .procfs = "", .cgroupfs = {}});

  EXPECT_FALSE(resolver);
}

TEST(MetricWordTest, IsLowerCaseWithSingleUnderscores) {
  struct Row {
    const char* text;
    const char* word;
  };
  const Row rows[] = {
      {"cycles", "cycles"},
      {"L1-dcache-loads", "l1_dcache_loads"},
      {"INST_RETIRED:ANY_P", "inst_retired_any_p"},
      {"event=0x3c,umask=0x1", "event_0x3c_umask_0x1"},
      {"a__b--c", "a_b_c"},
      {"_a_", "a"},
      {"--", ""},
      {"", ""},
      {"caf\xc3\xa9", "caf"},
      {"2", "2"},
  };

  for (const Row& row : rows) EXPECT_EQ(metric_word(row.text), row.word);
}

RC_GTEST_PROP(MetricWordTest, LeavesAWordAsItIs, (const std::string& text)) {
  const std::string word = metric_word(text);

  RC_ASSERT(metric_word(word) == word);
  RC_ASSERT(std::all_of(word.begin(), word.end(), is_metric_character));
  RC_ASSERT(word.find("__") == std::string::npos);
}

// Terms against the kernel's rule, bit by bit

/// The bits of `value` in the places of the field, found one at a time.
std::uint64_t placed(const FormatField& field, std::uint64_t value) {
  std::uint64_t bits = 0;
  unsigned next = 0;
  for (const FormatField::BitRange& range : field.ranges) {
    for (unsigned bit = range.first; bit <= range.last; ++bit) {
      if ((value >> next++) & 1) bits |= std::uint64_t{1} << bit;
    }
  }
  return bits;
}

RC_GTEST_PROP(EventResolverTest, FillsTheBitsOfAFieldAndNoOthers, ()) {
  static const EventResolver resolver = resolver_of("amd_zen");
  const std::string pmu = *rc::gen::element<std::string>("cpu", "amd_l3", "amd_df");
  const auto& formats = resolver.pmus().find(pmu)->formats;
  std::vector<std::string> names;
  for (const auto& [name, field] : formats) names.push_back(name);
  const std::string name = *rc::gen::elementOf(names);
  const FormatField& field = formats.at(name);
  const auto value = *rc::gen::arbitrary<std::uint64_t>();
  const auto before = *rc::gen::arbitrary<std::uint64_t>();

  const Resolved event =
      resolve(resolver, pmu + "/config=" + hex(before) + "," + name + "=" + hex(value) + "/");

  const bool fits = field.width() == 64 || value >> field.width() == 0;
  RC_ASSERT(event.has_value() == fits);
  if (!fits) return;
  RC_ASSERT(event->front().instances.front().attributes.config == (before | placed(field, value)));
}

// Anything that can be spelled

RC_GTEST_PROP(EventResolverTest, AnswersToAnyText, ()) {
  static const std::vector<EventResolver> resolvers = [] {
    std::vector<EventResolver> all;
    for (const char* machine : kMachines) all.push_back(resolver_of(machine));
    return all;
  }();
  const std::vector<std::string> pieces = {"cycles", "cpu",    "/",       "uncore_imc", "msr",
                                           "tsc",    "event=", "umask=",  "0x3c",       "1",
                                           ",",      ":",      "u",       "kH",         "sched",
                                           "r1c2",   "mem:",   "kprobe:", "cpu_*",      "power",
                                           "name",   "=",      "config1", "L1-dcache",  "INST",
                                           "::",     "-"};
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces));
  std::string text;
  for (const std::string& piece : chosen) text += piece;

  const auto parsed = parse_events(text);
  if (!parsed) return;
  for (const EventResolver& resolver : resolvers) {
    for (const ParsedEvent& event : parsed->events) {
      const Resolved resolved = resolver.resolve(event);
      if (!resolved) {
        RC_ASSERT(!resolved.error().error.attempted.empty());
        RC_ASSERT(resolved.error().at.characters < text.size());
        continue;
      }
      RC_ASSERT(!resolved->empty());
      for (const EventSpec& spec : *resolved) {
        RC_ASSERT(!spec.instances.empty());
        RC_ASSERT(!spec.identity.metric.empty());
      }
    }
  }
}

// list

TEST(EventResolverTest, AnEventWhoseScaleIsNoNumberIsToldWithThatReasonAndNotListed) {
  const test::TempTree tree = meter({}, "one");
  const EventResolver resolver = resolver_below(tree.root());

  const Error error = refusal_of(resolver, "meter/draw/").error;

  EXPECT_EQ(error.attempted, "event 'draw' of PMU 'meter' has no number in its file .scale");
  EXPECT_EQ(error.remedy.text(), "write 'meter/event=0x1/' with a name, 'unit' and 'scale'");
  EXPECT_NE(list_events(resolver).back().pmu, "meter");
}

TEST(ListEventsTest, ListsOnlyWhatCanBePasted) {
  for (const char* machine : kMachines) {
    const EventResolver resolver = resolver_of(machine);
    for (const ListedEvent& listed : list_events(resolver)) {
      const auto parsed = parse_events(listed.name);
      ASSERT_TRUE(parsed) << listed.name;

      EXPECT_TRUE(resolver.resolve(parsed->events.front())) << machine << ": " << listed.name;
      EXPECT_THAT(listed.help, EndsWith("."));
    }
  }
}

TEST(ListEventsTest, ListsEachNameOnceByKindAndNoLevels) {
  const EventResolver resolver = resolver_of("intel_client");

  std::vector<std::string> names;
  std::vector<std::string> kinds;
  for (const ListedEvent& event : list_events(resolver)) {
    names.push_back(event.name);
    const std::string kind(event.kind);
    if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
  }

  EXPECT_EQ(names.size(), std::set(names.begin(), names.end()).size());
  kinds.resize(5);  // then those of a vendor
  EXPECT_THAT(kinds, ElementsAre("hardware", "software", "cache", "pmu", "tracepoint"));
  EXPECT_THAT(names, IsSupersetOf({"cycles", "task-clock", "LLC-loads", "cpu/mem-loads/",
                                   "power/energy-pkg/", "uncore_cbox_0/clockticks/",
                                   "sched:sched_switch"}));
  EXPECT_THAT(names, Not(Contains(HasSubstr("cpu_thermal_margin"))));
}

TEST(ListEventsTest, ListsEventsOfBothCorePmusOfAHybridMachine) {
  EXPECT_THAT(list_events(resolver_of("intel_hybrid")),
              AllOf(Contains(Field(&ListedEvent::name, "cpu_core/mem-loads/")),
                    Contains(Field(&ListedEvent::name, "cpu_atom/mem-loads/"))));
}

}  // namespace
}  // namespace pex::events
