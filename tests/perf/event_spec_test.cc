#include "perf/event_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace pex::perf {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModifiers[] = {"", ":u", ":k", ":uk"};

bool is_metric_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

TEST(ParseEventTest, KnowsEveryKnownEventByItsName) {
  for (const std::string& name : known_events()) {
    const Result<EventSpec> event = parse_event(name);

    ASSERT_TRUE(event) << name;
    EXPECT_EQ(event->name, name);
    EXPECT_FALSE(event->attributes.exclude_user) << name;
    EXPECT_FALSE(event->attributes.exclude_kernel) << name;
    EXPECT_FALSE(event->attributes.exclude_hypervisor) << name;
  }
}

TEST(ParseEventTest, KnowsItsOwnSpellingOfModifiers) {
  for (const std::string& name : known_events()) {
    for (const char* modifiers : kModifiers) {
      const Result<EventSpec> event = parse_event(name + modifiers);
      if (!event) continue;

      const Result<EventSpec> again = parse_event(event->name);

      ASSERT_TRUE(again) << event->name;
      EXPECT_EQ(event->name, name + modifiers);
      EXPECT_EQ(again->name, event->name);
      EXPECT_EQ(again->attributes, event->attributes);
    }
  }
}

TEST(ParseEventTest, GivesEveryEventAndModifierAMetricOfItsOwn) {
  std::set<std::string> metrics;
  for (const std::string& name : known_events()) {
    for (const char* modifiers : kModifiers) {
      const Result<EventSpec> event = parse_event(name + modifiers);
      if (!event) continue;

      EXPECT_TRUE(metrics.insert(event->metric).second) << event->metric << " is used twice";
      EXPECT_TRUE(std::all_of(event->metric.begin(), event->metric.end(), is_metric_character))
          << event->metric;
    }
  }
}

TEST(ParseEventTest, HelpsInOneSentence) {
  for (const std::string& name : known_events()) {
    for (const char* modifiers : kModifiers) {
      const Result<EventSpec> event = parse_event(name + modifiers);
      if (!event) continue;

      EXPECT_TRUE(event->help.ends_with('.')) << event->help;
      EXPECT_FALSE(event->help.ends_with("..")) << event->help;
      EXPECT_EQ(event->help.find_first_of("\n\\"), std::string::npos) << event->help;
    }
  }
}

TEST(ParseEventTest, ResolvesAliases) {
  struct Row {
    const char* alias;
    const char* name;
  };
  const Row rows[] = {
      {"cpu-cycles", "cycles"},
      {"branch-instructions", "branches"},
      {"idle-cycles-frontend", "stalled-cycles-frontend"},
      {"idle-cycles-backend", "stalled-cycles-backend"},
      {"faults", "page-faults"},
      {"cs", "context-switches"},
      {"migrations", "cpu-migrations"},
      {"cpu-cycles:u", "cycles:u"},
  };

  for (const Row& row : rows) {
    const Result<EventSpec> by_alias = parse_event(row.alias);
    const Result<EventSpec> by_name = parse_event(row.name);

    ASSERT_TRUE(by_alias && by_name) << row.alias;
    EXPECT_EQ(by_alias->name, row.name);
    EXPECT_EQ(by_alias->attributes, by_name->attributes);
    EXPECT_EQ(by_alias->metric, by_name->metric);
  }
}

// The numbers are written out here: they are the kernel's interface, not ours.
TEST(ParseEventTest, AsksForTheNumbersOfThePerfEventOpenManual) {
  struct Row {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
    const char* metric;
  };
  const Row rows[] = {
      {"cycles", 0, 0, "cycles"},
      {"instructions", 0, 1, "instructions"},
      {"cache-references", 0, 2, "cache_references"},
      {"cache-misses", 0, 3, "cache_misses"},
      {"branches", 0, 4, "branches"},
      {"branch-misses", 0, 5, "branch_misses"},
      {"bus-cycles", 0, 6, "bus_cycles"},
      {"stalled-cycles-frontend", 0, 7, "stalled_cycles_frontend"},
      {"stalled-cycles-backend", 0, 8, "stalled_cycles_backend"},
      {"ref-cycles", 0, 9, "ref_cycles"},
      {"cpu-clock", 1, 0, "cpu_clock"},
      {"task-clock", 1, 1, "task_clock"},
      {"page-faults", 1, 2, "page_faults"},
      {"context-switches", 1, 3, "context_switches"},
      {"cpu-migrations", 1, 4, "migrations"},
      {"minor-faults", 1, 5, "minor_faults"},
      {"major-faults", 1, 6, "major_faults"},
      {"alignment-faults", 1, 7, "alignment_faults"},
      {"emulation-faults", 1, 8, "emulation_faults"},
      {"dummy", 1, 9, "dummy"},
      {"bpf-output", 1, 10, "bpf_output"},
      {"cgroup-switches", 1, 11, "cgroup_switches"},
      {"L1-dcache-loads", 3, 0x00000, "l1_dcache_loads"},
      {"L1-dcache-load-misses", 3, 0x10000, "l1_dcache_load_misses"},
      {"L1-dcache-stores", 3, 0x00100, "l1_dcache_stores"},
      {"L1-dcache-prefetches", 3, 0x00200, "l1_dcache_prefetches"},
      {"L1-icache-load-misses", 3, 0x10001, "l1_icache_load_misses"},
      {"LLC-loads", 3, 0x00002, "llc_loads"},
      {"LLC-store-misses", 3, 0x10102, "llc_store_misses"},
      {"LLC-prefetch-misses", 3, 0x10202, "llc_prefetch_misses"},
      {"dTLB-load-misses", 3, 0x10003, "dtlb_load_misses"},
      {"dTLB-stores", 3, 0x00103, "dtlb_stores"},
      {"iTLB-loads", 3, 0x00004, "itlb_loads"},
      {"iTLB-load-misses", 3, 0x10004, "itlb_load_misses"},
      {"branch-loads", 3, 0x00005, "branch_loads"},
      {"branch-load-misses", 3, 0x10005, "branch_load_misses"},
      {"node-loads", 3, 0x00006, "node_loads"},
      {"node-store-misses", 3, 0x10106, "node_store_misses"},
  };

  for (const Row& row : rows) {
    const Result<EventSpec> event = parse_event(row.name);

    ASSERT_TRUE(event) << row.name;
    EXPECT_EQ(event->attributes.type, row.type) << row.name;
    EXPECT_EQ(event->attributes.config, row.config) << row.name;
    EXPECT_EQ(event->metric, row.metric);
  }
}

TEST(ParseEventTest, CountsClocksInNanosecondsAndNothingElse) {
  for (const std::string& name : known_events()) {
    const bool clock = name == "cpu-clock" || name == "task-clock";

    EXPECT_EQ(parse_event(name)->unit, clock ? Unit::kNanoseconds : Unit::kEvents) << name;
  }
}

TEST(ParseEventTest, KnowsNoCacheOperationThatPerfListDoesNotHave) {
  for (const char* name :
       {"L1-icache-stores", "L1-icache-store-misses", "iTLB-stores", "iTLB-prefetches",
        "iTLB-prefetch-misses", "branch-stores", "branch-prefetches", "L1-dcache-misses"}) {
    EXPECT_FALSE(parse_event(name)) << name;
  }
}

TEST(ParseEventTest, SuggestsTheNearestNameForOneThatIsNotKnown) {
  struct Row {
    const char* text;
    const char* attempted;
    const char* remedy;
  };
  const Row rows[] = {
      {"cycels", "there is no event 'cycels'", "did you mean 'cycles'?"},
      {"cycels:u", "there is no event 'cycels'", "did you mean 'cycles'?"},
      {"Cycles", "there is no event 'Cycles'", "did you mean 'cycles'?"},
      {"LLC-load-miss", "there is no event 'LLC-load-miss'", "did you mean 'LLC-load-misses'?"},
      {"cpu-cycle", "there is no event 'cpu-cycle'", "did you mean 'cpu-cycles'?"},
      {"xyzzy", "there is no event 'xyzzy'", "see 'perf_event_exporter list'"},
      {"", "there is no event ''", "see 'perf_event_exporter list'"},
      {":u", "there is no event ''", "see 'perf_event_exporter list'"},
  };

  for (const Row& row : rows) {
    const Result<EventSpec> event = parse_event(row.text);

    ASSERT_FALSE(event) << row.text;
    EXPECT_EQ(event.error().code, 0);
    EXPECT_EQ(event.error().attempted, row.attempted);
    EXPECT_EQ(event.error().remedy, row.remedy);
  }
}

TEST(ParseEventTest, ExcludesWhatTheModifierLeavesOut) {
  struct Row {
    const char* text;
    bool exclude_user;
    bool exclude_kernel;
    const char* name;
    const char* metric;
    const char* help;
  };
  const Row rows[] = {
      {"instructions:u", false, true, "instructions:u", "instructions_user",
       "Instructions retired, in user mode."},
      {"instructions:k", true, false, "instructions:k", "instructions_kernel",
       "Instructions retired, in the kernel."},
      {"instructions:uk", false, false, "instructions:uk", "instructions_user_kernel",
       "Instructions retired, without the hypervisor."},
      {"instructions:ku", false, false, "instructions:uk", "instructions_user_kernel",
       "Instructions retired, without the hypervisor."},
      {"LLC-loads:u", false, true, "LLC-loads:u", "llc_loads_user",
       "Loads of the last level cache, in user mode."},
      {"page-faults:k", true, false, "page-faults:k", "page_faults_kernel",
       "Page faults, minor and major, in the kernel."},
      {"cs:k", true, false, "context-switches:k", "context_switches_kernel",
       "Context switches, voluntary and forced, in the kernel."},
  };

  for (const Row& row : rows) {
    const Result<EventSpec> event = parse_event(row.text);

    ASSERT_TRUE(event) << row.text;
    EXPECT_EQ(event->attributes.exclude_user, row.exclude_user) << row.text;
    EXPECT_EQ(event->attributes.exclude_kernel, row.exclude_kernel) << row.text;
    EXPECT_TRUE(event->attributes.exclude_hypervisor) << row.text;
    EXPECT_EQ(event->name, row.name);
    EXPECT_EQ(event->metric, row.metric);
    EXPECT_EQ(event->help, row.help);
  }
}

TEST(ParseEventTest, RefusesModifiersThatAreNotKnown) {
  for (const char* text : {"cycles:", "cycles:x", "cycles:uu", "cycles:kk", "cycles:ukx",
                           "cycles:uku", "cycles:u:k", "cycles:U", "cycles: u"}) {
    const Result<EventSpec> event = parse_event(text);

    ASSERT_FALSE(event) << text;
    EXPECT_THAT(event.error().attempted, HasSubstr(text));
    EXPECT_EQ(event.error().remedy, "write ':u', ':k' or ':uk'");
  }
}

TEST(ParseEventTest, RefusesModifiersThatWouldNotDoWhatTheySay) {
  for (const char* text :
       {"task-clock:u", "task-clock:k", "cpu-clock:uk", "dummy:u", "bpf-output:u",
        "context-switches:u", "cpu-migrations:u", "migrations:u", "cgroup-switches:u"}) {
    const Result<EventSpec> event = parse_event(text);

    ASSERT_FALSE(event) << text;
    EXPECT_EQ(event.error().code, 0);
    EXPECT_THAT(event.error().remedy, ::testing::StartsWith("write '"));
  }
}

RC_GTEST_PROP(ParseEventTest, TakesAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string("cylesLTB-:uk")), rc::gen::arbitrary<char>()));

  const Result<EventSpec> event = parse_event(text);

  if (event) return;
  RC_ASSERT(!event.error().attempted.empty());
}

}  // namespace
}  // namespace pex::perf
