#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "config/load.h"
#include "support/marked_text.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "yaml/file.h"

namespace pex::config::errors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;

const std::string kTopLevelRemedy =
    "the keys here are: requires, revision, enabled, collection, cpus, pmu, groups, cgroups, "
    "kubernetes, evidence, truth_check, guests, openmetrics, limits";

/// All that a configuration needs.
const std::string kOneGroup = "groups: [{name: a, events: [x], scope: cpu}]\n";

/// "e0, e1, ..."
std::string events(int count) {
  std::string list = "e0";
  for (int i = 1; i < count; ++i) list += ", e" + std::to_string(i);
  return list;
}

/// A file whose one group has this list of events.
std::string with_events(const std::string& list) {
  return "groups: [{name: a, scope: cpu, events: " + list + "}]\n";
}

/// A file whose one group has these keys besides.
std::string with_keys(const std::string& keys) {
  return "groups: [{name: a, events: [x], scope: cpu, " + keys + "}]\n";
}

std::string with_rule(const std::string& rule) { return "cgroups: {labels: [" + rule + "]}\n"; }

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<std::string> messages(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) all.push_back(describe(error));
  return all;
}

const std::string kDurationRemedy = "write a duration from 100ms to 1h, for example 500ms or 1m30s";
const std::string kOneLineRemedy =
    "write each text on one line or below '>-', and items and keys in the column of those above";
const std::string kUnseenRemedy = "remove it, or write an ordinary blank in its place";
const std::string kSyntaxRemedy =
    "check the indentation, which takes no tabs, and the brackets and quotes here and above; put "
    "text with special characters in quotes";
const std::string kAliasRemedy =
    "put text that starts with '*' or '&' in quotes; or write the value itself: aliases are not "
    "followed";
const std::string kNoGroupsRemedy =
    "add 'groups: [{name: core, events: [cycles, instructions], scope: cpu}]'";
const std::string kFlagRemedy = "write true or false";
const std::string kPathRemedy = "write a path, for example /system.slice/*.service";
const std::string kWholePathRemedy =
    "write the whole path below the cgroup mount, for example /system.slice/*.service; a regular "
    "expression starts with re:";
const std::string kLabelRemedy =
    "use 1 to 128 of a-z, A-Z, 0-9 and '_', the first not a digit, and not '__' at the beginning";
const std::string kBracesRemedy =
    "put text in braces in quotes, for example \"{cycles,instructions}:u\", and no ':' after an "
    "event";
const std::string kControlRemedy = "remove it; a text file contains none but tabs and line breaks";
const std::string kGroupNameRemedy =
    "use 1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter";
const std::string kUnitRemedy =
    "write events, seconds, joules or bytes; 'scale' is how many of them one count is worth";
const std::string kLimitsRemedy =
    "the keys here are: max_open_events, max_series, opens_per_second, max_cgroup_directories, "
    "label_length; write at least one as 'key: value', or remove limits";
const std::string kEvidenceRemedy =
    "the keys here are: cgroups, variance, reference; write at least one as 'key: value', or "
    "remove evidence";

/// What an operator may write, with a '^' before what is wrong in it, and the only thing said about
/// it.
struct ErrorRow {
  std::string name;
  std::string yaml;
  std::string error;
  std::string remedy;
};

/// A key, as it is written before and behind its value.
struct Key {
  std::string before;
  std::string behind;
  std::string path;
  std::string remedy;
};
const Key kInterval = {"collection: {interval: ", "}\n", "collection.interval", kDurationRemedy};
const Key kMax = {"cgroups: {max: ", "}\n", "cgroups.max",
                  "write a whole number from 0 to 100000, in plain digits"};
const Key kScale = {"groups: [{name: a, scope: cpu, events: [{event: x, scale: ", "}]}]\n",
                    "groups[0].events[0].scale",
                    "write a number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"};

ErrorRow refused(const std::string& name, const Key& key, const std::string& value,
                 const std::string& why) {
  return {name, key.before + "^" + value + key.behind, key.path + ": '" + value + "' " + why,
          key.remedy};
}

/// Files as a whole.
const std::vector<ErrorRow> kFiles = {
    // What the file is as a whole.
    {"NothingAtAll", "^", "no groups: nothing would be counted", kNoGroupsRemedy},
    {"OnlyComments",
     "^# nothing yet\n"
     "\n"
     "  # still nothing\n",
     "no groups: nothing would be counted", kNoGroupsRemedy},
    {"OnlyADocumentMark", "---\n^", "no groups: nothing would be counted", kNoGroupsRemedy},
    {"AnEmptyMap", "^{}\n", "no groups: nothing would be counted", kNoGroupsRemedy},
    {"NoGroups", "^collection: {interval: 1s}\n", "no groups: nothing would be counted",
     kNoGroupsRemedy},
    {"AnEmptyListOfGroups", "groups: ^[]\n", "groups: no groups: nothing would be counted",
     kNoGroupsRemedy},
    {"GroupsWithoutAValue", "^groups:\n", "groups: the value is missing",
     "write a list, for example [{name: core, events: [cycles, instructions], scope: cpu}]"},
    {"AListAtTheTop", "^- name: core\n", "found a list where a map of keys is expected",
     kTopLevelRemedy},
    {"AWordAtTheTop", "^core\n", "found the text 'core' where a map of keys is expected",
     kTopLevelRemedy},
    {"Utf16", std::string("^\xff\xfeg\0", 5), "the byte 0xff is not UTF-8",
     "save the file as UTF-8 text"},
    // Keys.
    {"AMisspelledKeyThatIsNeeded", "groups: [{name: a, ^event: [x], scope: cpu}]\n",
     "groups[0].event: unknown key", "did you mean 'events'?"},
    {"AMisspelledKeyForTheGroups", "^grups: [{name: a, events: [x], scope: cpu}]\n",
     "grups: unknown key", "did you mean 'groups'?"},
    {"AMisspelledScopeBesideAnAggregate",
     "groups: [{name: a, events: [x], scope: [^cup, cgroup], aggregate: cpu}]\n",
     "groups[0].scope[0]: 'cup' is not a scope", "write cpu, cgroup or [cpu, cgroup]"},
    {"AWrongNameOfAnEventThatIsThereTwice", with_events("[x, {event: x, name: ^[]}]"),
     "groups[0].events[1].name: found a list where a name is expected",
     "write a name, for example llc_misses"},
    // Values of the wrong kind.
    {"AWordForAGroup", "groups: [^core]\n",
     "groups[0]: found the text 'core' where a map of keys is expected",
     "the keys here are: name, events, scope, when, optional, cpus, aggregate, weak, pinned, "
     "exclusive, estimator, duty_cycle, exclude_user, exclude_kernel, exclude_hypervisor, "
     "exclude_idle, exclude_host, exclude_guest, inherit; write at least one as 'key: value', or "
     "remove groups[0]"},
    {"AMapOfGroups", "groups: ^{core: [cycles]}\n",
     "groups: found a map where a list of groups is expected",
     "write a list, for example [{name: core, events: [cycles, instructions], scope: cpu}]"},
    {"AListForAName", "groups: [{name: ^[a], events: [x], scope: cpu}]\n",
     "groups[0].name: found a list where a name is expected", "write a name, for example core"},
    // Numbers and flags.
    {"YesForAFlag", "groups: [{name: a, events: [x], scope: cpu, pinned: ^yes}]\n",
     "groups[0].pinned: 'yes' is not true or false", kFlagRemedy},
    {"AFlagInQuotes", "groups: [{name: a, events: [x], scope: cpu, pinned: ^'true'}]\n",
     "groups[0].pinned: found the text 'true' in quotes where true or false is expected",
     "write true or false, without quotes"},
    // Groups.
    {"AGroupWithoutAName",
     "groups:\n"
     "  - ^events: [x]\n"
     "    scope: cpu\n",
     "groups[0]: the group has no name", "add a name to it, for example 'name: core'"},
    {"AGroupWithoutEvents",
     "groups:\n"
     "  - ^name: a\n"
     "    scope: cpu\n",
     "groups[0]: the group has no events",
     "add a list of them, for example 'events: [cycles, instructions]'"},
    {"AGroupWithoutAScope",
     "groups:\n"
     "  - ^name: a\n"
     "    events: [x]\n",
     "groups[0]: the group has no scope", "add 'scope: cpu', cgroup or [cpu, cgroup]"},
    {"ANameInCapitals", "groups: [{name: ^Core, events: [x], scope: cpu}]\n",
     "groups[0].name: 'Core' is not a name", kGroupNameRemedy},
    {"ANameThatStartsWithADigit", "groups: [{name: ^1st, events: [x], scope: cpu}]\n",
     "groups[0].name: '1st' is not a name", kGroupNameRemedy},
    {"ANameOf65Letters",
     "groups: [{name: ^" + std::string(65, 'a') + ", events: [x], scope: cpu}]\n",
     "groups[0].name: '" + std::string(60, 'a') + "...' is not a name", kGroupNameRemedy},
    {"TwoGroupsOfOneName",
     "groups:\n"
     "  - {name: a, events: [x], scope: cpu}\n"
     "  - {name: ^a, events: [y], scope: cpu}\n",
     "groups[1].name: 'a' is repeated, first on line 2 column 12", "give each group a unique name"},
    {"AGroupWithNoEvents", "groups: [{name: a, events: ^[], scope: cpu}]\n",
     "groups[0].events: a group of 0 events",
     "list 1 to 64 events; more of them go into further groups"},
    {"AGroupOf65Events", "groups: [{name: a, scope: cpu, events: ^[" + events(65) + "]}]\n",
     "groups[0].events: a group of 65 events",
     "list 1 to 64 events; more of them go into further groups"},
    {"AnEmptyEvent", "groups: [{name: a, events: [x, ^' '], scope: cpu}]\n",
     "groups[0].events[1]: the event is empty", "name one, or remove it"},
    {"AnEventTwice", "groups: [{name: a, events: [x, y, ^x], scope: cpu}]\n",
     "groups[0].events[2]: 'x' is repeated, first on line 1 column 29", "remove one of the two"},
    {"AnEventOfTwoLines", "groups: [{name: a, events: [^\"x\\ny\"], scope: cpu}]\n",
     "groups[0].events[0]: 'x\\ny' contains a control character",
     "write an event, for example cycles"},
    {"AMisspelledScope", "groups: [{name: a, events: [x], scope: ^cgroups}]\n",
     "groups[0].scope: 'cgroups' is not a scope", "did you mean 'cgroup'?"},
    {"AnUnknownScope", "groups: [{name: a, events: [x], scope: [cpu, ^core]}]\n",
     "groups[0].scope[1]: 'core' is not a scope", "write cpu, cgroup or [cpu, cgroup]"},
    {"AScopeTwice", "groups: [{name: a, events: [x], scope: [cpu, ^cpu]}]\n",
     "groups[0].scope[1]: 'cpu' is repeated, first on line 1 column 41", "remove one of the two"},
    {"NoScopeInTheList", "groups: [{name: a, events: [x], scope: ^[]}]\n",
     "groups[0].scope: no scope: it would count nowhere", "write cpu, cgroup or both"},
    {"AMapForAScope", "groups: [{name: a, events: [x], scope: ^{cpu: true}}]\n",
     "groups[0].scope: found a map where cpu, cgroup or a list of both is expected",
     "write cpu, cgroup or [cpu, cgroup]"},
    // Events that are maps, or braces.
    {"AMapWithoutAnEvent", with_events("[^{name: b}]"),
     "groups[0].events[0]: the event itself is missing", "add it, for example 'event: cycles'"},
    {"AnEventOfNothing", with_events("[{^event: , name: b}]"),
     "groups[0].events[0].event: the value is missing", "write an event, for example cycles"},
    {"AnEmptyMapForAnEvent", with_events("[^{}]"),
     "groups[0].events[0]: the event itself is missing", "add it, for example 'event: cycles'"},
    {"AListForAnEvent", with_events("[^[x]]"),
     "groups[0].events[0]: found a list where an event is expected",
     "write an event, for example cycles"},
    {"AMapForEvents", with_events("^{event: x}"),
     "groups[0].events: found a map where a list of events is expected",
     "write a list, for example [cycles, instructions]"},
    {"AMapForTheEventOfAMap", with_events("[{event: ^{event: x}}]"),
     "groups[0].events[0].event: found a map where an event is expected",
     "write an event, for example cycles"},
    {"AnEventTwiceInTwoForms", with_events("[x, {event: ^x, unit: bytes}]"),
     "groups[0].events[1].event: 'x' is repeated, first on line 1 column 41",
     "remove one of the two"},
    {"AnEmptyTextForEvents", with_events("^''"), "groups[0].events: the event is empty",
     "name one, or remove it"},
    {"EventsWithoutAValue", "groups: [{name: a, scope: cpu, ^events: }]\n",
     "groups[0].events: the value is missing", "write a list, for example [cycles, instructions]"},
    {"AnUnknownKeyOfAnEvent", with_events("[{event: x, ^metric: b}]"),
     "groups[0].events[0].metric: unknown key",
     "the keys here are: event, name, help, unit, scale, filter"},
    {"AMisspelledKeyOfAnEvent", with_events("[{event: x, ^scales: 2}]"),
     "groups[0].events[0].scales: unknown key", "did you mean 'scale'?"},
    {"ACommaInAnEventOfAMap", with_events("[{event: cpu/event=0x3c,^umask=0x1/}]"),
     "groups[0].events[0].'umask=0x1/': unknown key",
     "the keys here are: event, name, help, unit, scale, filter; put text that contains ',' in "
     "quotes"},
    {"ACommaInAnEventOfAList", with_events("[cycles, ^cpu/event=0x3c,umask=0x1/u, faults]"),
     "groups[0].events[1]: the event is divided at its comma",
     "put text that contains ',' in quotes: \"cpu/event=0x3c,umask=0x1/u\""},
    {"BracesWithoutQuotes", with_events("[^{cycles,instructions}]"),
     "groups[0].events[0]: found a map where an event is expected", kBracesRemedy},
    {"BracesWithoutQuotesForEvents", with_events("^{cycles,instructions}"),
     "groups[0].events: found a map where an event is expected", kBracesRemedy},
    {"BracesAndAModifierWithoutQuotes", with_events("[^{cycles,instructions}:u]"),
     "groups[0].events[0]: found a map where an event is expected", kBracesRemedy},
    {"BracesAndAModifierWithoutQuotesInABlock",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events: {cycles,instructions}^:u\n",
     "not YAML: end of map not found", kSyntaxRemedy},
    {"AColonBehindAnEvent",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events:\n"
     "      - ^cycles:\n"
     "      - instructions\n",
     "groups[0].events[0]: found a map where an event is expected", kBracesRemedy},
    {"AnEmptyNameOfAnEvent", with_events("[{event: x, name: ^' '}]"),
     "groups[0].events[0].name: the name is empty", "write one, or remove the key"},
    {"ANameOfAnEventThatIsMissing", with_events("[{event: x, ^name: }]"),
     "groups[0].events[0].name: the value is missing", "write a name, for example llc_misses"},
    {"ANameOfAnEventWithoutALetter", with_events("[{event: x, name: ^'-_ß'}]"),
     "groups[0].events[0].name: '-_ß' has no letter or digit that a metric's name can keep",
     "use some of a-z and 0-9"},
    {"ANameOfAnEventOf129Characters",
     with_events("[{event: x, name: ^" + std::string(129, 'n') + "}]"),
     "groups[0].events[0].name: the name is 129 characters long", "write at most 128"},
    {"ANameOfAnEventThatBreaksALine", with_events("[{event: x, name: ^\"a\\nb\"}]"),
     "groups[0].events[0].name: 'a\\nb' contains a control character",
     "write a name, for example llc_misses"},
    {"AnEmptyHelp", with_events("[{event: x, help: ^''}]"),
     "groups[0].events[0].help: the help is empty", "write one, or remove the key"},
    {"AHelpOf513Characters", with_events("[{event: x, help: ^" + std::string(513, 'h') + "}]"),
     "groups[0].events[0].help: the help is 513 characters long", "write at most 512"},
    {"AHelpOfTwoLines",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events:\n"
     "      - event: x\n"
     "        help: ^|\n"
     "          One.\n"
     "          Two.\n",
     "groups[0].events[0].help: 'One.\\nTwo.' runs over more than one line", kOneLineRemedy},
    {"AMisspelledUnit", with_events("[{event: x, unit: ^byte}]"),
     "groups[0].events[0].unit: 'byte' is not a unit", "did you mean 'bytes'?"},
    {"AMultipleOfAUnit", with_events("[{event: x, unit: ^MiB}]"),
     "groups[0].events[0].unit: 'MiB' is not a unit", kUnitRemedy},
    {"AListForAUnit", with_events("[{event: x, unit: ^[bytes]}]"),
     "groups[0].events[0].unit: found a list where a unit is expected", kUnitRemedy},
    {"AnEmptyFilter", with_events("[{event: x, filter: ^\"\"}]"),
     "groups[0].events[0].filter: the filter is empty", "write one, or remove the key"},
    {"AFilterOf4096Characters",
     with_events("[{event: x, filter: ^" + std::string(4096, 'f') + "}]"),
     "groups[0].events[0].filter: the filter is 4096 characters long", "write at most 4095"},
    // Decimal numbers.
    refused("AScaleOfZero", kScale, "0.0", "is out of range"),
    refused("ANegativeScale", kScale, "-0.5", "is negative"),
    refused("AScaleAboveItsRange", kScale, "1.1e18", "is out of range"),
    refused("AScaleBelowItsRange", kScale, "9e-19", "is out of range"),
    refused("AScaleBeyondAllBounds", kScale, "1e400", "is out of range"),
    refused("AScaleTooSmallForADouble", kScale, "1e-400", "is out of range"),
    refused("AnInfiniteScale", kScale, "inf", "is not a number"),
    refused("AScaleThatIsNoNumber", kScale, "nan", "is not a number"),
    refused("AScaleWithoutADigitBeforeThePoint", kScale, ".5", "is not a plain number"),
    refused("AScaleWithASign", kScale, "+2", "is not a plain number"),
    refused("AScaleWithAUnit", kScale, "64B", "is not a plain number"),
    refused("AScaleThatIsAFormula", kScale, "1/2", "is not a plain number"),
    refused("AScaleWithTwoPoints", kScale, "1.000.000", "is not a plain number"),
    refused("AScaleWithoutItsExponent", kScale, "6e", "is not a plain number"),
    refused("AScaleWithAnUnderscore", kScale, "1_000", "has separators between its digits"),
    refused("AnOctalScale", kScale, "010", "would be octal to YAML"),
    refused("AHexadecimalScale", kScale, "0x1p3", "is hexadecimal"),
    {"AScaleInQuotes", with_events("[{event: x, scale: ^'64'}]"),
     "groups[0].events[0].scale: found the text '64' in quotes where a number is expected",
     "write a number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5, without quotes"},
    {"AScaleWithoutAValue", with_events("[{event: x, ^scale: }]"),
     "groups[0].events[0].scale: the value is missing",
     "write a number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    // Groups as a whole.
    {"AWhenThatIsNoMap", with_keys("when: ^GenuineIntel"),
     "groups[0].when: found the text 'GenuineIntel' where a map of keys is expected",
     "the keys here are: vendor, cpus, virtual, pmu, kernel; write at least one as 'key: value', "
     "or remove groups[0].when"},
    {"AWhenWithoutConditions", with_keys("when: ^{}"), "groups[0].when: no condition",
     "write one, for example {virtual: false}, or remove the key"},
    {"AnUnknownCondition", with_keys("when: {^arch: x86}"), "groups[0].when.arch: unknown key",
     "the keys here are: vendor, cpus, virtual, pmu, kernel"},
    {"AVendorTwice", with_keys("when: {vendor: [ARM, ^ARM]}"),
     "groups[0].when.vendor[1]: 'ARM' is repeated, first on line 1 column 61",
     "remove one of the two"},
    {"AnEmptyListOfVendors", with_keys("when: {vendor: ^[]}"),
     "groups[0].when.vendor: a list of 0 vendors", "list 1 to 16"},
    {"AnEmptyVendor", with_keys("when: {vendor: ^''}"),
     "groups[0].when.vendor: found a text of 0 bytes where a vendor or a list of them is expected",
     "write the label vendor of perf_machine_info, for example GenuineIntel or [GenuineIntel, "
     "AuthenticAMD]"},
    {"NoCpus", with_keys("when: {cpus: ^0}"), "groups[0].when.cpus: '0' is not a number of CPUs",
     "write the least number, for example 8, or a range such as 8-64"},
    {"ARangeOfCpusThatEndsBeforeItBegins", with_keys("when: {cpus: ^8-4}"),
     "groups[0].when.cpus: '8-4' is not a number of CPUs",
     "write the least number, for example 8, or a range such as 8-64"},
    {"AVirtualThatIsNoFlag", with_keys("when: {virtual: ^kvm}"),
     "groups[0].when.virtual: 'kvm' is not true or false", kFlagRemedy},
    {"AKernelThatIsNoVersion", with_keys("when: {kernel: ^5.x}"),
     "groups[0].when.kernel: '5.x' is not a version of Linux",
     "write the oldest one with the group, for example 5.13"},
    {"AKernelOfFourNumbers", with_keys("when: {kernel: ^5.13.1.2}"),
     "groups[0].when.kernel: '5.13.1.2' is not a version of Linux",
     "write the oldest one with the group, for example 5.13"},
    {"AnOptionalThatIsNoFlag", with_keys("optional: ^yes"),
     "groups[0].optional: 'yes' is not true or false", kFlagRemedy},
    {"AMisspelledAggregate", with_keys("aggregate: ^packages"),
     "groups[0].aggregate: 'packages' is not a part of the machine", "did you mean 'package'?"},
    {"AnUnknownAggregate", with_keys("aggregate: ^socket"),
     "groups[0].aggregate: 'socket' is not a part of the machine",
     "write cpu, core, die, package, numa_node or host"},
    {"AListForAnAggregate", with_keys("aggregate: ^[core]"),
     "groups[0].aggregate: found a list where a part of the machine is expected",
     "write cpu, core, die, package, numa_node or host"},
    {"AnAggregateOfCgroups", "groups: [{name: a, aggregate: ^cpu, events: [x], scope: cgroup}]\n",
     "groups[0].aggregate: aggregate applies to scope cpu, which this group does not have",
     "remove it, or write 'scope: [cpu, cgroup]'"},
    {"NoForAFlag", with_keys("weak: ^no"), "groups[0].weak: 'no' is not true or false",
     kFlagRemedy},
    {"AMisspelledFlag", with_keys("^exclude_hypervizor: true"),
     "groups[0].exclude_hypervizor: unknown key", "did you mean 'exclude_hypervisor'?"},
    {"NoModeLeft",
     "groups:\n"
     "  - name: a\n"
     "    events: [x]\n"
     "    exclude_hypervisor: true\n"
     "    exclude_kernel: true\n"
     "    exclude_user: ^true\n"
     "    scope: cpu\n",
     "groups[0].exclude_user: together, exclude_user, exclude_kernel and exclude_hypervisor leave "
     "nothing to count",
     "remove one of them"},
    {"NeitherHostNorGuest", with_keys("exclude_host: true, exclude_guest: ^true"),
     "groups[0].exclude_guest: together, exclude_host and exclude_guest leave nothing to count",
     "remove one of them"},
    {"AMisspelledEstimator", with_keys("estimator: ^refrence"),
     "groups[0].estimator: 'refrence' is not an estimator", "did you mean 'reference'?"},
    {"AnUnknownEstimator", with_keys("estimator: ^cycles"),
     "groups[0].estimator: 'cycles' is not an estimator", "write auto, time or reference"},
    {"AListForAnEstimator", with_keys("estimator: ^[auto]"),
     "groups[0].estimator: found a list where an estimator is expected",
     "write auto, time or reference"},
    {"AnEstimatorThatIsMissing", with_keys("^estimator: "),
     "groups[0].estimator: the value is missing", "write auto, time or reference"},
    {"AnEstimatorOfAPinnedGroup", with_keys("pinned: true, estimator: ^time"),
     "groups[0].estimator: a pinned group is never multiplexed, so there is nothing to estimate",
     "remove it, or write 'pinned: false'"},
    {"AnEstimatorBeforeItsGroupIsPinned", with_keys("estimator: ^reference, pinned: true"),
     "groups[0].estimator: a pinned group is never multiplexed, so there is nothing to estimate",
     "remove it, or write 'pinned: false'"},
    {"InheritedCounters", with_keys("inherit: ^true"),
     "groups[0].inherit: inherit is for the counters of a task, and a CPU or cgroup counts all its "
     "tasks",
     "remove it"},
    {"InheritThatIsNotAFlag", with_keys("inherit: ^1"),
     "groups[0].inherit: '1' is not true or false", kFlagRemedy},
    {"ADutyCycleOfAWord", with_keys("duty_cycle: ^10s"),
     "groups[0].duty_cycle: found the text '10s' where a map of keys is expected",
     "the keys here are: on, every; write at least one as 'key: value', or remove "
     "groups[0].duty_cycle"},
    {"ADutyCycleWithoutItsLength", with_keys("duty_cycle: ^{on: 10s}"),
     "groups[0].duty_cycle: the duty cycle does not say how long it is",
     "write for example 'duty_cycle: {on: 10s, every: 60s}'"},
    {"ADutyCycleThatNeverCounts", with_keys("duty_cycle: {on: ^0s, every: 60s}"),
     "groups[0].duty_cycle.on: '0s' is out of range",
     "write a duration from 1s to 59s, for example 5s"},
    {"ADutyCycleThatIsLongerThanWhatCanBeEstimated", with_keys("duty_cycle: {on: 10s, every: ^5m}"),
     "groups[0].duty_cycle.every: '5m' is out of range",
     "write a duration from 2s to 1m, for example 5s"},
    {"ADutyCycleThatAlwaysCounts", with_keys("duty_cycle: ^{on: 10s, every: 10s}"),
     "groups[0].duty_cycle: the group would count for 10s in every 10s, which is all the time",
     "shorten 'on', or remove duty_cycle"},
    {"ADutyCycleBetweenTwoPolls",
     with_keys("duty_cycle: ^{on: 9s, every: 1m}") + "collection: {interval: 5s}\n",
     "groups[0].duty_cycle: the group counts for 9s at a time, and is read every 5s",
     "write at least two intervals for 'on', or shorten collection.interval"},
    // Text that is not YAML.
    {"ABracketThatIsNotClosed",
     "groups:\n"
     "  - name: a\n"
     "    events: [cycles, instructions\n"
     "    scope^: cpu\n",
     "not YAML: end of sequence flow not found", kSyntaxRemedy},
    {"AnUnknownDirective",
     "^%YAML 9.9\n"
     "---\n",
     "not YAML: YAML major version too large", kSyntaxRemedy},
};

/// What follows one group that is as it should be.
const std::vector<ErrorRow> kBelowAGroup = {
    // What the file is as a whole.
    {"TwoDocuments",
     "^---\n"
     "collection: {interval: 5}\n",
     "a second document starts here", "keep one, and remove the '---' between"},
    {"TextBehindTheDocument",
     "...\n^"
     "{}\n",
     "this does not belong to anything above", "correct the indentation, or remove it"},
    {"ACommaAmongKeys", "^, \n", "not YAML: end of map not found", kSyntaxRemedy},
    {"ANulByte",
     kOneGroup + std::string("colle^\0"
                             "ction: 1\n",
                             16),
     "the control character 0x00", kControlRemedy},
    {"AnEscapeSequence", "# ^\x1b[31m\n", "the control character 0x1b", kControlRemedy},
    {"ALoneCarriageReturn", "cgroups: {max: 1}^\x0dlimits: {}\n", "the control character 0x0d",
     kControlRemedy},
    {"Latin1",
     "# Gr^\xf6\xdf"
     "e\n",
     "the byte 0xf6 is not UTF-8", "save the file as UTF-8 text"},
    {"AnOverlongCharacter", "# ^\xc0\xaf\n", "the byte 0xc0 is not UTF-8",
     "save the file as UTF-8 text"},
    {"ASurrogate", "# ^\xed\xa0\x80\n", "the byte 0xed is not UTF-8",
     "save the file as UTF-8 text"},
    // Keys.
    {"AMisspelledKey", "collection: {^intervall: 1s}\n", "collection.intervall: unknown key",
     "did you mean 'interval'?"},
    {"AnUnknownKey", "collection: {^period: 1s}\n", "collection.period: unknown key",
     "the keys here are: interval, max_age"},
    {"AKeyOfAnotherMap", "^interval: 1s\n", "interval: unknown key",
     "it is a key of 'collection': write it there"},
    {"AKeyOfOneOfTwoOtherMaps", "^max: 5\n", "max: unknown key",
     "it is a key of 'cgroups' or 'cgroups.sums[]': write it there"},
    {"AnUnknownKeyAtTheTop", "^web: {}\n", "web: unknown key", kTopLevelRemedy},
    {"AMergeKey", "^<<: {limits: 5}\n", "'<<': unknown key", kTopLevelRemedy},
    {"AKeyWithBlanks", "^'max series': 5\n", "'max series': unknown key", kTopLevelRemedy},
    {"AnEmptyKey", "^'': 5\n", "'': unknown key", kTopLevelRemedy},
    {"AKeyOfManyLines", "^\"a\\nb\": 5\n", "'a\\nb': unknown key", kTopLevelRemedy},
    {"AVeryLongKey", "^" + std::string(100, 'k') + ": 5\n",
     std::string(60, 'k') + "...: unknown key", kTopLevelRemedy},
    {"AListAsAKey",
     "? ^[x]\n"
     ": y\n",
     "a key that is not a plain word", kTopLevelRemedy},
    {"NoKeyBeforeTheColon", "^: y\n", "a key that is not a plain word", kTopLevelRemedy},
    {"ADuplicateKey",
     "collection:\n"
     "  interval: 1s\n"
     "  ^interval: 2s\n",
     "collection.interval: 'interval' is repeated, first on line 3 column 3",
     "keep one of the two"},
    {"ADuplicateKeyAtTheTop", "^groups: []\n",
     "groups: 'groups' is repeated, first on line 1 column 1", "keep one of the two"},
    // Values of the wrong kind.
    {"AListForADuration", "collection: {interval: ^[1s]}\n",
     "collection.interval: found a list where a duration is expected", kDurationRemedy},
    {"AMapForADuration", "collection: {interval: ^{s: 1}}\n",
     "collection.interval: found a map where a duration is expected", kDurationRemedy},
    {"AWordForAMap", "limits: ^5\n", "limits: found the text '5' where a map of keys is expected",
     kLimitsRemedy},
    {"AListForAMap", "limits: ^[5]\n", "limits: found a list where a map of keys is expected",
     kLimitsRemedy},
    {"AWordForAList", "cgroups: {include: ^/a}\n",
     "cgroups.include: found the text '/a' where a list of paths is expected",
     "write a list, for example [/system.slice/*.service]"},
    {"NoInterval",
     "collection:\n"
     "  ^interval:\n"
     "limits: {max_series: 5}\n",
     "collection.interval: the value is missing", kDurationRemedy},
    {"ANullForANumber", "limits: {^max_series: ~}\n", "limits.max_series: the value is missing",
     "write a whole number from 1 to 10000000"},
    {"AllKeysCommentedOut",
     "^cgroups:\n"
     "  # max: 5\n"
     "limits: {max_series: 5}\n",
     "cgroups: the value is missing",
     "the keys here are: include, exclude, nesting, helpers, max, per_cpu, linger, close_after, "
     "open_after, source, records_buffer, labels, sums, container_names, series; write at least "
     "one as 'key: value', or remove cgroups"},
    {"AnEmptyItem",
     "cgroups:\n"
     "  include:\n"
     "    - /a\n"
     "    ^-\n"
     "    # - /b\n"
     "    - /c\n",
     "cgroups.include[1]: the value is missing", kPathRemedy},
    {"AnEmptyItemAtTheEnd",
     "cgroups:\n"
     "  include:\n"
     "    - /a\n"
     "    ^-\n"
     "\n"
     "limits: {max_series: 5}\n",
     "cgroups.include[1]: the value is missing", kPathRemedy},
    {"ACommaTooMany", "cgroups: {include: [/a, ^, /b]}\n",
     "cgroups.include[1]: the value is missing", kPathRemedy},
    {"AnAlias",
     "collection: {interval: &i 1s}\n"
     "cgroups: {linger: ^*i}\n",
     "cgroups.linger: this is a YAML alias", "write the value itself; aliases are not followed"},
    {"ATextThatGoesOnInTheNextLine",
     "cgroups:\n"
     "  include:\n"
     "    - ^/a\n"
     "      /b\n",
     "cgroups.include[0]: '/a /b' runs over more than one line", kOneLineRemedy},
    {"ANoBreakSpaceAsIndentation",
     "limits:\n^\xc2\xa0\xc2\xa0"
     "max_series: 5\n",
     "the invisible character U+00A0 (a no-break space)", kUnseenRemedy},
    {"ANoBreakSpaceBehindAColon",
     "limits:\n  max_series:^\xc2\xa0"
     "5\n",
     "the invisible character U+00A0 (a no-break space)", kUnseenRemedy},
    {"AByteOrderMarkBehindTheStart",
     "^\xef\xbb\xbf"
     "limits: {}\n",
     "the invisible character U+FEFF (a byte order mark)", kUnseenRemedy},
    {"ATextWithAnInvisibleCharacter", "cgroups: {include: [^\"/a\xe2\x80\x8b*\"]}\n",
     "cgroups.include[0]: '/a\\u200b*' contains a control character", kPathRemedy},
    {"HalfASurrogatePair", "cgroups: {include: [\"/a\\ud83d^\"]}\n", "not YAML: invalid unicode",
     "write the character itself; or, as JSON does, the escapes of both its surrogates"},
    {"AnItemIndentedTooFar",
     "cgroups:\n"
     "  include:\n"
     "    - ^/a\n"
     "     - /b\n",
     "cgroups.include[0]: '/a - /b' runs over more than one line", kOneLineRemedy},
    {"NoBlankAfterTheColon", "limits: {^max_series:5}\n", "limits.'max_series:5': unknown key",
     "did you mean 'max_series'?"},
    {"ATag", "collection: {interval: ^!go 1s}\n",
     "collection.interval: the YAML tag '!go' is not supported", "remove the tag"},
    // Durations.
    {"ADurationWithoutUnit",
     "collection:\n"
     "  interval: ^5\n",
     "collection.interval: '5' has no unit", kDurationRemedy},
    refused("ANegativeDuration", kInterval, "-1s", "is not a duration"),
    refused("ABlankBeforeTheUnit", kInterval, "5 s", "is not a duration"),
    refused("AnUnknownUnit", kInterval, "10sec", "is not a duration"),
    refused("AUnitInCapitals", kInterval, "10S", "is not a duration"),
    refused("AWordForADuration", kInterval, "often", "is not a duration"),
    {"AnEmptyDuration", "collection: {interval: ^''}\n",
     "collection.interval: '' is not a duration", kDurationRemedy},
    refused("ADurationBelowItsRange", kInterval, "99ms", "is out of range"),
    {"ADurationAboveItsRange", "cgroups: {linger: ^61m}\n", "cgroups.linger: '61m' is out of range",
     "write a duration from 0s to 1h, for example 500ms or 1m30s"},
    {"ADurationBeyondAllBounds", "cgroups: {linger: ^99999999999999999999h}\n",
     "cgroups.linger: '99999999999999999999h' is not a duration",
     "write a duration from 0s to 1h, for example 500ms or 1m30s"},
    // Numbers and flags.
    refused("AnOctalNumber", kMax, "010", "would be octal to YAML"),
    refused("AModernOctalNumber", kMax, "0o10", "would be octal to YAML"),
    refused("AHexadecimalNumber", kMax, "0x10", "is hexadecimal"),
    refused("ANegativeNumber", kMax, "-5", "is negative"),
    refused("AFraction", kMax, "1.5", "is not a whole number"),
    refused("AnUnderscore", kMax, "1_000", "has separators between its digits"),
    refused("ASign", kMax, "+5", "is not in plain digits"),
    refused("AnInfinity", kMax, ".inf", "is not a number"),
    refused("AWordForANumber", kMax, "many", "is not a number"),
    {"ANumberInQuotes", "cgroups: {max: ^'5'}\n",
     "cgroups.max: found the text '5' in quotes where a number is expected",
     "write a whole number from 0 to 100000, without quotes"},
    {"ANumberAboveItsRange", "cgroups: {max: ^100001}\n", "cgroups.max: '100001' is out of range",
     "write a whole number from 0 to 100000"},
    {"AWordForANumberOfCounters", "limits: {max_open_events: ^many}\n",
     "limits.max_open_events: 'many' is neither auto nor a number",
     "write auto, or a whole number from 1 to 10000000"},
    {"ANegativeNumberOfCounters", "limits: {max_open_events: ^-1}\n",
     "limits.max_open_events: '-1' is negative",
     "write auto, or a whole number from 1 to 10000000, in plain digits"},
    {"ABrokenNumberOfCounters", "limits: {max_open_events: ^1.5}\n",
     "limits.max_open_events: '1.5' is not a whole number",
     "write auto, or a whole number from 1 to 10000000, in plain digits"},
    {"ANumberBelowItsRange", "limits: {max_open_events: ^0}\n",
     "limits.max_open_events: '0' is out of range",
     "write auto, or a whole number from 1 to 10000000"},
    {"ANumberBeyondAllBounds", "limits: {max_series: ^18446744073709551616}\n",
     "limits.max_series: '18446744073709551616' is out of range",
     "write a whole number from 1 to 10000000"},
    // Sums of cgroups.
    {"ASumWithoutAName", "cgroups: {sums: [^{by: [unit]}]}\n",
     "cgroups.sums[0]: the sum has no name", "add one, for example 'name: workload'"},
    {"ASumWithoutLabels", "cgroups: {sums: [^{name: w}]}\n",
     "cgroups.sums[0]: the sum has no labels",
     "add them, for example 'by: [namespace, container]', or 'by: []' for one sum of all cgroups"},
    {"ASumByOneLabelThatIsNoList", "cgroups: {sums: [{name: w, by: ^unit}]}\n",
     "cgroups.sums[0].by: found the text 'unit' where a list of labels is expected",
     "write a list, for example [namespace, container]"},
    {"ANameThatIsNoPartOfAMetric", "cgroups: {sums: [{name: ^my-sum, by: [unit]}]}\n",
     "cgroups.sums[0].name: 'my-sum' is not the name of a sum",
     "use 1 to 64 of a-z, 0-9 and '_', the first a letter"},
    {"ALabelOfASumTwice", "cgroups: {sums: [{name: w, by: [unit, ^unit]}]}\n",
     "cgroups.sums[0].by[1]: label 'unit' is there twice", "remove one of them"},
    {"ASumThatIsIdleForASecond", "cgroups: {sums: [{name: w, by: [unit], idle: ^1s}]}\n",
     "cgroups.sums[0].idle: '1s' is out of range",
     "write a duration from 1m to 168h, for example 1m30s or 30m"},
    {"SumsThatAreAMap", "cgroups: {sums: ^{name: w}}\n",
     "cgroups.sums: found a map where a list of sums is expected",
     "write a list, for example [{name: workload, by: [namespace, container]}]"},
    {"SeriesOfSomeCgroups", "cgroups: {series: ^some}\n",
     "cgroups.series: 'some' is not a choice of series", "write folded, each or none"},
    {"ANumberForTheTruthCheck", "truth_check: ^17\n", "truth_check: '17' is not a switch",
     "write on or off"},
    // Evidence.
    {"EvidenceOfAll", "evidence: {cgroups: ^all}\n",
     "evidence.cgroups: 'all' is not a choice of evidence", "write each, sum or none"},
    {"AMisspelledKeyOfEvidence", "evidence: {^references: true}\n",
     "evidence.references: unknown key", "did you mean 'reference'?"},
    {"AnUnknownKeyOfEvidence", "evidence: {^observed: true}\n", "evidence.observed: unknown key",
     "the keys here are: cgroups, variance, reference"},
    {"AFlagForEvidence", "evidence: ^true\n",
     "evidence: found the text 'true' where a map of keys is expected", kEvidenceRemedy},
    {"AListOfEvidence", "evidence: ^[variance]\n",
     "evidence: found a list where a map of keys is expected", kEvidenceRemedy},
    {"OnForAFlagOfEvidence", "evidence: {variance: ^on}\n",
     "evidence.variance: 'on' is not true or false", kFlagRemedy},
    {"EvidenceOfOneKindTwice", "evidence: {variance: true, ^variance: false}\n",
     "evidence.variance: 'variance' is repeated, first on line 2 column 12", "keep one of the two"},
    // Paths of cgroups.
    {"APathWithoutASlash", "cgroups: {include: [^system.slice/*.service]}\n",
     "cgroups.include[0]: 'system.slice/*.service' does not start with '/'", kWholePathRemedy},
    {"AnEmptyPath", "cgroups: {exclude: [^'']}\n", "cgroups.exclude[0]: '' does not start with '/'",
     kWholePathRemedy},
    {"APathWithAnEscapeSequence", "cgroups: {include: [^\"/a\\e[31m\\u202e\"]}\n",
     "cgroups.include[0]: '/a\\x1b[31m\\u202e' contains a control character", kPathRemedy},
    {"AVeryLongPath", "cgroups: {include: [^/" + std::string(1024, 'a') + "]}\n",
     "cgroups.include[0]: the pattern is 1025 bytes long", "write at most 1024"},
    {"TooManyPaths", "cgroups: {exclude: ^[" + repeated("/a, ", 257) + "]}\n",
     "cgroups.exclude: 257 patterns", "list at most 256"},
    {"AnEscapeOfARegularExpressionInDoubleQuotes", "cgroups: {include: [\"re:/a\\.^b\"]}\n",
     "not YAML: unknown escape character", kSyntaxRemedy},
    // What is counted of nested cgroups, and how.
    {"AnUnknownSource", "cgroups: {source: ^bpf}\n",
     "cgroups.source: 'bpf' is not a source of counts", "write auto, records or descriptors"},
    {"ABufferThatIsNoSize", "cgroups: {records_buffer: ^plenty}\n",
     "cgroups.records_buffer: 'plenty' is not the size of a buffer",
     "write a power of two, for example 256KiB"},
    {"AnUnknownNesting", "cgroups: {nesting: ^v2}\n",
     "cgroups.nesting: 'v2' is not a value for nested cgroups", "write leaves or all"},
    {"AMisspelledNesting", "cgroups: {nesting: ^leave}\n",
     "cgroups.nesting: 'leave' is not a value for nested cgroups", "did you mean 'leaves'?"},
    {"ANumberOfHelpers", "cgroups: {helpers: ^1}\n", "cgroups.helpers: '1' is not true or false",
     kFlagRemedy},
    {"YesForPerCpu", "cgroups: {per_cpu: ^yes}\n", "cgroups.per_cpu: 'yes' is not true or false",
     kFlagRemedy},
    {"NoOpensPerSecond", "limits: {opens_per_second: ^0}\n",
     "limits.opens_per_second: '0' is out of range", "write a whole number from 1 to 10000000"},
    // Labels of cgroups.
    {"ARuleInPlaceOfAList", "cgroups: {labels: ^{match: /a, set: {x: y}}}\n",
     "cgroups.labels: found a map where a list of rules is expected",
     "write a list, for example [{match: /system.slice/*, set: {team: web}}]"},
    {"TooManyRules", "cgroups: {labels: ^[" + repeated("{match: /a, set: {x: y}}, ", 65) + "]}\n",
     "cgroups.labels: 65 rules", "list at most 64"},
    {"ARuleWithoutMatch", with_rule("^{set: {x: y}}"), "cgroups.labels[0]: the rule has no match",
     "add the cgroups it is for, for example 'match: /system.slice/*'"},
    {"ARuleWithoutSet", with_rule("^{match: /a}"), "cgroups.labels[0]: the rule sets nothing",
     "add labels, for example 'set: {team: web}'"},
    {"ARuleThatSetsNoLabel", with_rule("{match: /a, set: ^{}}"),
     "cgroups.labels[0].set: found an empty map where a map of labels is expected",
     "write a map, for example {team: web}"},
    {"ARuleThatSetsTooManyLabels",
     with_rule("{match: /a, set: ^{a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x, j: x, k: "
               "x, l: x, m: x, n: x, o: x, p: x, q: x}}"),
     "cgroups.labels[0].set: 17 labels in one rule",
     "set at most 16; more of them go into further rules"},
    {"AnUnknownKeyOfARule", with_rule("{match: /a, set: {x: y}, ^sets: {}}"),
     "cgroups.labels[0].sets: unknown key", "did you mean 'set'?"},
    {"AListOfLabels", with_rule("{match: /a, set: ^[x]}"),
     "cgroups.labels[0].set: found a list where a map of labels is expected",
     "write a map, for example {team: web}"},
    {"ARuleForNoPath", with_rule("{match: ^a, set: {x: y}}"),
     "cgroups.labels[0].match: 'a' does not start with '/'", kWholePathRemedy},
    {"AListOfPathsForARule", with_rule("{match: ^[/a], set: {x: y}}"),
     "cgroups.labels[0].match: found a list where a path is expected", kPathRemedy},
    {"ALabelWithADash", with_rule("{match: /a, set: {^my-team: y}}"),
     "cgroups.labels[0].set.my-team: 'my-team' is not a label name", kLabelRemedy},
    {"ALabelThatStartsWithADigit", with_rule("{match: /a, set: {^2nd: y}}"),
     "cgroups.labels[0].set.2nd: '2nd' is not a label name", kLabelRemedy},
    {"ALabelOfPrometheus", with_rule("{match: /a, set: {^__name__: y}}"),
     "cgroups.labels[0].set.__name__: '__name__' starts with '__', which is reserved for "
     "Prometheus",
     kLabelRemedy},
    {"AnEmptyLabel", with_rule("{match: /a, set: {^'': y}}"),
     "cgroups.labels[0].set.'': '' is not a label name", kLabelRemedy},
    {"ALabelOfManyLines", with_rule("{match: /a, set: {^\"a\\nb\": y}}"),
     "cgroups.labels[0].set.'a\\nb': 'a\\nb' contains a control character",
     "write a name, for example team"},
    {"AListAsALabel", with_rule("{match: /a, set: {^[x]: y}}"),
     "cgroups.labels[0].set: a key that is not a plain word",
     "write a map, for example {team: web}"},
    {"AVeryLongLabel", with_rule("{match: /a, set: {? ^" + std::string(129, 'n') + " : y}}"),
     "cgroups.labels[0].set." + std::string(60, 'n') + "...: '" + std::string(60, 'n') +
         "...' is not a label name",
     kLabelRemedy},
    {"OneLabelTwice", with_rule("{match: /a, set: {x: y, ^x: z}}"),
     "cgroups.labels[0].set.x: 'x' is repeated, first on line 2 column 38", "keep one of the two"},
    {"ALabelWithoutAValue", with_rule("{match: /a, set: {^x: }}"),
     "cgroups.labels[0].set.x: the value is missing", "write a text, for example web or $1"},
    {"ALabelWithAnEmptyValue", with_rule("{match: /a, set: {x: ^''}}"),
     "cgroups.labels[0].set.x: the value is empty, which sets nothing",
     "write one, or remove the label"},
    {"AVeryLongValue", with_rule("{match: /a, set: {x: ^" + std::string(257, 'v') + "}}"),
     "cgroups.labels[0].set.x: the value is 257 bytes long", "write at most 256"},
    // Kubernetes.
    {"AnUnknownSourceOfNames", "kubernetes: {metadata: ^api}\n",
     "kubernetes.metadata: 'api' is not a source of pod names", "write none or log_links"},
    {"ASourceOfNamesWithADash", "kubernetes: {metadata: ^log-links}\n",
     "kubernetes.metadata: 'log-links' is not a source of pod names", "did you mean 'log_links'?"},
    {"ARelativeDirectory", "kubernetes: {log_links: ^containers}\n",
     "kubernetes.log_links: 'containers' does not start with '/'",
     "write its whole path, for example /var/log/containers"},
    {"AVeryLongDirectory", "kubernetes: {log_links: ^/" + std::string(4095, 'd') + "}\n",
     "kubernetes.log_links: the path is 4096 bytes long", "write at most 4095"},
    {"AVeryLongRevision", "revision: ^" + std::string(129, 'r') + "\n",
     "revision: the revision is 129 bytes long", "write at most 128"},
    // Text that is not YAML.
    {"ATabAsIndentation",
     "collection:\n"
     "\x09interval^: 1s\n",
     "not YAML: illegal map value", kSyntaxRemedy},
    {"ATabAfterBlanks",
     "collection:\n"
     "  interval: 1s\n"
     " ^\x09"
     "foo: 1\n",
     "not YAML: illegal tab when looking for indentation", kSyntaxRemedy},
    {"IndentationThatFitsNothing",
     "cgroups:\n"
     "    max: 5\n"
     "  ^linger: 5s\n",
     "not YAML: end of map not found", kSyntaxRemedy},
    {"TooMuchIndentation",
     "cgroups:\n"
     "  max: 5\n"
     "    linger^: 5s\n",
     "not YAML: illegal map value", kSyntaxRemedy},
    {"AListItemAmongKeys",
     "cgroups:\n"
     "  max: 5\n"
     "  ^- /a\n",
     "not YAML: end of map not found", kSyntaxRemedy},
    {"TwoColons", "collection: interval^: 1s\n", "not YAML: illegal map value", kSyntaxRemedy},
    {"ABraceThatIsNotClosed",
     "limits: {max_series: 5\n"
     "cgroups^: {max: 5}\n",
     "not YAML: end of map flow not found", kSyntaxRemedy},
    {"ABracketThatClosesNothing", "cgroups: {include: [/a]^]}\n", "not YAML: illegal flow end",
     kSyntaxRemedy},
    {"AQuoteThatIsNotClosed",
     "cgroups:\n"
     "  include:\n"
     "    - ^\"/a\n",
     "not YAML: this quote is never closed", kSyntaxRemedy},
    {"ASingleQuoteThatIsNotClosed",
     "cgroups:\n"
     "  include:\n"
     "    - ^'/a''s\n",
     "not YAML: this quote is never closed", kSyntaxRemedy},
    {"AQuoteThatIsNotClosedOnTheLastLine",
     "cgroups:\n"
     "  max: 5\n"
     "  include: [/a]\n"
     "  exclude: ['/b^",
     "not YAML: illegal EOF in scalar", kSyntaxRemedy},
    {"ADocumentMarkInAQuote",
     "cgroups:\n"
     "  exclude: ['/b]\n^"
     "---\n"
     "'",
     "not YAML: illegal document indicator in scalar", kSyntaxRemedy},
    {"TextBehindABracket", "limits: {max_series: 5} ^x\n", "not YAML: end of map not found",
     kSyntaxRemedy},
    {"NoCommaInAList", "cgroups: {include: [\"/a\" ^\"/b\"]}\n",
     "not YAML: end of sequence flow not found", kSyntaxRemedy},
    {"ATextThatStartsWithAnAtSign", "cgroups: {include: [^@a]}\n", "not YAML: unknown token",
     kSyntaxRemedy},
    {"ATextThatStartsWithAStar", "cgroups: {include: [^*.service]}\n",
     "not YAML: the referenced anchor is not defined", kAliasRemedy},
    {"AnAliasWithoutAName", "cgroups: {include: [*^ ]}\n", "not YAML: alias not found after *",
     kAliasRemedy},
    {"AnUnknownEscape", "cgroups: {include: [\"/a\\d^\"]}\n", "not YAML: unknown escape character",
     kSyntaxRemedy},
    {"TooManyBrackets", "limits: [[[[[[[[^[[[[[[[[[[[[",
     "not YAML: lists and maps are nested too deep", kSyntaxRemedy},
};

class ErrorsTest : public ::testing::TestWithParam<ErrorRow> {};

TEST_P(ErrorsTest, IsReportedAs) {
  const test::MarkedText file = test::marked(GetParam().yaml);

  const Loaded loaded = load_text(file.text, "c.yaml");

  EXPECT_THAT(messages(loaded), ElementsAre("c.yaml:" + file.place + ": " + GetParam().error +
                                            ". Remedy: " + GetParam().remedy));
}

// Remedies as an operator follows them: each is applied to the text that it is about.

/// A key with its value, or an item, in the text of a file.
struct Place {
  std::size_t begin;  ///< of the key or item
  std::size_t value;  ///< of the value, which may be empty; of an item `begin`
  std::size_t end;    ///< behind the value
};

/// Behind the scalar, list or map that begins at `at`.
std::size_t end_of_value(const std::string& text, std::size_t at) {
  std::size_t open = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '"' || c == '\'') && (i == at || open > 0)) {
      i = std::min(text.find(c, i + 1), text.size() - 1);
      if (open == 0) return i + 1;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      if (open <= 1) return open == 0 ? i : i + 1;
      --open;
    } else if (open == 0 && (c == '\n' || (c == ',' && i > at))) {
      return i;
    }
  }
  return text.size();
}

/// Behind the blanks and the list in the lines below, which are indented further.
std::size_t end_of_block(const std::string& text, std::size_t begin, std::size_t end) {
  const std::size_t indent = begin - (text.rfind('\n', begin) + 1);
  while (end < text.size() && text[end] == '\n') {
    const std::size_t first = text.find_first_not_of(" \n", end);
    if (first == std::string::npos) return text.size();
    const std::size_t column = first - (text.rfind('\n', first) + 1);
    if (column <= indent && !(column == indent && text[first] == '-')) return end;
    end = std::min(text.find('\n', first), text.size());
  }
  return end;
}

/// What is at `at`, a key, a value or an item.
Place place_at(const std::string& text, std::size_t at) {
  const std::size_t begin = text.find_last_of("{[,\n", at == 0 ? 0 : at - 1) + 1;
  const std::size_t first = std::min(text.find_first_not_of(" -", begin), at);
  const std::size_t colon = text.find(": ", first);
  const std::size_t line = text.find(":\n", first);
  const std::size_t end_of_key = std::min({colon, line, text.size()});
  const bool has_key =
      end_of_key < text.size() && text.find_first_of(",\n{}[]", first) > end_of_key;
  if (!has_key) return {at, at, end_of_value(text, at)};
  const std::size_t value =
      end_of_key == line ? line + 1 : text.find_first_not_of(' ', end_of_key + 1);
  return {first, value, end_of_block(text, first, end_of_value(text, value))};
}

std::string without(const std::string& text, const Place& place) {
  std::size_t begin = place.begin;
  std::size_t end = place.end;
  if (end < text.size() && text[end] == ',') {
    end = text.find_first_not_of(' ', end + 1);
  } else if (const std::size_t comma = text.find_last_not_of(' ', begin - 1);
             begin > 0 && comma != std::string::npos && text[comma] == ',') {
    begin = comma;
  } else if (const std::size_t dash = text.find_last_not_of(' ', begin - 1);
             begin > 0 && dash != std::string::npos && text[dash] == '-') {
    begin = dash;
  }
  return text.substr(0, begin) + text.substr(end);
}

/// What a remedy says to write, if it does: the first example, or else the first of some words.
std::string to_write(const std::string& remedy) {
  const auto behind = [&](std::string_view words) {
    const std::size_t at = remedy.find(words);
    return at == std::string::npos ? std::string() : remedy.substr(at + words.size());
  };
  std::string text = behind("for example ");
  if (text.empty() && remedy.starts_with("did you mean ")) text = behind("did you mean ");
  if (text.empty() && remedy.starts_with("write a whole number from ")) text = behind(" from ");
  if (text.empty() && remedy.starts_with("add ")) text = behind("add ");
  if (text.empty() && remedy.starts_with("write ")) text = behind("write ");
  if (text.starts_with('\'')) return text.substr(1, text.find('\'', 1) - 1);
  text = text.substr(0, end_of_value(text, 0));
  return text.starts_with('[') || text.starts_with('{') || text.starts_with('"')
             ? text
             : text.substr(0, text.find_first_of(" ,;"));
}

/// An error, and the file that has it.
struct Fault {
  std::string text;
  std::size_t at;
  std::string message;
  std::string remedy;

  std::string replaced(std::size_t begin, std::size_t end, const std::string& by) const {
    return text.substr(0, begin) + by + text.substr(end);
  }
  std::string with_value(const std::string& value) const {
    const Place place = place_at(text, at);
    const bool is_behind_colon = place.value > 0 && text[place.value - 1] == ':';
    return replaced(place.value, place.end, (is_behind_colon ? " " : "") + value);
  }
  std::string with_word(const std::string& word) const {
    std::size_t end = at;
    while (end < text.size() && std::string_view(",]}\n").find(text[end]) == std::string::npos &&
           (text[end] != ':' || std::string_view(" \n").find(text[end + 1]) == std::string::npos)) {
      ++end;
    }
    return replaced(at, end, word);
  }
};

using Follow = std::string (*)(const Fault&);

std::string write_it(const Fault& fault) {
  const std::string written = to_write(fault.remedy);
  const Place place = place_at(fault.text, fault.at);
  return written.find(": ") != std::string::npos && !written.starts_with('{')
             ? fault.replaced(place.begin, place.end, written)
             : fault.with_value(written);
}

std::string add_it(const Fault& fault) {
  const std::string written = to_write(fault.remedy);
  if (written.starts_with("groups")) return written + "\n";
  if (fault.text[fault.at] == '{')
    return fault.replaced(fault.at + 1, fault.at + 1, written + ", ");
  const std::size_t column = fault.at - (fault.text.rfind('\n', fault.at) + 1);
  return fault.replaced(fault.at, fault.at, written + "\n" + std::string(column, ' '));
}

std::string remove_entry(const Fault& fault) {
  return without(fault.text, place_at(fault.text, fault.at));
}

/// Everywhere.
std::string remove_character(const Fault& fault) {
  std::size_t end = fault.at + 1;
  while (end < fault.text.size() && (fault.text[end] & 0xc0) == 0x80) ++end;
  const std::string character = fault.text.substr(fault.at, end - fault.at);
  std::string text = fault.text;
  for (std::size_t at = 0; (at = text.find(character)) != std::string::npos;) {
    text.erase(at, character.size());
  }
  return text;
}

std::string save_as_text(const Fault& fault) {
  std::string text = fault.text;
  std::erase_if(text, [](char c) { return c <= 0; });
  return text;
}

std::string move_it(const Fault& fault) {
  const Place place = place_at(fault.text, fault.at);
  const std::size_t first = fault.remedy.find('\'') + 1;
  return without(fault.text, place) + "\n" +
         fault.remedy.substr(first, fault.remedy.find('\'', first) - first) + ": {" +
         fault.text.substr(place.begin, place.end - place.begin) + "}\n";
}

std::string keep_the_first(const Fault& fault) {
  const Place place = place_at(fault.text, fault.at);
  const std::string value = fault.text.substr(place.value, place.end - place.value);
  const std::size_t end = std::min(value.find(','), value.size() - 1);
  return fault.with_value(end == 1 ? "[x]" : value.substr(0, end) + value.back());
}

std::string shorten(const Fault& fault) {
  const std::string most = fault.remedy.substr(fault.remedy.find_first_of("0123456789"));
  return fault.with_value("\"" + std::string(std::stoul(most), 'a') + "\"");
}

/// The text is that of the file, in quotes.
std::string put_in_quotes(const Fault& fault) {
  const std::string quoted = fault.remedy.substr(fault.remedy.find('"'));
  const std::string plain = quoted.substr(1, quoted.size() - 2);
  const std::size_t begin = fault.text.find(plain);
  return begin == std::string::npos ? fault.text
                                    : fault.replaced(begin, begin + plain.size(), quoted);
}

/// How to follow a remedy that begins with these words; null: there is nothing to write that would
/// not be a guess of what its author meant. The first entry applies.
struct FollowEntry {
  std::string_view words;
  Follow follow;
  std::string_view of = {};  ///< in its error
};
constexpr FollowEntry kFollow[] = {
    {"", [](const Fault& fault) { return fault.with_word("ab"); },
     "a key that is not a plain word"},
    {"write a name", [](const Fault& fault) { return fault.with_word("ab"); },
     "contains a control character"},
    {"did you mean ", [](const Fault& fault) { return fault.with_word(to_write(fault.remedy)); }},
    {"write at most ", shorten},
    {"write the character itself", nullptr},
    {"write the value itself", nullptr},
    {"write each text on one line", nullptr},
    {"check the indentation", nullptr},
    {"correct the indentation", nullptr},
    {"put text that starts with '*'", nullptr},
    {"put text that contains ',' in quotes", put_in_quotes},
    {"write at least two intervals", nullptr},
    {"write ", write_it},
    {"put text in braces in quotes", write_it},
    {"add ", add_it},
    {"remove it; a text file", remove_character},
    {"remove it, or write an ordinary blank", remove_character},
    {"remove the tag", [](const Fault& fault) { return fault.with_value("1s"); }},
    {"remove ", remove_entry},
    {"name one, or remove it", remove_entry},
    {"keep one of the two", remove_entry},
    {"keep one, and remove the '---'",
     [](const Fault& fault) { return fault.replaced(fault.at, fault.at + 4, ""); }},
    {"the keys here are", remove_entry},
    {"it is a key of ", move_it},
    {"use ", [](const Fault& fault) { return fault.with_word("ab"); }},
    {"give each group a unique name", [](const Fault& fault) { return fault.with_word("ab"); }},
    {"list ", keep_the_first},
    {"set at most ", keep_the_first},
    {"save the file as UTF-8", save_as_text},
    {"shorten 'on', or remove duty_cycle", remove_entry},
};

std::size_t offset_of(const std::string& text, const yaml::Position& position) {
  std::size_t at = 0;
  for (int line = 1; line < position.line; ++line) at = text.find('\n', at) + 1;
  return at + static_cast<std::size_t>(position.column) - 1;
}

TEST_P(ErrorsTest, DoesNotReturnWhenItsRemedyIsFollowed) {
  const std::string text = test::marked(GetParam().yaml).text;
  const Loaded loaded = load_text(text, "c.yaml");
  const yaml::Diagnostic before = loaded.diagnostics.errors().at(0);
  const Fault fault{text, offset_of(text, before.position), before.message, before.remedy.text()};
  const auto* const entry =
      std::find_if(std::begin(kFollow), std::end(kFollow), [&](const FollowEntry& each) {
        return fault.remedy.starts_with(each.words) &&
               fault.message.find(each.of) != std::string::npos;
      });

  ASSERT_NE(entry, std::end(kFollow)) << "nobody has tried: " << fault.remedy;
  if (entry->follow == nullptr) return;
  const std::string after = entry->follow(fault);
  for (const yaml::Diagnostic& error : load_text(after, "c.yaml").diagnostics.errors()) {
    EXPECT_FALSE(error.message == before.message && error.position.key == before.position.key)
        << describe(before) << "\n"
        << text << "\nfollowed:\n"
        << after;
  }
}

std::vector<ErrorRow> below_a_group(std::vector<ErrorRow> rows) {
  for (ErrorRow& row : rows) row.yaml.insert(0, kOneGroup);
  return rows;
}

std::string name_of(const ::testing::TestParamInfo<ErrorRow>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(Files, ErrorsTest, ::testing::ValuesIn(kFiles), name_of);
INSTANTIATE_TEST_SUITE_P(BelowAGroup, ErrorsTest, ::testing::ValuesIn(below_a_group(kBelowAGroup)),
                         name_of);

/// A folder that everybody may enter, so that only the file itself can be what is refused.
class FileErrorsTest : public ::testing::Test {
 protected:
  FileErrorsTest() { ::chmod(tree_.root().c_str(), 0755); }

  std::string write(const std::string& content) {
    tree_.write("c.yaml", content);
    return tree_.path("c.yaml");
  }

  test::TempTree tree_;
};

/// What is said of the file, behind its path: "" if it can be read.
std::string why_unreadable(const std::string& path) {
  const Result<Loaded> loaded = load_file(path);
  if (loaded) return "";
  const std::string all = describe(loaded.error());
  const std::string start = "read the configuration '" + path + "'";
  return all.starts_with(start) ? all.substr(start.size()) : all;
}

TEST_F(FileErrorsTest, AnErrorInAFileNamesItsPath) {
  const std::string path = write(kOneGroup + "collection: {interval: 5}\n");

  EXPECT_THAT(messages(*load_file(path)),
              ElementsAre(path + ":2:24: collection.interval: '5' has no unit. Remedy: " +
                          kDurationRemedy));
}

TEST_F(FileErrorsTest, AMissingFileIsNamed) {
  EXPECT_EQ(why_unreadable(tree_.path("none.yaml")),
            ": No such file or directory (ENOENT). Remedy: create the file, or set another one "
            "with the configuration file");
}

TEST_F(FileErrorsTest, WithoutAFreeDescriptorTheLimitIsToBeRaised) {
  const std::string path = write(kOneGroup);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 0;

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string why = why_unreadable(path);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

  EXPECT_EQ(why,
            ": Too many open files (EMFILE). Remedy: raise the limit of open files of this process "
            "(ulimit -n)");
}

TEST_F(FileErrorsTest, ADirectoryIsNamed) {
  EXPECT_EQ(why_unreadable(tree_.root()),
            ": Is a directory (EISDIR). Remedy: name a file in this directory");
}

TEST_F(FileErrorsTest, AFileUsedAsADirectoryIsNamed) {
  EXPECT_EQ(why_unreadable(write("") + "/c.yaml"),
            ": Not a directory (ENOTDIR). Remedy: a part of this path is a file; correct the "
            "configuration file");
}

TEST_F(FileErrorsTest, AFileOf10MegabytesIsTooLarge) {
  EXPECT_EQ(why_unreadable(write(std::string(10'000'000, '#'))),
            ": File too large (EFBIG). Remedy: a configuration is 1 MiB at most; is this the right "
            "file?");
}

TEST_F(FileErrorsTest, AFifoIsRefusedAndNotWaitedFor) {
  const std::string path = tree_.path("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  EXPECT_EQ(why_unreadable(path),
            ", which is a FIFO or pipe: Invalid argument (EINVAL). Remedy: write its content into "
            "a regular file, and name that file");
}

TEST_F(FileErrorsTest, ADeviceIsRefused) {
  EXPECT_THAT(why_unreadable("/dev/zero"), testing::StartsWith(", which is a character device"));
}

TEST_F(FileErrorsTest, AFileOfExactlyTheLargestSizeIsRead) {
  std::string content = kOneGroup;
  content.resize(yaml::kMaxFileBytes, '#');

  const Result<Loaded> loaded = load_file(write(content));

  ASSERT_TRUE(loaded);
  EXPECT_THAT(messages(*loaded), ElementsAre());
}

TEST(TextErrorsTest, ATextOf10MegabytesIsTooLarge) {
  EXPECT_THAT(messages(load_text(std::string(10'000'000, '#'), "c.yaml")),
              ElementsAre("c.yaml: the text is too large. Remedy: a configuration is 1 MiB at "
                          "most; is this the right file?"));
}

/// In a process of its own, as somebody who may not read the file: root may read everything.
[[noreturn]] void print_error_as_nobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::seteuid(kNobody) != 0) std::_Exit(2);
  std::cerr << why_unreadable(path) << '\n';
  std::_Exit(0);
}

TEST_F(FileErrorsTest, AnUnreadableFileIsNamed) {
  const std::string path = write(kOneGroup);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);

  EXPECT_EXIT(print_error_as_nobody(path), ExitedWithCode(0),
              ::testing::StrEq(": Permission denied (EACCES). Remedy: let the user of this process "
                               "read the file and enter the directories above it\n"));
}

}  // namespace
}  // namespace pex::config::errors_test
