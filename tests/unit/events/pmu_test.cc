#include "events/pmu.h"

#include <bit>
#include <cerrno>
#include <ostream>

#include "base/text.h"
#include "host/cpu_list.h"
#include "support/file_shortage.h"
#include "support/results.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::events {

void PrintTo(const FormatField& field, std::ostream* out) {
  *out << "config" << field.word;
  for (const auto& range : field.ranges) *out << " " << range.first << "-" << range.last;
}

namespace pmu_test {
namespace {

using test::FailsWith;
using test::Holds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr const char* kMachines[] = {"intel_client", "intel_hybrid", "intel_server",
                                     "amd_zen",      "arm_neoverse", "arm_biglittle",
                                     "apple_m1",     "ibm_power10",  "ibm_z16"};

host::HostRoots below(const std::string& sysfs) { return {.sysfs = sysfs, .cgroupfs = {}}; }

host::HostRoots roots_of(const std::string& machine) {
  return below(PEX_SOURCE_DIR "/tests/unit/events/machines/" + machine + "/sys");
}

/// Of a tree that is known to be readable.
PmuCatalogue catalogue_of(const host::HostRoots& roots) { return *PmuCatalogue::read(roots); }

/// Of one of the machines, or one that has nothing.
Pmu pmu_of(const std::string& machine, const std::string& name) {
  const PmuCatalogue catalogue = catalogue_of(roots_of(machine));
  const Pmu* const pmu = catalogue.find(name);
  EXPECT_NE(pmu, nullptr) << machine << " " << name;
  return pmu == nullptr ? Pmu{} : *pmu;
}

std::string names_of(const std::vector<const Pmu*>& pmus) {
  std::string names;
  for (const Pmu* pmu : pmus) names += (names.empty() ? "" : " ") + pmu->name;
  return names;
}

// Formats

TEST(PmuFormatTest, IsNothingButAWordAndItsBits) {
  const char* const texts[] = {
      "",          ":",           "config",      "config:",          "config0:0-7",  "config4:0-7",
      "event:0-7", "config :0-7", "config: 0-7", " config:0-7",      "config:0-7 ",  "config:0-7\n",
      "config:-",  "config:0-",   "config:-7",   "config:7-0",       "config:0-64",  "config:64",
      "config:a",  "config:0x7",  "config:+1",   "config:0--7",      "config:0-7-9", "config:0-7,",
      "config:,0", "config:0,,1", "config:0;1",  "config:0-7,7",     "config:1,1",   "config:0-7:8",
      "0-7",       "config1",     "CONFIG:0",    "config:4294967296"};

  for (const char* text : texts) {
    const Result<FormatField> field = parse_format(text);

    ASSERT_THAT(field, FailsWith(EINVAL)) << "'" << text << "'";
    EXPECT_THAT(field.error().attempted, HasSubstr("'" + std::string(text) + "'"));
  }
}

/// Ranges that share no bit, in any order.
rc::Gen<FormatField> formats() {
  return rc::gen::exec([] {
    FormatField field{*rc::gen::inRange(0u, 4u), {}};
    for (unsigned bit = *rc::gen::inRange(0u, 60u); bit < 64;) {
      const unsigned last = *rc::gen::inRange(bit, 64u);
      field.ranges.push_back({bit, last});
      bit = last + 1 + *rc::gen::inRange(0u, 20u);
    }
    std::rotate(field.ranges.begin(),
                field.ranges.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, 3) %
                                           static_cast<std::ptrdiff_t>(field.ranges.size()),
                field.ranges.end());
    return field;
  });
}

std::string text_of(const FormatField& field) {
  std::string text = "config" + (field.word == 0 ? "" : std::to_string(field.word));
  char separator = ':';
  for (const auto& [first, last] : field.ranges) {
    text += std::exchange(separator, ',') + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

RC_GTEST_PROP(PmuFormatTest, IsReadBackFromItsText, ()) {
  const FormatField field = *formats();

  const Result<FormatField> parsed = parse_format(text_of(field));

  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == field);
}

RC_GTEST_PROP(PmuFormatTest, PutsEachBitOfAValueWhereTheOrderOfBitsPutsIt, ()) {
  const FormatField field = *formats();
  const auto value = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<unsigned> places;
  for (const auto& [first, last] : field.ranges) {
    for (unsigned bit = first; bit <= last; ++bit) places.push_back(bit);
  }

  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < places.size(); ++i) expected |= (value >> i & 1) << places[i];

  RC_ASSERT(field.width() == places.size());
  RC_ASSERT(field.spread(value) == expected);
}

RC_GTEST_PROP(PmuFormatTest, IsReadOrRefusedWhateverStandsThere, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
      {{9, rc::gen::element('1', '2', '6', ':', '-', ',')}, {1, rc::gen::arbitrary<char>()}}));

  const Result<FormatField> field = parse_format("config:" + text);

  if (!field) return;
  RC_ASSERT(field->width() == static_cast<unsigned>(std::popcount(field->spread(~0ull))));
}

// The machines. What resolved.txt has shows the types, formats and events of most PMUs.

TEST(PmuCatalogueTest, KnowsTheKindAndCpusOfAPmu) {
  struct Row {
    const char* machine;
    const char* pmu;
    std::uint32_t type;
    PmuKind kind;
    const char* cpus;
  };
  const Row rows[] = {
      {"intel_client", "cstate_core", 9, PmuKind::kUncore, "0-3"},
      {"intel_client", "msr", 11, PmuKind::kOther, ""},
      {"intel_client", "software", 1, PmuKind::kOther, ""},
      {"intel_client", "tracepoint", 2, PmuKind::kOther, ""},
      {"intel_client", "breakpoint", 5, PmuKind::kOther, ""},
      {"intel_client", "kprobe", 6, PmuKind::kOther, ""},
      {"intel_client", "uprobe", 7, PmuKind::kOther, ""},
      {"intel_hybrid", "cpu_core", 4, PmuKind::kCore, "0-15"},
      {"intel_server", "power", 8, PmuKind::kUncore, "0,16"},
      {"intel_server", "uncore_cha_3", 21, PmuKind::kUncore, "0,16"},
      {"amd_zen", "amd_l3", 12, PmuKind::kUncore, "0,8"},
      {"amd_zen", "ibs_op", 10, PmuKind::kOther, ""},
      {"arm_neoverse", "armv8_pmuv3_0", 8, PmuKind::kCore, "0-3"},
      {"arm_neoverse", "arm_dsu_0", 10, PmuKind::kUncore, "1"},
      {"arm_biglittle", "armv8_cortex_a53", 7, PmuKind::kCore, "0-3"},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.machine) + " " + row.pmu);
    const Pmu pmu = pmu_of(row.machine, row.pmu);

    EXPECT_EQ(pmu.type, row.type);
    EXPECT_EQ(pmu.kind, row.kind);
    EXPECT_EQ(host::format_cpu_list(pmu.cpus), row.cpus);
    if (pmu.cpus.empty()) continue;
    EXPECT_THAT(read_pmu_cpus(roots_of(row.machine), row.pmu), Holds(pmu.cpus));
  }
}

TEST(PmuCatalogueTest, HasThePmusOfAMachineByRisingNameAndFindsThemByThatAlone) {
  const PmuCatalogue catalogue = catalogue_of(roots_of("arm_biglittle"));

  std::vector<std::string> names;
  for (const Pmu& pmu : catalogue.pmus()) names.push_back(pmu.name);

  EXPECT_THAT(names, ElementsAre("armv8_cortex_a53", "armv8_cortex_a72", "breakpoint", "software",
                                 "tracepoint"));
  for (const char* other : {"armv8_cortex", "cortex_a53", "armv8_cortex_*", ""}) {
    EXPECT_EQ(catalogue.find(other), nullptr) << other;
  }
}

TEST(PmuCatalogueTest, KnowsTheCorePmusOfEveryMachine) {
  for (const auto& [machine, core_pmus] : {std::pair{"intel_client", "cpu"},
                                           {"intel_hybrid", "cpu_atom cpu_core"},
                                           {"intel_server", "cpu"},
                                           {"amd_zen", "cpu"},
                                           {"arm_neoverse", "armv8_pmuv3_0"},
                                           {"arm_biglittle", "armv8_cortex_a53 armv8_cortex_a72"},
                                           {"ibm_power10", "cpu"},
                                           {"apple_m1", "apple_firestorm_pmu apple_icestorm_pmu"},
                                           {"ibm_z16", "cpum_cf"}}) {
    EXPECT_EQ(names_of(catalogue_of(roots_of(machine)).core_pmus()), core_pmus) << machine;
  }
}

/// More patterns are in resolved.txt.
TEST(PmuCatalogueTest, MatchesWhatAnOperatorMeans) {
  constexpr const char* kImcs = "uncore_imc_0 uncore_imc_1 uncore_imc_2";
  struct Row {
    const char* machine;
    const char* pattern;
    const char* matches;
  };
  const Row rows[] = {
      {"intel_server", "imc", kImcs},
      {"intel_server", "uncore_imc_*", kImcs},
      {"intel_server", "uncore_upi_?", "uncore_upi_0 uncore_upi_1 uncore_upi_2"},
      {"intel_server", "*_upi_0", "uncore_upi_0"},
      {"intel_server", "iio_free_running", "uncore_iio_free_running_0"},
      {"intel_server", "uncore_iio*", "uncore_iio_0 uncore_iio_free_running_0"},
      {"intel_server", "imc_*", ""},
      {"intel_server", "imc_", ""},
      {"intel_server", "uncore_im", ""},
      {"intel_server", "uncore", ""},
      {"intel_server", "uncore_imc_8", ""},
      {"intel_server", "UNCORE_IMC", ""},
      {"intel_server", "", ""},
      {"intel_server", "[", ""},
      {"intel_client", "?pu", "cpu"},
      {"intel_hybrid", "cpu", "cpu_atom cpu_core"},
      {"intel_hybrid", "?pu", ""},
      {"intel_client", "cpu", "cpu"},
      {"arm_biglittle", "cpu", ""},
      {"intel_hybrid", "cpu_*", "cpu_atom cpu_core"},
      {"intel_hybrid", "imc_free_running", "uncore_imc_free_running_0 uncore_imc_free_running_1"},
      {"intel_hybrid", "uncore_imc", ""},
      {"amd_zen", "amd_l3", "amd_l3"},
      {"amd_zen", "l3", ""},
      {"arm_biglittle", "armv8_cortex", ""},
  };

  for (const Row& row : rows) {
    const PmuCatalogue catalogue = catalogue_of(roots_of(row.machine));

    EXPECT_EQ(names_of(catalogue.matching(row.pattern)), row.matches)
        << row.machine << " '" << row.pattern << "'";
  }
}

TEST(PmuCatalogueTest, KnowsTheFormatsOfAPmu) {
  struct Row {
    const char* machine;
    const char* pmu;
    const char* term;
    FormatField field;
  };
  const Row rows[] = {
      {"intel_client", "cpu", "in_tx_cp", {0, {{33, 33}}}},
      {"intel_client", "uprobe", "ref_ctr_offset", {0, {{32, 63}}}},
      {"intel_hybrid", "cpu_core", "frontend", {1, {{0, 23}}}},
      {"intel_server", "uncore_iio_0", "thresh", {0, {{24, 35}}}},
      {"amd_zen", "amd_df", "event", {0, {{0, 7}, {32, 35}, {59, 60}}}},
      {"arm_neoverse", "arm_spe_0", "ts_enable", {0, {{0, 0}}}},  // ends with two line breaks
  };

  for (const Row& row : rows) {
    EXPECT_THAT(pmu_of(row.machine, row.pmu).formats, Contains(Pair(row.term, row.field)))
        << row.machine << " " << row.pmu;
  }
  EXPECT_THAT(pmu_of("intel_hybrid", "cpu_atom").formats, Not(Contains(Key("frontend"))));
}

TEST(PmuCatalogueTest, KnowsTheEventsOfAPmuWithWhatOneCountIsWorth) {
  struct Row {
    const char* machine;
    const char* pmu;
    const char* event;
    PmuNamedEvent means;
  };
  constexpr double kJoules = 0x1p-32;
  const Row rows[] = {
      {"intel_client", "power", "energy-psys", {"event=0x05", kJoules, "Joules", false}},
      {"intel_client", "msr", "cpu_thermal_margin", {"event=0x07", 1, "C", true}},
      {"intel_hybrid", "cpu_atom", "topdown-retiring", {"event=0xc2,umask=0x0", 1, "", false}},
      {"intel_hybrid", "cpu_core", "topdown-retiring", {"event=0x00,umask=0x80", 1, "", false}},
      {"arm_neoverse",
       "arm_cmn_0",
       "watchpoint_up",
       {"type=0x7770,eventid=0x0,wp_dev_sel=?,wp_chn_sel=?,wp_grp=?,wp_val=?,wp_mask=?", 1, "",
        false}},
  };

  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.machine) + " " + row.event);
    const PmuNamedEvent event = pmu_of(row.machine, row.pmu).events[row.event];

    EXPECT_EQ(event.terms, row.means.terms);
    EXPECT_EQ(event.scale, row.means.scale);
    EXPECT_EQ(event.unit, row.means.unit);
    EXPECT_EQ(event.is_snapshot, row.means.is_snapshot);
  }
}

TEST(PmuCatalogueTest, HasAFormatForEveryTermOfEveryEvent) {
  for (const char* machine : kMachines) {
    const PmuCatalogue catalogue = catalogue_of(roots_of(machine));
    for (const Pmu& pmu : catalogue.pmus()) {
      for (const auto& [name, event] : pmu.events) {
        for (const std::string_view term : split(event.terms, ',')) {
          const std::string key{term.substr(0, term.find('='))};
          EXPECT_TRUE(key == "config" || pmu.formats.count(key) == 1)
              << machine << " " << pmu.name << "/" << name << "/: " << key;
        }
      }
    }
  }
}

TEST(PmuCatalogueTest, UnderstandsEveryFileOfTheMachines) {
  namespace fs = std::filesystem;
  for (const char* machine : kMachines) {
    for (const fs::directory_entry& folder :
         fs::directory_iterator(roots_of(machine).event_sources())) {
      const Pmu pmu = pmu_of(machine, folder.path().filename());
      if (!fs::exists(folder.path() / "format")) continue;
      for (const fs::directory_entry& file : fs::directory_iterator(folder.path() / "format")) {
        EXPECT_TRUE(pmu.formats.contains(file.path().filename())) << file.path();
      }
    }
  }
}

TEST(PmuCatalogueTest, KnowsHowLongAGroupKeepsThePmu) {
  const PmuCatalogue catalogue = catalogue_of(roots_of("intel_client"));

  EXPECT_EQ(catalogue.find("cpu")->mux_interval_ms, 4u);
  EXPECT_EQ(catalogue.find("power")->mux_interval_ms, std::nullopt);
}

// Trees that no machine of ours has

TEST(PmuCatalogueTest, TakesNoFileNextToAnEventForAnEvent) {
  const test::TempTree tree{{"bus/event_source/devices/a/type", "8\n"},
                            {"bus/event_source/devices/a/events/x", "event=0x1"},
                            {"bus/event_source/devices/a/events/x.scale", "0.5"},
                            {"bus/event_source/devices/a/events/x.unit", "Joules"},
                            {"bus/event_source/devices/a/events/x.snapshot", "0"},
                            {"bus/event_source/devices/a/events/x.per-pkg", "1"},
                            {"bus/event_source/devices/a/events/x.y", "event=0x2\n"}};

  const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

  const auto& events = catalogue.find("a")->events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events.at("x").scale, 0.5);
  EXPECT_EQ(events.at("x").unit, "Joules");
  EXPECT_FALSE(events.at("x").is_snapshot);
  EXPECT_EQ(events.at("x.y").terms, "event=0x2");
}

TEST(PmuCatalogueTest, LeavesOutAPmuThatHasNoType) {
  const test::TempTree tree{{"bus/event_source/devices/none/"},
                            {"bus/event_source/devices/empty/type", "\n"},
                            {"bus/event_source/devices/word/type", "four\n"},
                            {"bus/event_source/devices/negative/type", "-1\n"},
                            {"bus/event_source/devices/large/type", "4294967296\n"},
                            {"bus/event_source/devices/file", "8\n"},
                            {"bus/event_source/devices/good/type", "4294967295\n"}};

  const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

  ASSERT_EQ(catalogue.pmus().size(), 1u);
  EXPECT_EQ(catalogue.pmus()[0].name, "good");
  EXPECT_EQ(catalogue.pmus()[0].type, 4294967295u);
}

TEST(PmuCatalogueTest, LeavesOutWhatItDoesNotUnderstandAndKeepsTheRest) {
  const test::TempTree tree{{"bus/event_source/devices/a/type", "8\n"},
                            {"bus/event_source/devices/a/cpumask", "all\n"},
                            {"bus/event_source/devices/a/perf_event_mux_interval_ms", "soon\n"},
                            {"bus/event_source/devices/a/format/new", "config7:0-7\n"},
                            {"bus/event_source/devices/a/format/folder/"},
                            {"bus/event_source/devices/a/format/event", "config:0-7\n"},
                            {"bus/event_source/devices/a/events/empty", "\n"},
                            {"bus/event_source/devices/a/events/folder/"},
                            {"bus/event_source/devices/a/events/x", "event=0x1\n"}};

  const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

  const Pmu& pmu = *catalogue.find("a");
  EXPECT_EQ(pmu.kind, PmuKind::kUncore);
  EXPECT_THAT(pmu.cpus, IsEmpty());
  EXPECT_EQ(pmu.mux_interval_ms, std::nullopt);
  EXPECT_EQ(pmu.formats.size(), 1u);
  EXPECT_EQ(pmu.events.size(), 1u);
}

double scale_read_from(const char* content) {
  const test::TempTree tree{{"bus/event_source/devices/a/type", "8\n"},
                            {"bus/event_source/devices/a/events/x", "event=0x1"},
                            {"bus/event_source/devices/a/events/x.scale", content}};
  return catalogue_of(below(tree.root())).find("a")->events.at("x").scale;
}

TEST(PmuCatalogueTest, AnEventWhoseScaleIsNoPositiveNumberHasNone) {
  for (const char* scale : {"", "\n", "two", "0", "-1", "+-1", "1,5", "1 2", "0x10", "1e999", "inf",
                            "nan", "++1", "1e"}) {
    EXPECT_EQ(scale_read_from(scale), 0) << "'" << scale << "'";
  }
}

TEST(PmuCatalogueTest, ReadsScalesToTheLastDigit) {
  EXPECT_EQ(scale_read_from("2.3283064365386962890625e-10"), 0x1p-32);
  EXPECT_EQ(scale_read_from("6.103515625e-5\n"), 6.103515625e-5);
  EXPECT_EQ(scale_read_from("4"), 4);
  EXPECT_EQ(scale_read_from("+4"), 4);
  EXPECT_EQ(scale_read_from(" 4\t\n"), 4);
  EXPECT_EQ(scale_read_from("0.1"), 0.1);
  EXPECT_EQ(scale_read_from("1e-9\n\n"), 1e-9);
}

TEST(PmuCatalogueTest, FollowsTheLinksThatSysfsIsMadeOf) {
  const test::TempTree tree{{"devices/msr/type", "9\n"}, {"bus/event_source/devices/"}};
  std::filesystem::create_symlink("../../../devices/msr",
                                  tree.path("bus/event_source/devices/msr"));

  const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

  ASSERT_NE(catalogue.find("msr"), nullptr);
  EXPECT_EQ(catalogue.find("msr")->type, 9u);
}

TEST(PmuCatalogueTest, ReadsNoMoreThanABoundedNumberOfEvents) {
  test::TempTree tree{{"bus/event_source/devices/a/type", "8\n"}};
  for (int i = 0; i < 4200; ++i) {
    tree.write("bus/event_source/devices/a/events/e" + std::to_string(i), "event=0x1");
  }

  const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

  EXPECT_EQ(catalogue.find("a")->events.size(), 4096u);
}

TEST(PmuCatalogueTest, IsEmptyWhereThereAreNoPmus) {
  for (const char* sysfs : {"bus/event_source/devices/", "devices/"}) {
    const test::TempTree tree{{sysfs}};

    const PmuCatalogue catalogue = catalogue_of(below(tree.root()));

    EXPECT_TRUE(catalogue.pmus().empty()) << sysfs;
    EXPECT_THAT(catalogue.core_pmus(), IsEmpty()) << sysfs;
  }
}

TEST(PmuCatalogueTest, NamesTheOptionToSetWhenTheFolderCannotBeRead) {
  const test::TempTree tree{{"bus/event_source/devices", "not a folder"}};

  const Result<PmuCatalogue> catalogue = PmuCatalogue::read(below(tree.root()));

  ASSERT_THAT(catalogue, FailsWith(ENOTDIR));
  EXPECT_THAT(catalogue.error().attempted, HasSubstr(tree.path("bus/event_source/devices")));
  EXPECT_THAT(catalogue.error().remedy.text(), HasSubstr("HostRoots"));
}

TEST(PmuCatalogueTest, KnowsThePmusOfThisMachine) {
  const Result<PmuCatalogue> catalogue = PmuCatalogue::read({});

  ASSERT_TRUE(catalogue) << describe(catalogue.error());
  ASSERT_NE(catalogue->find("software"), nullptr);
  EXPECT_EQ(catalogue->find("software")->type, 1u);
}

// CPUs of now

TEST(ReadPmuCpusTest, AreThoseOfNow) {
  test::TempTree tree{{"bus/event_source/devices/a/cpumask", "0\n"}};
  ASSERT_THAT(read_pmu_cpus(below(tree.root()), "a"), Holds(ElementsAre(0)));

  tree.write("bus/event_source/devices/a/cpumask", "1\n");

  EXPECT_THAT(read_pmu_cpus(below(tree.root()), "a"), Holds(ElementsAre(1)));
}

TEST(PmuCatalogueTest, IsNotReadWherePartsOfItCannotBeForLackOfDescriptors) {
  Result<PmuCatalogue> catalogue{PmuCatalogue{}};
  if (!test::without_files([&] { catalogue = PmuCatalogue::read(roots_of("intel_client")); })) {
    GTEST_SKIP() << "no seccomp filter is allowed here: NOT tested";
  }

  ASSERT_THAT(catalogue, FailsWith(EMFILE));
  EXPECT_THAT(catalogue.error().remedy.text(), HasSubstr("RLIMIT_NOFILE"));
}

TEST(ReadPmuCpusTest, AreRatherThoseOfCpusThanOfCpumask) {
  const test::TempTree tree{{"bus/event_source/devices/a/cpus", "0-3\n"},
                            {"bus/event_source/devices/a/cpumask", "0\n"}};

  EXPECT_THAT(read_pmu_cpus(below(tree.root()), "a"), Holds(ElementsAre(0, 1, 2, 3)));
}

TEST(ReadPmuCpusTest, MayBeNone) {
  for (const char* none : {"\n", "-1\n"}) {
    const test::TempTree tree{{"bus/event_source/devices/a/cpumask", none}};

    EXPECT_THAT(read_pmu_cpus(below(tree.root()), "a"), Holds(IsEmpty())) << none;
  }
}

TEST(ReadPmuCpusTest, FailWithTheFileAndARemedyWhenThePmuHasGone) {
  const test::TempTree tree{{"bus/event_source/devices/"}};

  const Result<std::vector<int>> cpus = read_pmu_cpus(below(tree.root()), "i915");

  ASSERT_THAT(cpus, FailsWith(ENOENT));
  EXPECT_THAT(cpus.error().attempted, HasSubstr("'i915'"));
  EXPECT_THAT(cpus.error().attempted,
              HasSubstr(tree.path("bus/event_source/devices/i915/cpumask")));
  EXPECT_THAT(cpus.error().remedy.text(), HasSubstr("load the driver"));
}

TEST(ReadPmuCpusTest, AreNeverGuessed) {
  const test::TempTree tree{{"bus/event_source/devices/a/cpus", "all\n"},
                            {"bus/event_source/devices/a/cpumask", "0\n"}};

  const Result<std::vector<int>> cpus = read_pmu_cpus(below(tree.root()), "a");

  ASSERT_THAT(cpus, FailsWith(EINVAL));
  EXPECT_THAT(cpus.error().attempted, HasSubstr(tree.path("bus/event_source/devices/a/cpus")));
  EXPECT_FALSE(cpus.error().remedy.empty());
}

TEST(PmuNameTest, LosesTheNumbersAndAddressesOfAnInstance) {
  struct Row {
    const char* pmu;
    const char* kind;
  };
  const Row rows[] = {{"hisi_sccl1_ddrc0", "hisi_sccl_ddrc"},
                      {"hisi_sicl2_cpa0", "hisi_sicl_cpa"},
                      {"hisi_sccl1_l3c0", "hisi_sccl_l3c"},
                      {"nvidia_nvlink_c2c0_pmu_0", "nvidia_nvlink_c2c_pmu"},
                      {"uncore_ccpi2_0", "uncore_ccpi2"},
                      {"i915_0000_03_00.0", "i915"},
                      {"xe_0000_00_02.0", "xe"},
                      {"xe_0000_af_00.0", "xe"},
                      {"i915_0000_4d_00.0", "i915"},
                      {"arm_smmuv3_pmcg_3f062", "arm_smmuv3_pmcg"},
                      {"marvell_cn10k_ddr_pmu_87e1c0000000", "marvell_cn10k_ddr_pmu"},
                      {"dwc_rootport_100018", "dwc_rootport"},
                      {"nvidia_pcie_pmu_0_rc_4", "nvidia_pcie_pmu_rc"},
                      {"cxl_pmu_mem0.0", "cxl_pmu_mem"},
                      {"qcom_l3cache_0_0", "qcom_l3cache"},
                      {"nest_mcs01_imc", "nest_mcs_imc"},
                      {"hns3_pmu_sicl_0", "hns3_pmu_sicl"},
                      {"imx8_ddr0", "imx8_ddr"},
                      {"uncore_pcie4_1", "uncore_pcie4"},
                      {"uncore_type_2_1", "uncore_type"},
                      {"hv_24x7", "hv_24x7"},
                      {"amd_l3", "amd_l3"},
                      {"uncore_imc_free_running", "uncore_imc_free_running"},
                      {"power_core", "power_core"},
                      {"915", "915"},
                      {"", ""}};
  for (const Row& row : rows) EXPECT_EQ(without_instance(row.pmu), row.kind) << row.pmu;
}

TEST(PmuNameTest, LosesItsNumberAndNothingElse) {
  EXPECT_EQ(without_number("uncore_imc_3"), "uncore_imc");
  EXPECT_EQ(without_number("uncore_imc_12"), "uncore_imc");
  EXPECT_EQ(without_number("uncore_imc"), "uncore_imc");
  EXPECT_EQ(without_number("uncore_imc_"), "uncore_imc_");
  EXPECT_EQ(without_number("uncore_imc_1a"), "uncore_imc_1a");
  EXPECT_EQ(without_number("uncore_imc_1_2"), "uncore_imc_1");
  EXPECT_EQ(without_number("armv8_cortex_a53"), "armv8_cortex_a53");
  EXPECT_EQ(without_number("amd_l3"), "amd_l3");
  EXPECT_EQ(without_number("i915"), "i915");
  EXPECT_EQ(without_number("915"), "915");
  EXPECT_EQ(without_number("_3"), "_3");
  EXPECT_EQ(without_number(""), "");
}

}  // namespace
}  // namespace pmu_test
}  // namespace pex::events
