#include "events/vendor_events.h"

#include <stdlib.h>

#include <cerrno>

#include "events/event_resolver.h"
#include "support/results.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::events::vendor_events_test {
namespace {

using test::FailsWith;
using ::testing::Contains;
using ::testing::HasSubstr;

// libpfm4 looks at the CPU once in a process, and knows only the models of the architecture that it
// was built for. This comes before all tests of the program, so they are all on a Skylake.
[[maybe_unused]] const bool kOnSkylake = ::setenv("LIBPFM_FORCE_PMU", "skl", 1) == 0;

EventResolver resolver_below(const std::string& sysfs) {
  return *EventResolver::create({.sysfs = sysfs, .cgroupfs = {}});
}

EventResolver resolver_of(const std::string& machine) {
  return resolver_below(PEX_SOURCE_DIR "/tests/unit/events/machines/" + machine + "/sys");
}

class VendorEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto encodings = encode_vendor_event("INST_RETIRED:ANY_P");
    if (encodings) return;
    GTEST_SKIP() << "no libpfm4 here that knows Skylake: " << describe(encodings.error());
  }

  static std::vector<EventSpec> resolve(const std::string& machine, const std::string& text) {
    return *resolver_of(machine).resolve(parse_events(text)->events.front());
  }
};

// Event in bits 0-7, unit mask in 8-15, counter mask in 24-31: Intel SDM volume 3, 20.2.1.1, and
// the tables of the model in volume 3, 20.3 and https://perfmon-events.intel.com.
TEST_F(VendorEventsTest, AreTheNumbersOfTheVendorsManual) {
  struct Row {
    const char* name;
    std::uint64_t config;
    std::uint64_t config1;
  };
  const Row rows[] = {
      {"INST_RETIRED:ANY_P", 0xc0, 0},
      {"INST_RETIRED.ANY_P", 0xc0, 0},
      {"inst_retired:any_p", 0xc0, 0},
      {"skl::INST_RETIRED:ANY_P", 0xc0, 0},
      {"UNHALTED_CORE_CYCLES", 0x3c, 0},
      {"LONGEST_LAT_CACHE:MISS", 0x412e, 0},
      {"L2_RQSTS:MISS", 0x3f24, 0},
      {"INST_RETIRED:ANY_P:c=2", 0x20000c0, 0},
      {"OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE", 0x1b7, 0x10001},
  };

  for (const Row& row : rows) {
    const auto encodings = encode_vendor_event(row.name);

    ASSERT_TRUE(encodings) << describe(encodings.error());
    ASSERT_EQ(encodings->size(), 1U);
    perf::EventAttributes expected;
    expected.type = 4;  // PERF_TYPE_RAW
    expected.config = row.config;
    expected.config1 = row.config1;
    EXPECT_EQ(encodings->front().attributes, expected) << row.name;
    EXPECT_EQ(encodings->front().pmu, "skl");
  }
}

TEST_F(VendorEventsTest, SayWhatIsWrongWithAName) {
  struct Row {
    const char* name;
    const char* why;
    const char* remedy;
  };
  const Row rows[] = {
      {"INST_RETIRD:ANY_P", "event not found", "did you mean 'INST_RETIRED:ANY_P'?"},
      {"INST_RETIRED:ANYP", "invalid event attribute", "did you mean 'INST_RETIRED:ANY_P'?"},
      {"skl::INST_RETIRD:ANY_P", "event not found", "did you mean 'INST_RETIRED:ANY_P'?"},
      {"no_model::INST_RETIRED:ANY_P", "event not found", "did you mean 'INST_RETIRED:ANY_P'?"},
      {"XYZZY", "event not found", "see list_events()"},
  };

  for (const Row& row : rows) {
    const auto encodings = encode_vendor_event(row.name);

    ASSERT_THAT(encodings, FailsWith(ENOENT)) << row.name;
    EXPECT_THAT(encodings.error().attempted, HasSubstr(row.why));
    EXPECT_EQ(encodings.error().remedy.text(), row.remedy);
  }
}

TEST_F(VendorEventsTest, AreListedOnceEachAndCanBeAskedFor) {
  std::set<std::string> names;

  for (const VendorName& listed : list_vendor_events()) {
    EXPECT_TRUE(names.insert(listed.name).second) << listed.name;
    EXPECT_TRUE(listed.help.ends_with('.')) << listed.help;
    EXPECT_EQ(listed.help.find_first_of("\n\\"), std::string::npos) << listed.help;
    EXPECT_TRUE(encode_vendor_event(listed.name)) << listed.name;
  }

  EXPECT_THAT(names, Contains("INST_RETIRED:ANY_P"));
  EXPECT_THAT(names, Contains("UNHALTED_CORE_CYCLES"));
}

TEST_F(VendorEventsTest, AreNamedWithoutTheirPmu) {
  const EventSpec event = resolve("intel_client", "skl::INST_RETIRED:ANY_P:u").front();

  EXPECT_EQ(event.identity.name, "skl::INST_RETIRED:ANY_P:u");
  EXPECT_EQ(event.identity.metric, "inst_retired_any_p_user");
  EXPECT_THAT(event.identity.help, HasSubstr("in user mode."));
  EXPECT_EQ(event.instances.front().pmu, "");
}

TEST_F(VendorEventsTest, TakeOurModifiersAndNotThoseOfTheLibrary) {
  const perf::EventAttributes all =
      resolve("intel_client", "INST_RETIRED:ANY_P").front().instances.front().attributes;
  const perf::EventAttributes user =
      resolve("intel_client", "INST_RETIRED:ANY_P:u").front().instances.front().attributes;

  EXPECT_FALSE(all.exclude_user || all.exclude_kernel || all.exclude_hypervisor);
  EXPECT_FALSE(user.exclude_user);
  EXPECT_TRUE(user.exclude_kernel);
  EXPECT_TRUE(user.exclude_hypervisor);
  EXPECT_EQ(user.config, all.config);
}

// There cpu_core has the type of raw events, which the library found for this model.
TEST_F(VendorEventsTest, BelongToOneCorePmuOfAHybridMachine) {
  const std::vector<EventSpec> events = resolve("intel_hybrid", "INST_RETIRED:ANY_P");

  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().identity.labels.front().second, "cpu_core");
  EXPECT_EQ(events.front().instances.front().pmu, "cpu_core");
}

// libpfm4 finds the types of uncore PMUs in the sysfs of the machine it runs on, so here the type
// of a core PMU stands for them.
TEST_F(VendorEventsTest, AreOfAPackageWhereTheirPmuIs) {
  const test::TempTree tree{{"sys/bus/event_source/devices/uncore_imc_0/type", "4\n"},
                            {"sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n"}};
  const EventResolver resolver = resolver_below(tree.path("sys"));

  const auto event = resolver.resolve(parse_events("LONGEST_LAT_CACHE:MISS")->events.front());
  const auto refused = resolver.resolve(parse_events("LONGEST_LAT_CACHE:MISS:u")->events.front());

  ASSERT_TRUE(event);
  EXPECT_TRUE(event->front().identity.is_uncore);
  EXPECT_EQ(event->front().identity.metric, "uncore_imc_longest_lat_cache_miss");
  EXPECT_EQ(event->front().instances.front().pmu, "uncore_imc_0");
  EXPECT_FALSE(refused);
}

// As above; LONGEST_LAT_CACHE:MISS is 0x412e.
class VendorEventsInUnitsTest : public VendorEventsTest {
 protected:
  Result<std::vector<EventSpec>, Unresolved> resolve_here() const {
    return resolver_below(tree_.path("sys"))
        .resolve(parse_events("LONGEST_LAT_CACHE:MISS")->events.front());
  }

  test::TempTree tree_{
      {"sys/bus/event_source/devices/power/type", "4\n"},
      {"sys/bus/event_source/devices/power/cpumask", "0\n"},
      {"sys/bus/event_source/devices/power/format/event", "config:0-15\n"},
      {"sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules\n"},
      {"sys/bus/event_source/devices/power/events/energy-pkg.scale", "0.5\n"},
  };
};

TEST_F(VendorEventsInUnitsTest, AreWorthWhatThePmusOwnEventIs) {
  tree_.write("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x412e\n");

  const auto event = resolve_here();

  ASSERT_TRUE(event);
  const EventIdentity& identity = event->front().identity;
  EXPECT_EQ(identity.unit, Unit::kJoules);
  EXPECT_EQ(identity.scale, 0.5);
  EXPECT_EQ(identity.metric, "energy");
  EXPECT_EQ(identity.labels.front().second, "package");
}

TEST_F(VendorEventsInUnitsTest, AreRefusedWhenNothingDefinesTheUnit) {
  tree_.write("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x2\n");

  const auto event = resolve_here();

  ASSERT_FALSE(event);
  EXPECT_FALSE(event.error().on_every_machine);
  EXPECT_EQ(
      event.error().error,
      (Error{EINVAL, "'LONGEST_LAT_CACHE:MISS' is counted in units that only PMU 'power' defines",
             "write one of its named events, for example power/energy-pkg/"}));
}

TEST_F(VendorEventsTest, AreNoneThatAnX86CoreIgnoresTheModifierOf) {
  const auto parsed = parse_events("INST_RETIRED:ANY_P:h");

  EXPECT_FALSE(resolver_of("intel_client").resolve(parsed->events.front()));
}

TEST(VendorEventsOfNoCpuTest, AreNotHereRatherThanErrors) {
  const auto event = resolver_of("intel_client").resolve(parse_events("Cycles")->events.front());

  ASSERT_FALSE(event);
  EXPECT_FALSE(event.error().on_every_machine);
  EXPECT_NE(event.error().error.code, 0);
  EXPECT_EQ(event.error().error.remedy, "did you mean 'cycles'?");
}

}  // namespace
}  // namespace pex::events::vendor_events_test
