#include "config/load.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "support/test_headers.h"
#include "yaml/diagnostic.h"
#include "yaml/file.h"

namespace pex::config::load_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kOneGroup = "groups: [{name: core, events: [cycles], scope: cpu}]\n";

std::vector<std::string> messages(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) all.push_back(describe(error));
  return all;
}

std::vector<std::string> spellings(const Group& group) {
  std::vector<std::string> all;
  for (const EventEntry& event : group.events) all.push_back(event.spelling);
  return all;
}

std::vector<std::string> texts(const std::vector<PatternEntry>& patterns) {
  std::vector<std::string> all;
  for (const PatternEntry& pattern : patterns) all.push_back(pattern.text);
  return all;
}

/// A configuration with one group, which has these events and nothing that is not needed.
Loaded load_events(const std::string& events) {
  return load_text("groups: [{name: a, scope: cpu, events: " + events + "}]\n", "c.yaml");
}

/// The one group of a configuration, with these keys besides those that are needed.
Group load_group(const std::string& keys) {
  const Loaded loaded =
      load_text("groups: [{name: a, events: [x], scope: cpu, " + keys + "}]\n", "c.yaml");
  EXPECT_THAT(messages(loaded), IsEmpty()) << keys;
  return loaded.config.groups.at(0);
}

TEST(LoadTest, ReadsATextHoweverAProgramHasFoldedIt) {
  const std::string help =
      "Context switches of this CPU since the start of the exporter, counted by "
      "the kernel itself.";
  const std::string before = "groups:\n- events:\n  - event: context-switches\n    help: ";
  const std::string after = "\n  name: sw\n  scope: cpu\n";
  for (const char* folded :
       {"Context switches of this CPU since the start of the exporter, counted by\n"
        "      the kernel itself.",
        "\"Context switches of this CPU since the start of the exporter, counted\\\n"
        "      \\ by the kernel itself.\"",
        ">-\n      Context switches of this CPU since the start of the exporter,\n"
        "      counted by the kernel itself.",
        "|\n      Context switches of this CPU since the start of the exporter, counted by the "
        "kernel itself."}) {
    const Loaded loaded = load_text(before + folded + after, "c.yaml");
    ASSERT_THAT(messages(loaded), IsEmpty());
    EXPECT_EQ(loaded.config.groups[0].events[0].help, help) << folded;
  }
}

TEST(LoadTest, ReadsTheTagsOfCanonicalYaml) {
  const Loaded loaded = load_text(
      "--- !!map {? !!str \"groups\" : !!seq [!!map {? !!str \"name\" : !!str \"a\",\n"
      "  ? !!str \"events\" : !!seq [!!str \"cycles\"], ? !!str \"scope\" : !!str \"cpu\"}]}\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.groups[0].name, "a");
}

TEST(LoadTest, ReadsWhatEncodersOfJsonWrite) {
  const Loaded loaded = load_text(
      R"({"groups":[{"name":"sw","scope":"cpu","pinned":false,"events":[)"
      "\n\t"
      R"({"event":"x","help":"a\/b \ud83d\ude80 c"}]}],"limits":{"max_series":1e+06},"x":1})",
      "c.yaml");

  EXPECT_EQ(loaded.config.groups[0].events[0].help, "a/b \xf0\x9f\x9a\x80 c.");
  EXPECT_EQ(loaded.config.limits.max_series, 1'000'000U);
  EXPECT_THAT(messages(loaded), ElementsAre(::testing::StartsWith("c.yaml:2:78: x: unknown key")));
}

TEST(LoadTest, ReadsBooleansWithCapitals) {
  for (const std::string word : {"true", "True", "TRUE"}) {
    EXPECT_TRUE(load_group("pinned: " + word).pinned) << word;
  }
}

TEST(LoadTest, TakesTheDefaultOfEveryKeyThatIsLeftOut) {
  const Loaded loaded = load_text(kOneGroup, "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const Config defaults;
  EXPECT_EQ(loaded.config.collection, defaults.collection);
  EXPECT_EQ(loaded.config.cgroups, defaults.cgroups);
  EXPECT_EQ(loaded.config.kubernetes, defaults.kubernetes);
  EXPECT_EQ(loaded.config.evidence, defaults.evidence);
  EXPECT_EQ(loaded.config.truth_check, defaults.truth_check);
  EXPECT_EQ(loaded.config.openmetrics, defaults.openmetrics);
  EXPECT_EQ(loaded.config.limits, defaults.limits);
}

TEST(LoadTest, TakesTheDefaultOfEveryKeyOfAGroupThatIsLeftOut) {
  const Loaded loaded = load_text(kOneGroup, "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const Group& group = loaded.config.groups[0];
  EXPECT_EQ(group.aggregate, std::nullopt);
  EXPECT_TRUE(group.weak);
  EXPECT_FALSE(group.pinned || group.exclusive || group.optional);
  EXPECT_EQ(group.when, When{});
  EXPECT_EQ(group.estimator, Estimator::kAuto);
  EXPECT_FALSE(group.exclude_user || group.exclude_kernel || group.exclude_hypervisor);
  EXPECT_FALSE(group.exclude_idle || group.exclude_host || group.exclude_guest);
  EXPECT_EQ(group.events[0].name, std::nullopt);
  EXPECT_EQ(group.events[0].help, std::nullopt);
  EXPECT_EQ(group.events[0].unit, std::nullopt);
  EXPECT_EQ(group.events[0].scale, std::nullopt);
  EXPECT_EQ(group.events[0].filter, std::nullopt);
}

TEST(LoadTest, ReadsTheShortFormsOfConditions) {
  const auto when = [](const std::string& text) { return load_group("when: " + text).when; };

  EXPECT_THAT(when("{vendor: AuthenticAMD}").vendor, ElementsAre("AuthenticAMD"));
  EXPECT_EQ(when("{cpus: 8}").cpus, (CpuCount{8, 65'536}));
  EXPECT_EQ(when("{cpus: 8-8}").cpus, (CpuCount{8, 8}));
  EXPECT_EQ(when("{kernel: 6}").kernel, (Version{6, 0, 0}));
  EXPECT_EQ(when("{kernel: '5.10'}").kernel, (Version{5, 10, 0}));
}

TEST(LoadTest, ReadsEveryKey) {
  const Loaded loaded = load_text(
      "collection: {interval: 250ms, max_age: 2s}\n"
      "groups:\n"
      "  - name: core-2_x\n"
      "    events: [cycles, 'cpu/event=0x3c,umask=0x1/', \"power/energy-pkg/\"]\n"
      "    scope: [cgroup, cpu]\n"
      "    when: {vendor: [GenuineIntel, ARM], cpus: 8-64, virtual: false, pmu: power,\n"
      "           kernel: 5.13.2}\n"
      "    optional: true\n"
      "    aggregate: package\n"
      "    weak: false\n"
      "    pinned: true\n"
      "    exclusive: true\n"
      "    estimator: auto\n"
      "    exclude_user: true\n"
      "    exclude_idle: true\n"
      "    exclude_host: true\n"
      "    inherit: false\n"
      "cgroups:\n"
      "  include: [/system.slice/*.service, \"/kubepods.slice/**\"]\n"
      "  exclude: [/a]\n"
      "  nesting: all\n"
      "  helpers: true\n"
      "  max: 10\n"
      "  per_cpu: true\n"
      "  linger: 2m\n"
      "  source: records\n"
      "  records_buffer: 1MiB\n"
      "  labels: [{match: 're:/(.+)', set: {team: $1, _Tier2: 'web'}}]\n"
      "  sums: [{name: team, by: [team, unit], max: 5, idle: 2m, zero_for: 0s}]\n"
      "  series: none\n"
      "kubernetes: {metadata: log_links, log_links: /host/containers}\n"
      "evidence: {cgroups: sum, variance: true, reference: true}\n"
      "truth_check: off\n"
      "openmetrics: {created: true}\n"
      "limits: {max_open_events: 1000, max_series: 2000, opens_per_second: 3000, "
      "max_cgroup_directories: 4000}\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.collection.interval, 250ms);
  EXPECT_EQ(loaded.config.collection.max_age, 2s);
  ASSERT_EQ(loaded.config.groups.size(), 1u);
  const Group& group = loaded.config.groups[0];
  const When when = {.vendor = {"GenuineIntel", "ARM"},
                     .cpus = CpuCount{8, 64},
                     .is_virtual = false,
                     .pmu = "power",
                     .kernel = Version{5, 13, 2}};
  EXPECT_EQ(group.when, when);
  EXPECT_TRUE(group.optional);
  EXPECT_EQ(group.name, "core-2_x");
  EXPECT_THAT(spellings(group),
              ElementsAre("cycles", "cpu/event=0x3c,umask=0x1/", "power/energy-pkg/"));
  EXPECT_TRUE(group.cpu_scope);
  EXPECT_TRUE(group.cgroup_scope);
  EXPECT_EQ(group.aggregate, Aggregation::kPackage);
  EXPECT_FALSE(group.weak);
  EXPECT_TRUE(group.pinned && group.exclusive);
  EXPECT_TRUE(group.exclude_user && group.exclude_idle && group.exclude_host);
  EXPECT_FALSE(group.exclude_kernel || group.exclude_hypervisor || group.exclude_guest);
  EXPECT_THAT(texts(loaded.config.cgroups.include),
              ElementsAre("/system.slice/*.service", "/kubepods.slice/**"));
  EXPECT_THAT(texts(loaded.config.cgroups.exclude), ElementsAre("/a"));
  EXPECT_EQ(loaded.config.cgroups.nesting, Nesting::kAll);
  EXPECT_TRUE(loaded.config.cgroups.helpers && loaded.config.cgroups.per_cpu);
  EXPECT_EQ(loaded.config.cgroups.max, 10u);
  EXPECT_EQ(loaded.config.cgroups.linger, 2min);
  EXPECT_EQ(loaded.config.cgroups.source, CgroupSource::kRecords);
  EXPECT_EQ(loaded.config.cgroups.records_buffer, 1u << 20);
  ASSERT_THAT(loaded.config.cgroups.labels, SizeIs(1));
  const LabelRule& rule = loaded.config.cgroups.labels[0];
  EXPECT_EQ(rule.match.text, "re:/(.+)");
  ASSERT_THAT(rule.set, SizeIs(2));
  EXPECT_EQ(rule.set[0].name + "=" + rule.set[0].value, "team=$1");
  EXPECT_EQ(rule.set[1].name + "=" + rule.set[1].value, "_Tier2=web");
  ASSERT_THAT(loaded.config.cgroups.sums, SizeIs(1));
  const CgroupSum& sum = loaded.config.cgroups.sums[0];
  EXPECT_EQ(sum.name, "team");
  ASSERT_THAT(sum.by, SizeIs(2));
  EXPECT_EQ(sum.by[0].name + " " + sum.by[1].name, "team unit");
  EXPECT_EQ(sum.max, 5U);
  EXPECT_EQ(sum.idle, 2min);
  EXPECT_EQ(sum.zero_for, 0s);
  EXPECT_EQ(loaded.config.cgroups.series, CgroupSeries::kNone);
  EXPECT_EQ(loaded.config.evidence.cgroups, CgroupEvidence::kSum);
  EXPECT_EQ(loaded.config.kubernetes.metadata, PodMetadata::kLogLinks);
  EXPECT_EQ(loaded.config.kubernetes.log_links, "/host/containers");
  EXPECT_TRUE(loaded.config.evidence.variance && loaded.config.evidence.reference);
  EXPECT_FALSE(loaded.config.truth_check);
  EXPECT_TRUE(loaded.config.openmetrics.created);
  EXPECT_EQ(loaded.config.limits.max_open_events, 1000u);
  EXPECT_EQ(loaded.config.limits.max_series, 2000u);
  EXPECT_EQ(loaded.config.limits.opens_per_second, 3000u);
  EXPECT_EQ(loaded.config.limits.max_cgroup_directories, 4000u);
}

TEST(LoadTest, TakesASwitchAsWritersOfYaml11WriteIt) {
  for (const char* off : {"off", "'off'", "false", "False", "FALSE", "!!bool \"false\""}) {
    const Loaded loaded = load_text(kOneGroup + "truth_check: " + off + "\n", "c.yaml");

    EXPECT_THAT(loaded.diagnostics.errors(), IsEmpty()) << off;
    EXPECT_FALSE(loaded.config.truth_check) << off;
  }
  for (const char* on : {"on", "true", "True", "TRUE"}) {
    const Loaded loaded = load_text(kOneGroup + "truth_check: " + on + "\n", "c.yaml");

    EXPECT_THAT(loaded.diagnostics.errors(), IsEmpty()) << on;
    EXPECT_TRUE(loaded.config.truth_check) << on;
  }
}

TEST(LoadTest, TakesBothEndsOfEveryRange) {
  const Loaded least = load_text(kOneGroup +
                                     "collection: {interval: 100ms}\n"
                                     "cgroups: {max: 0, linger: 0s}\n"
                                     "limits: {max_open_events: 1, max_series: 1, "
                                     "opens_per_second: 1, max_cgroup_directories: 1}\n",
                                 "c.yaml");
  const Loaded most =
      load_text(kOneGroup +
                    "collection: {interval: 1h}\n"
                    "cgroups: {max: 100000, linger: 60m}\n"
                    "limits: {max_open_events: 10000000, max_series: 10000000, "
                    "opens_per_second: 10000000, max_cgroup_directories: 1000000}\n",
                "c.yaml");

  EXPECT_THAT(messages(least), IsEmpty());
  EXPECT_THAT(messages(most), IsEmpty());
}

TEST(LoadTest, TakesOneScopeAsAWord) {
  const Loaded loaded = load_text("groups: [{name: a, events: [cycles], scope: cgroup}]", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.groups[0].cpu_scope);
  EXPECT_TRUE(loaded.config.groups[0].cgroup_scope);
}

TEST(LoadTest, ReadsTheSizeOfEachBuffer) {
  std::size_t bytes = 64 * 1024;
  for (const char* const size :
       {"64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB"}) {
    const Loaded loaded =
        load_text(kOneGroup + "cgroups: {records_buffer: " + size + "}\n", "c.yaml");

    ASSERT_THAT(messages(loaded), IsEmpty());
    EXPECT_EQ(loaded.config.cgroups.records_buffer, bytes) << size;
    bytes *= 2;
  }
}

TEST(LoadTest, TakesTheLongestNameAndTheMostEvents) {
  const std::string name(64, 'a');
  std::string events = "e0";
  for (int i = 1; i < 64; ++i) events += ", e" + std::to_string(i);

  const Loaded loaded =
      load_text("groups: [{name: " + name + ", events: [" + events + "], scope: cpu}]", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.groups[0].name, name);
  EXPECT_EQ(loaded.config.groups[0].events.size(), 64u);
}

TEST(LoadTest, ReadsEveryKeyOfAnEvent) {
  const Loaded loaded = load_events(
      "[cycles, {event: 'block:block_rq_issue', name: large_io, help: Large requests, "
      "unit: bytes, scale: 6.1e-5, filter: 'bytes >= 65536'}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  ASSERT_THAT(spellings(loaded.config.groups[0]), ElementsAre("cycles", "block:block_rq_issue"));
  const EventEntry& event = loaded.config.groups[0].events[1];
  EXPECT_EQ(event.name, "large_io");
  EXPECT_EQ(event.help, "Large requests.");
  EXPECT_EQ(event.unit, Unit::kBytes);
  EXPECT_EQ(event.scale, 6.1e-5);
  EXPECT_EQ(event.filter, "bytes >= 65536");
  EXPECT_EQ(event.at.key, "groups[0].events[1].event");
  EXPECT_EQ(event.at.column, 57);
}

TEST(LoadTest, TakesAMapThatHoldsNothingButTheEvent) {
  const Loaded loaded = load_events("[{event: sched:sched_switch}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(spellings(loaded.config.groups[0]), ElementsAre("sched:sched_switch"));
}

TEST(LoadTest, TakesOneTextForAListOfIt) {
  const Loaded loaded = load_events("\"{cycles,instructions}:u\"");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(spellings(loaded.config.groups[0]), ElementsAre("{cycles,instructions}:u"));
  EXPECT_EQ(loaded.config.groups[0].events[0].at.key, "groups[0].events");
}

TEST(LoadTest, KeepsEventsThatAreNotQuotedAsTheyStand) {
  const Loaded loaded = load_text(
      "groups:\n"
      "  - name: a\n"
      "    scope: cpu\n"
      "    events:\n"
      "      - cpu/event=0x3c,umask=0x1/u\n"
      "      - mem:0xffffffff81000000/8:rw\n"
      "      - uprobe:/usr/lib/libc.so.6:malloc+0x10\n"
      "      - arm_n1::L1D_CACHE_REFILL\n"
      "      - event: cycles,instructions\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(spellings(loaded.config.groups[0]),
              ElementsAre("cpu/event=0x3c,umask=0x1/u", "mem:0xffffffff81000000/8:rw",
                          "uprobe:/usr/lib/libc.so.6:malloc+0x10", "arm_n1::L1D_CACHE_REFILL",
                          "cycles,instructions"));
}

TEST(LoadTest, AddsAFullStopToAHelpThatHasNone) {
  const Loaded loaded = load_events(
      "[{event: a, help: ' With blanks '}, {event: b, help: Has one.}, {event: c, help: 'Is "
      "it?'}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const std::vector<EventEntry>& events = loaded.config.groups[0].events;
  EXPECT_EQ(events[0].help, "With blanks.");
  EXPECT_EQ(events[1].help, "Has one.");
  EXPECT_EQ(events[2].help, "Is it?");
}

TEST(LoadTest, CountsCharactersOfANameAndNotItsBytes) {
  std::string name = "a";
  for (int i = 1; i < 128; ++i) name += "ß";

  const Loaded loaded = load_events("[{event: x, name: " + name + "}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.groups[0].events[0].name, name);
}

TEST(LoadTest, TakesTheLongestHelpAndTheLongestFilter) {
  const std::string help(512, 'h');
  const std::string filter(4095, 'f');

  const Loaded loaded = load_events("[{event: x, help: " + help + ", filter: " + filter + "}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.groups[0].events[0].help, help + ".");
  EXPECT_EQ(loaded.config.groups[0].events[0].filter, filter);
}

TEST(LoadTest, ReadsScalesWithAndWithoutPointAndExponent) {
  const Loaded loaded = load_events(
      "[{event: a, scale: 64}, {event: b, scale: 0.5}, {event: c, scale: 1E-18}, "
      "{event: d, scale: 1e+18}, {event: e, scale: 2.3283064365386962890625e-10}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const std::vector<EventEntry>& events = loaded.config.groups[0].events;
  EXPECT_EQ(events[0].scale, 64);
  EXPECT_EQ(events[1].scale, 0.5);
  EXPECT_EQ(events[2].scale, 1e-18);
  EXPECT_EQ(events[3].scale, 1e18);
  EXPECT_EQ(events[4].scale, std::ldexp(1, -32));
}

RC_GTEST_PROP(LoadTest, ReadsAnyScaleInRangeToTheLastBit, ()) {
  const double scale = std::ldexp(*rc::gen::inRange(1, 1 << 30), *rc::gen::inRange(-59, 30));
  char digits[32];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), scale);

  const Loaded loaded = load_events("[{event: x, scale: " + std::string(digits, end) + "}]");

  RC_ASSERT(!loaded.diagnostics.has_errors());
  RC_ASSERT(loaded.config.groups[0].events[0].scale == scale);
}

TEST(LoadTest, ReadsEveryUnit) {
  const Loaded loaded = load_events(
      "[{event: a, unit: events}, {event: b, unit: seconds}, {event: c, unit: joules}, "
      "{event: d, unit: bytes}]");

  ASSERT_THAT(messages(loaded), IsEmpty());
  std::vector<Unit> units;
  for (const EventEntry& event : loaded.config.groups[0].events) units.push_back(*event.unit);
  EXPECT_THAT(units, ElementsAre(Unit::kEvents, Unit::kSeconds, Unit::kJoules, Unit::kBytes));
}

TEST(LoadTest, ReadsWhatOneSeriesStandsFor) {
  const std::pair<std::string, Aggregation> rows[] = {
      {"cpu", Aggregation::kCpu},
      {"core", Aggregation::kCore},
      {"die", Aggregation::kDie},
      {"package", Aggregation::kPackage},
      {"numa_node", Aggregation::kNumaNode},
      {"host", Aggregation::kHost},
  };
  for (const auto& [word, aggregate] : rows) {
    EXPECT_EQ(load_group("aggregate: " + word).aggregate, aggregate) << word;
  }
}

TEST(LoadTest, ReadsByWhatCountsAreScaled) {
  const std::pair<std::string, Estimator> rows[] = {
      {"auto", Estimator::kAuto}, {"time", Estimator::kTime}, {"reference", Estimator::kReference}};
  for (const auto& [word, estimator] : rows) {
    EXPECT_EQ(load_group("estimator: " + word).estimator, estimator) << word;
    EXPECT_EQ(load_group("pinned: false, estimator: " + word).estimator, estimator) << word;
  }
}

TEST(LoadTest, ADutyCycleSaysForHowLongAGroupCounts) {
  const Loaded loaded = load_text(
      "groups:\n"
      "  - {name: a, events: [x], scope: cpu, duty_cycle: {on: 10s, every: 60s}}\n"
      "  - {name: b, events: [y], scope: cpu}\n"
      "collection: {interval: 5s}\n",
      "c.yaml");

  EXPECT_FALSE(loaded.diagnostics.has_errors());
  EXPECT_EQ(loaded.config.groups[0].duty_cycle, (DutyCycle{10s, 60s}));
  EXPECT_EQ(loaded.config.groups[1].duty_cycle, std::nullopt);
}

TEST(LoadTest, TakesOneKindOfEvidenceWithoutTheOther) {
  const Loaded loaded = load_text(kOneGroup + "evidence: {reference: true}\n", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.evidence.variance);
  EXPECT_TRUE(loaded.config.evidence.reference);
}

TEST(LoadTest, ReadsEachFlagOfAGroupWhetherTrueOrFalse) {
  const std::pair<std::string, bool Group::*> rows[] = {
      {"weak", &Group::weak},
      {"pinned", &Group::pinned},
      {"exclusive", &Group::exclusive},
      {"exclude_user", &Group::exclude_user},
      {"exclude_kernel", &Group::exclude_kernel},
      {"exclude_hypervisor", &Group::exclude_hypervisor},
      {"exclude_idle", &Group::exclude_idle},
      {"exclude_host", &Group::exclude_host},
      {"exclude_guest", &Group::exclude_guest},
  };
  for (const auto& [key, flag] : rows) {
    EXPECT_TRUE(load_group(key + ": true").*flag) << key;
    EXPECT_FALSE(load_group(key + ": false").*flag) << key;
  }
}

TEST(LoadTest, TakesTwoOfThreeExcludedModes) {
  const Group group =
      load_group("exclude_user: true, exclude_kernel: false, exclude_hypervisor: true");

  EXPECT_TRUE(group.exclude_user && group.exclude_hypervisor && !group.exclude_kernel);
}

TEST(LoadTest, LeavesOutAnEventThatIsWrongAndKeepsTheOthers) {
  const Loaded loaded = load_events("[a, '', {name: b}, a, {event: c, unit: MiB}]");

  EXPECT_THAT(messages(loaded), SizeIs(4));
  EXPECT_THAT(spellings(loaded.config.groups[0]), ElementsAre("a", "c"));
  EXPECT_EQ(loaded.config.groups[0].events[1].unit, std::nullopt);
}

TEST(LoadTest, KeepsWhereGroupsAndEventsStand) {
  const Loaded loaded = load_text(
      "groups:\n"
      "  - name: core\n"
      "    events: [cycles]\n"
      "    scope: cpu\n"
      "  - name: cache\n"
      "    events:\n"
      "      - cache-misses\n"
      "      - cache-references\n"
      "    scope: cpu\n",
      "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const Group& cache = loaded.config.groups[1];
  EXPECT_EQ(cache.at.file, "c.yaml");
  EXPECT_EQ(cache.at.line, 5);
  EXPECT_EQ(cache.at.column, 5);
  EXPECT_EQ(cache.at.key, "groups[1]");
  EXPECT_EQ(cache.events[1].at.line, 8);
  EXPECT_EQ(cache.events[1].at.column, 9);
  EXPECT_EQ(cache.events[1].at.key, "groups[1].events[1]");
}

TEST(LoadTest, ReadsAFileWrittenOnWindows) {
  const Loaded loaded = load_text(
      "\xef\xbb\xbfgroups:\r\n"
      "  - name: core\r\n"
      "    events: [cycles, instructions]\r\n"
      "    scope: cpu\r\n"
      "collection:\r\n"
      "  interval: 5\r\n",
      "c.yaml");

  EXPECT_THAT(messages(loaded), ElementsAre("c.yaml:6:13: collection.interval: '5' has no unit. "
                                            "Remedy: write a duration from 100ms to 1h, for "
                                            "example 500ms or 1m30s"));
  EXPECT_THAT(spellings(loaded.config.groups[0]), ElementsAre("cycles", "instructions"));
}

TEST(LoadTest, DoesNotCountTheByteOrderMarkAsAColumn) {
  const Loaded loaded = load_text("\xef\xbb\xbfgroup: 1", "c.yaml");

  EXPECT_THAT(
      messages(loaded),
      ::testing::Contains("c.yaml:1:1: group: unknown key. Remedy: did you mean 'groups'?"));
}

TEST(LoadTest, TakesTextInAnyLanguage) {
  const Loaded loaded = load_text(
      "# Größe, 大きさ, 🐧\n" + kOneGroup + "cgroups: {include: [/größe/大きさ-*]}\n", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(texts(loaded.config.cgroups.include), ElementsAre("/größe/大きさ-*"));
}

TEST(LoadTest, KeepsWherePatternsAndLabelsStand) {
  const Loaded loaded = load_text(kOneGroup +
                                      "cgroups:\n"
                                      "  include: [/a, 're:/b']\n"
                                      "  labels:\n"
                                      "    - match: /c\n"
                                      "      set:\n"
                                      "        team: web\n",
                                  "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const Cgroups& cgroups = loaded.config.cgroups;
  EXPECT_EQ(yaml::describe({cgroups.include.at(1).at, "x"}), "c.yaml:3:17: cgroups.include[1]: x");
  const LabelRule& rule = cgroups.labels.at(0);
  EXPECT_EQ(yaml::describe({rule.match.at, "x"}), "c.yaml:5:14: cgroups.labels[0].match: x");
  EXPECT_EQ(yaml::describe({rule.set.at(0).at, "x"}), "c.yaml:7:15: cgroups.labels[0].set.team: x");
}

TEST(LoadTest, IsKnownByTheBeginningOfWhatSha256sumPrintsAndByItsRevision) {
  const Loaded loaded = load_text(kOneGroup + "revision: 2026-11-29 blue\n", "c.yaml");

  EXPECT_EQ(load_text("", "c.yaml").config.origin.hash, "e3b0c44298fc");
  EXPECT_EQ(loaded.config.origin.hash, "9c2e39d09039");
  EXPECT_EQ(loaded.config.origin.revision, "2026-11-29 blue");
  EXPECT_EQ(load_text(kOneGroup, "c.yaml").config.origin.revision, "");
}

TEST(LoadTest, TakesAListOfPatternsInPlaceOfTheDefault) {
  const Loaded loaded = load_text(kOneGroup + "cgroups: {include: []}\n", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.cgroups.include, IsEmpty());
}

TEST(LoadTest, TakesAsManyPatternsAndLabelsAsAllowed) {
  std::string text = kOneGroup + "cgroups:\n  include:\n";
  for (int i = 0; i < 256; ++i) text += "    - /" + std::string(1023, 'a') + "\n";
  text += "  labels:\n";
  for (int i = 0; i < 64; ++i)
    text += "    - {match: /a, set: {x: " + std::string(256, 'v') + "}}\n";
  text += "kubernetes: {log_links: /" + std::string(4094, 'd') + "}\n";

  const Loaded loaded = load_text(text, "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.cgroups.include, SizeIs(256));
  EXPECT_THAT(loaded.config.cgroups.labels, SizeIs(64));
}

TEST(LoadTest, TakesSixteenLabelsOfOneRuleWithNamesOf128Characters) {
  std::string set;
  for (char c = 'a'; c < 'q'; ++c) set += std::string(128, c) + ": x, ";

  const Loaded loaded =
      load_text(kOneGroup + "cgroups: {labels: [{match: /a, set: {" + set + "}}]}\n", "c.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.cgroups.labels.at(0).set, SizeIs(16));
}

TEST(LoadTest, TakesTheMarksAroundOneDocument) {
  EXPECT_THAT(messages(load_text("---\n" + kOneGroup + "...\n", "c.yaml")), IsEmpty());
}

TEST(LoadTest, ReportsEveryErrorInTheOrderOfTheFile) {
  const Loaded loaded = load_text(
      "limits: {max_series: many}\n"
      "collection:\n"
      "  interval: 5\n"
      "groups:\n"
      "  - name: Core\n"
      "    events: [cycles, cycles]\n"
      "cgroups: {max: -1}\n",
      "c.yaml");

  EXPECT_THAT(
      messages(loaded),
      ElementsAre(
          "c.yaml:1:22: limits.max_series: 'many' is not a number. "
          "Remedy: write a whole number from 1 to 10000000, in plain digits",
          "c.yaml:3:13: collection.interval: '5' has no unit. Remedy: write a duration from "
          "100ms to 1h, for example 500ms or 1m30s",
          "c.yaml:5:5: groups[0]: the group has no scope. "
          "Remedy: add 'scope: cpu', cgroup or [cpu, cgroup]",
          "c.yaml:5:11: groups[0].name: 'Core' is not a name. "
          "Remedy: use 1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter",
          "c.yaml:6:22: groups[0].events[1]: 'cycles' is repeated, first on line 6 column 14. "
          "Remedy: remove one of the two",
          "c.yaml:7:16: cgroups.max: '-1' is negative. "
          "Remedy: write a whole number from 0 to 100000, in plain digits"));
}

TEST(LoadTest, KeepsTheDefaultAfterAnError) {
  const Loaded loaded = load_text(kOneGroup + "collection: {interval: 5}\n", "c.yaml");

  EXPECT_EQ(loaded.diagnostics.error_count(), 1u);
  EXPECT_EQ(loaded.config.collection.interval, 1s);
}

TEST(LoadTest, RefusesAnAliasBombWithoutExpandingIt) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string name = 'a' + std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [" + before + ", " + before + "]\n";
  }

  const Loaded loaded = load_text(text + "groups: *a39\n", "c.yaml");

  EXPECT_THAT(messages(loaded),
              ::testing::Contains("c.yaml:41:9: groups: this is a YAML alias. "
                                  "Remedy: write the value itself; aliases are not followed"));
}

/// One kind of text that is short to write and could be long to read.
class HostileTextTest : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileTextTest, IsRefusedWithABoundedNumberOfErrors) {
  std::string text;
  while (text.size() + GetParam().size() <= yaml::kMaxFileBytes / 8) text += GetParam();

  const Loaded loaded = load_text(text, "c.yaml");

  EXPECT_TRUE(loaded.diagnostics.has_errors());
  EXPECT_LE(messages(loaded).size(), 101u);
}

INSTANTIATE_TEST_SUITE_P(LoadTest, HostileTextTest,
                         ::testing::Values("[", "{", "- ", "-\n", "? ", "a: ", "a:\n", ",", ",\n",
                                           "&a ", "*a ", "!x ", "\"", "'", "|\n", ": ", "---\n",
                                           "{a: ", "[a, ", "%", "\t", "groups: [*a,"));

TEST(LoadTest, ReadsDurationsAsGoDoes) {
  const Loaded loaded = load_text(
      kOneGroup + "collection: {interval: 1.5s, max_age: 750ms}\ncgroups: {linger: 1m30s}\n",
      "c.yaml");

  EXPECT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.collection.interval, 1500ms);
  EXPECT_EQ(loaded.config.cgroups.linger, 90s);
}

TEST(LoadTest, KeepsWhatCanBeReadOfAnEventWithAnError) {
  const Loaded loaded = load_text(
      "groups: [{name: a, scope: cpu, events: [{event: x, scale: many}, y]}]\n", "c.yaml");

  ASSERT_EQ(loaded.diagnostics.error_count(), 1U);
  const std::vector<EventEntry>& events = loaded.config.groups.at(0).events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].spelling, "x");
  EXPECT_FALSE(events[0].is_complete);
  EXPECT_TRUE(events[1].is_complete);
}

TEST(LoadTest, OneEventUnderTwoNamesIsTwoEvents) {
  const Loaded loaded = load_text(
      "groups:\n  - name: a\n    scope: cpu\n    events: [x, {event: x, name: b, filter: y}]\n",
      "c.yaml");

  ASSERT_FALSE(loaded.diagnostics.has_errors());
  EXPECT_EQ(loaded.config.groups[0].events.size(), 2U);
}

TEST(LoadTest, TakesTheKeyOnAsWritersOfYaml11WriteIt) {
  for (const char* on : {"on", "'on'", "true", "\"true\"", "True"}) {
    const Loaded loaded =
        load_text("groups: [{name: a, events: [cycles], scope: cpu, duty_cycle: {every: 1m, " +
                      std::string(on) + ": 5s}}]\n",
                  "c.yaml");

    EXPECT_THAT(messages(loaded), IsEmpty()) << on;
  }
}

TEST(LoadTest, TakesAWholeNumberAsWritersOfFloatsWriteIt) {
  const Loaded loaded = load_text(kOneGroup + "limits: {max_series: 4000.0}\n", "c.yaml");

  EXPECT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.limits.max_series, 4000U);
}

}  // namespace
}  // namespace pex::config::load_test
