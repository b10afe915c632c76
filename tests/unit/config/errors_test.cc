#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "yaml/file.h"

namespace pex::config {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;

/// All that a configuration needs; it is one line, so what follows it starts on line 2.
const std::string kTopLevelKeys =
    "requires, revision, enabled, collection, cpus, pmu, groups, cgroups, kubernetes, evidence, "
    "truth_check, guests, "
    "openmetrics, limits";
const std::string kOneGroup = "groups: [{name: a, events: [x], scope: cpu}]\n";

/// "e0, e1, ..."
std::string events(int count) {
  std::string list = "e0";
  for (int i = 1; i < count; ++i) list += ", e" + std::to_string(i);
  return list;
}

/// A file whose one group has this list of events, which starts in column 40.
std::string with_events(const std::string& list) {
  return "groups: [{name: a, scope: cpu, events: " + list + "}]\n";
}

/// A file whose one group has these keys besides, the first of which starts in column 45.
std::string with_keys(const std::string& keys) {
  return "groups: [{name: a, events: [x], scope: cpu, " + keys + "}]\n";
}

/// A file with one rule for labels, which starts in column 20 of line 2.
std::string with_rule(const std::string& rule) {
  return kOneGroup + "cgroups: {labels: [" + rule + "]}\n";
}

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

/// The same, or why the file cannot be read.
std::vector<std::string> messages(const Result<Loaded>& loaded) {
  return loaded ? messages(*loaded) : std::vector{describe(loaded.error())};
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

/// What an operator may write, and the only thing said about it.
struct ErrorRow {
  std::string name;
  std::string yaml;
  std::string message;
};

const std::vector<ErrorRow> kRows = {
    // What the file is as a whole.
    {"NothingAtAll", "",
     "c.yaml:1:1: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, events: "
     "[cycles, instructions], scope: cpu}]'"},
    {"OnlyComments",
     "# nothing yet\n"
     "\n"
     "  # still nothing\n",
     "c.yaml:1:1: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, events: "
     "[cycles, instructions], scope: cpu}]'"},
    {"OnlyADocumentMark", "---\n",
     "c.yaml:2:1: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, events: "
     "[cycles, instructions], scope: cpu}]'"},
    {"AnEmptyMap", "{}\n",
     "c.yaml:1:1: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, events: "
     "[cycles, instructions], scope: cpu}]'"},
    {"NoGroups", "collection: {interval: 1s}\n",
     "c.yaml:1:1: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, events: "
     "[cycles, instructions], scope: cpu}]'"},
    {"AnEmptyListOfGroups", "groups: []\n",
     "c.yaml:1:9: groups: no groups: nothing would be counted. Remedy: add 'groups: [{name: core, "
     "events: [cycles, instructions], scope: cpu}]'"},
    {"GroupsWithoutAValue", "groups:\n",
     "c.yaml:1:1: groups: the value is missing. Remedy: write a list, for example [{name: core, "
     "events: [cycles, instructions], scope: cpu}]"},
    {"AListAtTheTop", "- name: core\n",
     "c.yaml:1:1: found a list where a map of keys is expected. Remedy: the keys here are: " +
         kTopLevelKeys},
    {"AWordAtTheTop", "core\n",
     "c.yaml:1:1: found the text 'core' where a map of keys is expected. Remedy: the keys here "
     "are: " +
         kTopLevelKeys},
    {"TwoDocuments",
     kOneGroup + "---\n"
                 "collection: {interval: 5}\n",
     "c.yaml:2:1: a second document starts here. Remedy: keep one, and remove the '---' between"},
    {"TextBehindTheDocument",
     kOneGroup + "...\n"
                 "{}\n",
     "c.yaml:3:1: this does not belong to anything above. Remedy: correct the indentation, or "
     "remove it"},
    {"ACommaAmongKeys", kOneGroup + ", \n",
     "c.yaml:2:1: not YAML: end of map not found. Remedy: " + kSyntaxRemedy},
    {"ANulByte",
     kOneGroup + std::string("colle\0"
                             "ction: 1\n",
                             15),
     "c.yaml:2:6: the control character 0x00. Remedy: remove it; a text file contains none but "
     "tabs and line breaks"},
    {"AnEscapeSequence", kOneGroup + "# \x1b[31m\n",
     "c.yaml:2:3: the control character 0x1b. Remedy: remove it; a text file contains none but "
     "tabs and line breaks"},
    {"ALoneCarriageReturn", kOneGroup + "cgroups: {max: 1}\x0dlimits: {}\n",
     "c.yaml:2:18: the control character 0x0d. Remedy: remove it; a text file contains none but "
     "tabs and line breaks"},
    {"Latin1",
     kOneGroup + "# Gr\xf6\xdf"
                 "e\n",
     "c.yaml:2:5: the byte 0xf6 is not UTF-8. Remedy: save the file as UTF-8 text"},
    {"Utf16", std::string("\xff\xfeg\0", 4),
     "c.yaml:1:1: the byte 0xff is not UTF-8. Remedy: save the file as UTF-8 text"},
    {"AnOverlongCharacter", kOneGroup + "# \xc0\xaf\n",
     "c.yaml:2:3: the byte 0xc0 is not UTF-8. Remedy: save the file as UTF-8 text"},
    {"ASurrogate", kOneGroup + "# \xed\xa0\x80\n",
     "c.yaml:2:3: the byte 0xed is not UTF-8. Remedy: save the file as UTF-8 text"},
    // Keys.
    {"AMisspelledKey", kOneGroup + "collection: {intervall: 1s}\n",
     "c.yaml:2:14: collection.intervall: unknown key. Remedy: did you mean 'interval'?"},
    {"AnUnknownKey", kOneGroup + "collection: {period: 1s}\n",
     "c.yaml:2:14: collection.period: unknown key. Remedy: the keys here are: interval, max_age"},
    {"AKeyOfAnotherMap", kOneGroup + "interval: 1s\n",
     "c.yaml:2:1: interval: unknown key. Remedy: it is a key of 'collection': write it there"},
    {"AKeyOfOneOfTwoOtherMaps", kOneGroup + "max: 5\n",
     "c.yaml:2:1: max: unknown key. Remedy: it is a key of 'cgroups' or 'cgroups.sums[]': write it "
     "there"},
    {"AnUnknownKeyAtTheTop", kOneGroup + "web: {}\n",
     "c.yaml:2:1: web: unknown key. Remedy: the keys here are: " + kTopLevelKeys},
    {"AMergeKey", kOneGroup + "<<: {limits: 5}\n",
     "c.yaml:2:1: '<<': unknown key. Remedy: the keys here are: " + kTopLevelKeys},
    {"AKeyWithBlanks", kOneGroup + "'max series': 5\n",
     "c.yaml:2:1: 'max series': unknown key. Remedy: the keys here are: " + kTopLevelKeys},
    {"AnEmptyKey", kOneGroup + "'': 5\n",
     "c.yaml:2:1: '': unknown key. Remedy: the keys here are: " + kTopLevelKeys},
    {"AKeyOfManyLines", kOneGroup + "\"a\\nb\": 5\n",
     "c.yaml:2:1: 'a\\nb': unknown key. Remedy: the keys here are: " + kTopLevelKeys},
    {"AVeryLongKey", kOneGroup + std::string(100, 'k') + ": 5\n",
     "c.yaml:2:1: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...: unknown key. "
     "Remedy: the keys here are: " +
         kTopLevelKeys},
    {"AListAsAKey",
     kOneGroup + "? [x]\n"
                 ": y\n",
     "c.yaml:2:3: a key that is not a plain word. Remedy: the keys here are: " + kTopLevelKeys},
    {"NoKeyBeforeTheColon", kOneGroup + ": y\n",
     "c.yaml:2:1: a key that is not a plain word. Remedy: the keys here are: " + kTopLevelKeys},
    {"ADuplicateKey",
     kOneGroup + "collection:\n"
                 "  interval: 1s\n"
                 "  interval: 2s\n",
     "c.yaml:4:3: collection.interval: 'interval' is repeated, first on line 3 column 3. Remedy: "
     "keep one of the two"},
    {"ADuplicateKeyAtTheTop", kOneGroup + "groups: []\n",
     "c.yaml:2:1: groups: 'groups' is repeated, first on line 1 column 1. Remedy: keep one of the "
     "two"},
    {"AMisspelledKeyThatIsNeeded", "groups: [{name: a, event: [x], scope: cpu}]\n",
     "c.yaml:1:20: groups[0].event: unknown key. Remedy: did you mean 'events'?"},
    {"AMisspelledKeyForTheGroups", "grups: [{name: a, events: [x], scope: cpu}]\n",
     "c.yaml:1:1: grups: unknown key. Remedy: did you mean 'groups'?"},
    {"AMisspelledScopeBesideAnAggregate",
     "groups: [{name: a, events: [x], scope: [cup, cgroup], aggregate: cpu}]\n",
     "c.yaml:1:41: groups[0].scope[0]: 'cup' is not a scope. Remedy: write cpu, cgroup or [cpu, "
     "cgroup]"},
    {"AWrongNameOfAnEventThatIsThereTwice", with_events("[x, {event: x, name: []}]"),
     "c.yaml:1:61: groups[0].events[1].name: found a list where a name is expected. Remedy: write "
     "a name, for example llc_misses"},
    // Values of the wrong kind.
    {"AListForADuration", kOneGroup + "collection: {interval: [1s]}\n",
     "c.yaml:2:24: collection.interval: found a list where a duration is expected. Remedy: " +
         kDurationRemedy},
    {"AMapForADuration", kOneGroup + "collection: {interval: {s: 1}}\n",
     "c.yaml:2:24: collection.interval: found a map where a duration is expected. Remedy: " +
         kDurationRemedy},
    {"AWordForAMap", kOneGroup + "limits: 5\n",
     "c.yaml:2:9: limits: found the text '5' where a map of keys is expected. Remedy: the keys "
     "here are: max_open_events, max_series, opens_per_second, max_cgroup_directories, "
     "label_length; write at "
     "least one as 'key: value', or remove limits"},
    {"AListForAMap", kOneGroup + "limits: [5]\n",
     "c.yaml:2:9: limits: found a list where a map of keys is expected. Remedy: the keys here are: "
     "max_open_events, max_series, opens_per_second, max_cgroup_directories, label_length; write "
     "at least one as "
     "'key: value', or remove limits"},
    {"AWordForAList", kOneGroup + "cgroups: {include: /a}\n",
     "c.yaml:2:20: cgroups.include: found the text '/a' where a list of paths is expected. Remedy: "
     "write a list, for example [/system.slice/*.service]"},
    {"AWordForAGroup", "groups: [core]\n",
     "c.yaml:1:10: groups[0]: found the text 'core' where a map of keys is expected. Remedy: the "
     "keys here are: name, events, scope, when, optional, cpus, aggregate, weak, pinned, "
     "exclusive, estimator, duty_cycle, exclude_user, exclude_kernel, exclude_hypervisor, "
     "exclude_idle, exclude_host, exclude_guest, inherit; write at least one as 'key: value', or "
     "remove groups[0]"},
    {"AMapOfGroups", "groups: {core: [cycles]}\n",
     "c.yaml:1:9: groups: found a map where a list of groups is expected. Remedy: write a list, "
     "for example [{name: core, events: [cycles, instructions], scope: cpu}]"},
    {"AListForAName", "groups: [{name: [a], events: [x], scope: cpu}]\n",
     "c.yaml:1:17: groups[0].name: found a list where a name is expected. Remedy: write a name, "
     "for example core"},
    {"NoInterval",
     kOneGroup + "collection:\n"
                 "  interval:\n"
                 "limits: {max_series: 5}\n",
     "c.yaml:3:3: collection.interval: the value is missing. Remedy: " + kDurationRemedy},
    {"ANullForANumber", kOneGroup + "limits: {max_series: ~}\n",
     "c.yaml:2:10: limits.max_series: the value is missing. Remedy: write a whole number from 1 to "
     "10000000"},
    {"AllKeysCommentedOut",
     kOneGroup + "cgroups:\n"
                 "  # max: 5\n"
                 "limits: {max_series: 5}\n",
     "c.yaml:2:1: cgroups: the value is missing. Remedy: the keys here are: include, exclude, "
     "nesting, helpers, max, per_cpu, linger, close_after, open_after, source, records_buffer, "
     "labels, sums, container_names, series; write at least one as 'key: value', or remove "
     "cgroups"},
    {"AnEmptyItem",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - /a\n"
                 "    -\n"
                 "    # - /b\n"
                 "    - /c\n",
     "c.yaml:5:5: cgroups.include[1]: the value is missing. Remedy: write a path, for example "
     "/system.slice/*.service"},
    {"AnEmptyItemAtTheEnd",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - /a\n"
                 "    -\n"
                 "\n"
                 "limits: {max_series: 5}\n",
     "c.yaml:5:5: cgroups.include[1]: the value is missing. Remedy: write a path, for example "
     "/system.slice/*.service"},
    {"ACommaTooMany", kOneGroup + "cgroups: {include: [/a, , /b]}\n",
     "c.yaml:2:25: cgroups.include[1]: the value is missing. Remedy: write a path, for example "
     "/system.slice/*.service"},
    {"AnAlias",
     kOneGroup + "collection: {interval: &i 1s}\n"
                 "cgroups: {linger: *i}\n",
     "c.yaml:3:19: cgroups.linger: this is a YAML alias. Remedy: write the value itself; aliases "
     "are not followed"},
    {"ATextThatGoesOnInTheNextLine",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - /a\n"
                 "      /b\n",
     "c.yaml:4:7: cgroups.include[0]: '/a /b' runs over more than one line. Remedy: " +
         kOneLineRemedy},
    {"ANoBreakSpaceAsIndentation",
     kOneGroup + "limits:\n\xc2\xa0\xc2\xa0"
                 "max_series: 5\n",
     "c.yaml:3:1: the invisible character U+00A0 (a no-break space). Remedy: " + kUnseenRemedy},
    {"ANoBreakSpaceBehindAColon",
     kOneGroup + "limits:\n  max_series:\xc2\xa0"
                 "5\n",
     "c.yaml:3:14: the invisible character U+00A0 (a no-break space). Remedy: " + kUnseenRemedy},
    {"AByteOrderMarkBehindTheStart",
     kOneGroup + "\xef\xbb\xbf"
                 "limits: {}\n",
     "c.yaml:2:1: the invisible character U+FEFF (a byte order mark). Remedy: " + kUnseenRemedy},
    {"ATextWithAnInvisibleCharacter", kOneGroup + "cgroups: {include: [\"/a\xe2\x80\x8b*\"]}\n",
     "c.yaml:2:21: cgroups.include[0]: '/a\\u200b*' contains a control character. Remedy: write a "
     "path, for example /system.slice/*.service"},
    {"HalfASurrogatePair", kOneGroup + "cgroups: {include: [\"/a\\ud83d\"]}\n",
     "c.yaml:2:30: not YAML: invalid unicode. Remedy: write the character itself; or, as JSON "
     "does, "
     "the escapes of both its surrogates"},
    {"AnItemIndentedTooFar",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - /a\n"
                 "     - /b\n",
     "c.yaml:4:7: cgroups.include[0]: '/a - /b' runs over more than one line. Remedy: " +
         kOneLineRemedy},
    {"NoBlankAfterTheColon", kOneGroup + "limits: {max_series:5}\n",
     "c.yaml:2:10: limits.'max_series:5': unknown key. Remedy: did you mean 'max_series'?"},
    {"ATag", kOneGroup + "collection: {interval: !go 1s}\n",
     "c.yaml:2:24: collection.interval: the YAML tag '!go' is not supported. Remedy: remove the "
     "tag"},
    // Durations.
    {"ADurationWithoutUnit",
     kOneGroup + "collection:\n"
                 "  interval: 5\n",
     "c.yaml:3:13: collection.interval: '5' has no unit. Remedy: " + kDurationRemedy},
    {"ANegativeDuration", kOneGroup + "collection: {interval: -1s}\n",
     "c.yaml:2:24: collection.interval: '-1s' is not a duration. Remedy: " + kDurationRemedy},
    {"ABlankBeforeTheUnit", kOneGroup + "collection: {interval: 5 s}\n",
     "c.yaml:2:24: collection.interval: '5 s' is not a duration. Remedy: " + kDurationRemedy},
    {"AnUnknownUnit", kOneGroup + "collection: {interval: 10sec}\n",
     "c.yaml:2:24: collection.interval: '10sec' is not a duration. Remedy: " + kDurationRemedy},
    {"AUnitInCapitals", kOneGroup + "collection: {interval: 10S}\n",
     "c.yaml:2:24: collection.interval: '10S' is not a duration. Remedy: " + kDurationRemedy},
    {"AWordForADuration", kOneGroup + "collection: {interval: often}\n",
     "c.yaml:2:24: collection.interval: 'often' is not a duration. Remedy: " + kDurationRemedy},
    {"AnEmptyDuration", kOneGroup + "collection: {interval: ''}\n",
     "c.yaml:2:24: collection.interval: '' is not a duration. Remedy: " + kDurationRemedy},
    {"ADurationBelowItsRange", kOneGroup + "collection: {interval: 99ms}\n",
     "c.yaml:2:24: collection.interval: '99ms' is out of range. Remedy: " + kDurationRemedy},
    {"ADurationAboveItsRange", kOneGroup + "cgroups: {linger: 61m}\n",
     "c.yaml:2:19: cgroups.linger: '61m' is out of range. Remedy: write a duration from 0s to 1h, "
     "for example 500ms or 1m30s"},
    {"ADurationBeyondAllBounds", kOneGroup + "cgroups: {linger: 99999999999999999999h}\n",
     "c.yaml:2:19: cgroups.linger: '99999999999999999999h' is not a duration. Remedy: write a "
     "duration from 0s to 1h, for example 500ms or 1m30s"},
    // Numbers and flags.
    {"AnOctalNumber", kOneGroup + "cgroups: {max: 010}\n",
     "c.yaml:2:16: cgroups.max: '010' would be octal to YAML. Remedy: write a whole number from 0 "
     "to 100000, in plain digits"},
    {"AModernOctalNumber", kOneGroup + "cgroups: {max: 0o10}\n",
     "c.yaml:2:16: cgroups.max: '0o10' would be octal to YAML. Remedy: write a whole number from 0 "
     "to 100000, in plain digits"},
    {"AHexadecimalNumber", kOneGroup + "cgroups: {max: 0x10}\n",
     "c.yaml:2:16: cgroups.max: '0x10' is hexadecimal. Remedy: write a whole number from 0 to "
     "100000, in plain digits"},
    {"ANegativeNumber", kOneGroup + "cgroups: {max: -5}\n",
     "c.yaml:2:16: cgroups.max: '-5' is negative. Remedy: write a whole number from 0 to 100000, "
     "in plain digits"},
    {"AFraction", kOneGroup + "cgroups: {max: 1.5}\n",
     "c.yaml:2:16: cgroups.max: '1.5' is not a whole number. Remedy: write a whole number from 0 "
     "to 100000, in plain digits"},
    {"AnUnderscore", kOneGroup + "cgroups: {max: 1_000}\n",
     "c.yaml:2:16: cgroups.max: '1_000' has separators between its digits. Remedy: write a whole "
     "number from 0 to 100000, in plain digits"},
    {"ASign", kOneGroup + "cgroups: {max: +5}\n",
     "c.yaml:2:16: cgroups.max: '+5' is not in plain digits. Remedy: write a whole number from 0 "
     "to 100000, in plain digits"},
    {"AnInfinity", kOneGroup + "cgroups: {max: .inf}\n",
     "c.yaml:2:16: cgroups.max: '.inf' is not a number. Remedy: write a whole number from 0 to "
     "100000, in plain digits"},
    {"AWordForANumber", kOneGroup + "cgroups: {max: many}\n",
     "c.yaml:2:16: cgroups.max: 'many' is not a number. Remedy: write a whole number from 0 to "
     "100000, in plain digits"},
    {"ANumberInQuotes", kOneGroup + "cgroups: {max: '5'}\n",
     "c.yaml:2:16: cgroups.max: found the text '5' in quotes where a number is expected. Remedy: "
     "write a whole number from 0 to 100000, without quotes"},
    {"ANumberAboveItsRange", kOneGroup + "cgroups: {max: 100001}\n",
     "c.yaml:2:16: cgroups.max: '100001' is out of range. Remedy: write a whole number from 0 to "
     "100000"},
    {"AWordForANumberOfCounters", kOneGroup + "limits: {max_open_events: many}\n",
     "c.yaml:2:27: limits.max_open_events: 'many' is neither auto nor a number. Remedy: write "
     "auto, or a whole number from 1 to 10000000"},
    {"ANegativeNumberOfCounters", kOneGroup + "limits: {max_open_events: -1}\n",
     "c.yaml:2:27: limits.max_open_events: '-1' is negative. Remedy: write auto, or a whole number "
     "from 1 to 10000000, in plain digits"},
    {"ABrokenNumberOfCounters", kOneGroup + "limits: {max_open_events: 1.5}\n",
     "c.yaml:2:27: limits.max_open_events: '1.5' is not a whole number. Remedy: write auto, or a "
     "whole number from 1 to 10000000, in plain digits"},
    {"ANumberBelowItsRange", kOneGroup + "limits: {max_open_events: 0}\n",
     "c.yaml:2:27: limits.max_open_events: '0' is out of range. Remedy: write auto, or a whole "
     "number from 1 to 10000000"},
    {"ANumberBeyondAllBounds", kOneGroup + "limits: {max_series: 18446744073709551616}\n",
     "c.yaml:2:22: limits.max_series: '18446744073709551616' is out of range. Remedy: write a "
     "whole number from 1 to 10000000"},
    {"YesForAFlag", "groups: [{name: a, events: [x], scope: cpu, pinned: yes}]\n",
     "c.yaml:1:53: groups[0].pinned: 'yes' is not true or false. Remedy: write true or false"},
    {"AFlagInQuotes", "groups: [{name: a, events: [x], scope: cpu, pinned: 'true'}]\n",
     "c.yaml:1:53: groups[0].pinned: found the text 'true' in quotes where true or false is "
     "expected. Remedy: write true or false, without quotes"},
    // Groups.
    {"AGroupWithoutAName",
     "groups:\n"
     "  - events: [x]\n"
     "    scope: cpu\n",
     "c.yaml:2:5: groups[0]: the group has no name. Remedy: add a name to it, for example 'name: "
     "core'"},
    {"AGroupWithoutEvents",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n",
     "c.yaml:2:5: groups[0]: the group has no events. Remedy: add a list of them, for example "
     "'events: [cycles, instructions]'"},
    {"AGroupWithoutAScope",
     "groups:\n"
     "  - name: a\n"
     "    events: [x]\n",
     "c.yaml:2:5: groups[0]: the group has no scope. Remedy: add 'scope: cpu', cgroup or [cpu, "
     "cgroup]"},
    {"ANameInCapitals", "groups: [{name: Core, events: [x], scope: cpu}]\n",
     "c.yaml:1:17: groups[0].name: 'Core' is not a name. Remedy: use 1 to 64 of a-z, 0-9, '_' and "
     "'-', the first of them a letter"},
    {"ANameThatStartsWithADigit", "groups: [{name: 1st, events: [x], scope: cpu}]\n",
     "c.yaml:1:17: groups[0].name: '1st' is not a name. Remedy: use 1 to 64 of a-z, 0-9, '_' and "
     "'-', the first of them a letter"},
    {"ANameOf65Letters",
     "groups: [{name: " + std::string(65, 'a') + ", events: [x], scope: cpu}]\n",
     "c.yaml:1:17: groups[0].name: "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' is not a name. Remedy: use "
     "1 to 64 of a-z, 0-9, '_' and '-', the first of them a letter"},
    {"TwoGroupsOfOneName",
     "groups:\n"
     "  - {name: a, events: [x], scope: cpu}\n"
     "  - {name: a, events: [y], scope: cpu}\n",
     "c.yaml:3:12: groups[1].name: 'a' is repeated, first on line 2 column 12. Remedy: give each "
     "group a unique name"},
    {"AGroupWithNoEvents", "groups: [{name: a, events: [], scope: cpu}]\n",
     "c.yaml:1:28: groups[0].events: a group of 0 events. Remedy: list 1 to 64 events; more of "
     "them go into further groups"},
    {"AGroupOf65Events", "groups: [{name: a, scope: cpu, events: [" + events(65) + "]}]\n",
     "c.yaml:1:40: groups[0].events: a group of 65 events. Remedy: list 1 to 64 events; more of "
     "them go into further groups"},
    {"AnEmptyEvent", "groups: [{name: a, events: [x, ' '], scope: cpu}]\n",
     "c.yaml:1:32: groups[0].events[1]: the event is empty. Remedy: name one, or remove it"},
    {"AnEventTwice", "groups: [{name: a, events: [x, y, x], scope: cpu}]\n",
     "c.yaml:1:35: groups[0].events[2]: 'x' is repeated, first on line 1 column 29. Remedy: remove "
     "one of the two"},
    {"AnEventOfTwoLines", "groups: [{name: a, events: [\"x\\ny\"], scope: cpu}]\n",
     "c.yaml:1:29: groups[0].events[0]: 'x\\ny' contains a control character. Remedy: write an "
     "event, for example cycles"},
    {"AMisspelledScope", "groups: [{name: a, events: [x], scope: cgroups}]\n",
     "c.yaml:1:40: groups[0].scope: 'cgroups' is not a scope. Remedy: did you mean 'cgroup'?"},
    {"AnUnknownScope", "groups: [{name: a, events: [x], scope: [cpu, core]}]\n",
     "c.yaml:1:46: groups[0].scope[1]: 'core' is not a scope. Remedy: write cpu, cgroup or [cpu, "
     "cgroup]"},
    {"AScopeTwice", "groups: [{name: a, events: [x], scope: [cpu, cpu]}]\n",
     "c.yaml:1:46: groups[0].scope[1]: 'cpu' is repeated, first on line 1 column 41. Remedy: "
     "remove one of the two"},
    {"NoScopeInTheList", "groups: [{name: a, events: [x], scope: []}]\n",
     "c.yaml:1:40: groups[0].scope: no scope: it would count nowhere. Remedy: write cpu, cgroup or "
     "both"},
    {"AMapForAScope", "groups: [{name: a, events: [x], scope: {cpu: true}}]\n",
     "c.yaml:1:40: groups[0].scope: found a map where cpu, cgroup or a list of both is expected. "
     "Remedy: write cpu, cgroup or [cpu, cgroup]"},
    // Events that are maps, or braces.
    {"AMapWithoutAnEvent", with_events("[{name: b}]"),
     "c.yaml:1:41: groups[0].events[0]: the event itself is missing. Remedy: add it, for example "
     "'event: cycles'"},
    {"AnEventOfNothing", with_events("[{event: , name: b}]"),
     "c.yaml:1:42: groups[0].events[0].event: the value is missing. Remedy: write an event, for "
     "example cycles"},
    {"AnEmptyMapForAnEvent", with_events("[{}]"),
     "c.yaml:1:41: groups[0].events[0]: the event itself is missing. Remedy: add it, for example "
     "'event: cycles'"},
    {"AListForAnEvent", with_events("[[x]]"),
     "c.yaml:1:41: groups[0].events[0]: found a list where an event is expected. Remedy: write an "
     "event, for example cycles"},
    {"AMapForEvents", with_events("{event: x}"),
     "c.yaml:1:40: groups[0].events: found a map where a list of events is expected. Remedy: write "
     "a list, for example [cycles, instructions]"},
    {"AMapForTheEventOfAMap", with_events("[{event: {event: x}}]"),
     "c.yaml:1:49: groups[0].events[0].event: found a map where an event is expected. Remedy: "
     "write an event, for example cycles"},
    {"AnEventTwiceInTwoForms", with_events("[x, {event: x, unit: bytes}]"),
     "c.yaml:1:52: groups[0].events[1].event: 'x' is repeated, first on line 1 column 41. Remedy: "
     "remove one of the two"},
    {"AnEmptyTextForEvents", with_events("''"),
     "c.yaml:1:40: groups[0].events: the event is empty. Remedy: name one, or remove it"},
    {"EventsWithoutAValue", with_events(""),
     "c.yaml:1:32: groups[0].events: the value is missing. Remedy: write a list, for example "
     "[cycles, instructions]"},
    {"AnUnknownKeyOfAnEvent", with_events("[{event: x, metric: b}]"),
     "c.yaml:1:52: groups[0].events[0].metric: unknown key. Remedy: the keys here are: event, "
     "name, help, unit, scale, filter"},
    {"AMisspelledKeyOfAnEvent", with_events("[{event: x, scales: 2}]"),
     "c.yaml:1:52: groups[0].events[0].scales: unknown key. Remedy: did you mean 'scale'?"},
    {"ACommaInAnEventOfAMap", with_events("[{event: cpu/event=0x3c,umask=0x1/}]"),
     "c.yaml:1:64: groups[0].events[0].'umask=0x1/': unknown key. Remedy: the keys here are: "
     "event, name, help, unit, scale, filter; put text that contains ',' in quotes"},
    {"ACommaInAnEventOfAList", with_events("[cycles, cpu/event=0x3c,umask=0x1/u, faults]"),
     "c.yaml:1:49: groups[0].events[1]: the event is divided at its comma. Remedy: put text that "
     "contains ',' in quotes: \"cpu/event=0x3c,umask=0x1/u\""},
    {"BracesWithoutQuotes", with_events("[{cycles,instructions}]"),
     "c.yaml:1:41: groups[0].events[0]: found a map where an event is expected. Remedy: put text "
     "in braces in quotes, for example \"{cycles,instructions}:u\", and no ':' after an event"},
    {"BracesWithoutQuotesForEvents", with_events("{cycles,instructions}"),
     "c.yaml:1:40: groups[0].events: found a map where an event is expected. Remedy: put text in "
     "braces in quotes, for example \"{cycles,instructions}:u\", and no ':' after an event"},
    {"BracesAndAModifierWithoutQuotes", with_events("[{cycles,instructions}:u]"),
     "c.yaml:1:41: groups[0].events[0]: found a map where an event is expected. Remedy: put text "
     "in braces in quotes, for example \"{cycles,instructions}:u\", and no ':' after an event"},
    {"BracesAndAModifierWithoutQuotesInABlock",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events: {cycles,instructions}:u\n",
     "c.yaml:4:34: not YAML: end of map not found. Remedy: " + kSyntaxRemedy},
    {"AColonBehindAnEvent",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events:\n"
     "      - cycles:\n"
     "      - instructions\n",
     "c.yaml:5:9: groups[0].events[0]: found a map where an event is expected. Remedy: put text in "
     "braces in quotes, for example \"{cycles,instructions}:u\", and no ':' after an event"},
    {"AnEmptyNameOfAnEvent", with_events("[{event: x, name: ' '}]"),
     "c.yaml:1:58: groups[0].events[0].name: the name is empty. Remedy: write one, or remove the "
     "key"},
    {"ANameOfAnEventThatIsMissing", with_events("[{event: x, name: }]"),
     "c.yaml:1:52: groups[0].events[0].name: the value is missing. Remedy: write a name, for "
     "example llc_misses"},
    {"ANameOfAnEventWithoutALetter", with_events("[{event: x, name: '-_ß'}]"),
     "c.yaml:1:58: groups[0].events[0].name: '-_ß' has no letter or digit that a metric's name can "
     "keep. Remedy: use some of a-z and 0-9"},
    {"ANameOfAnEventOf129Characters",
     with_events("[{event: x, name: " + std::string(129, 'n') + "}]"),
     "c.yaml:1:58: groups[0].events[0].name: the name is 129 characters long. Remedy: write at "
     "most 128"},
    {"ANameOfAnEventThatBreaksALine", with_events("[{event: x, name: \"a\\nb\"}]"),
     "c.yaml:1:58: groups[0].events[0].name: 'a\\nb' contains a control character. Remedy: write a "
     "name, for example llc_misses"},
    {"AnEmptyHelp", with_events("[{event: x, help: ''}]"),
     "c.yaml:1:58: groups[0].events[0].help: the help is empty. Remedy: write one, or remove the "
     "key"},
    {"AHelpOf513Characters", with_events("[{event: x, help: " + std::string(513, 'h') + "}]"),
     "c.yaml:1:58: groups[0].events[0].help: the help is 513 characters long. Remedy: write at "
     "most 512"},
    {"AHelpOfTwoLines",
     "groups:\n"
     "  - name: a\n"
     "    scope: cpu\n"
     "    events:\n"
     "      - event: x\n"
     "        help: |\n"
     "          One.\n"
     "          Two.\n",
     "c.yaml:6:15: groups[0].events[0].help: 'One.\\nTwo.' runs over more than one line. Remedy: " +
         kOneLineRemedy},
    {"AMisspelledUnit", with_events("[{event: x, unit: byte}]"),
     "c.yaml:1:58: groups[0].events[0].unit: 'byte' is not a unit. Remedy: did you mean 'bytes'?"},
    {"AMultipleOfAUnit", with_events("[{event: x, unit: MiB}]"),
     "c.yaml:1:58: groups[0].events[0].unit: 'MiB' is not a unit. Remedy: write events, seconds, "
     "joules or bytes; 'scale' is how many of them one count is worth"},
    {"AListForAUnit", with_events("[{event: x, unit: [bytes]}]"),
     "c.yaml:1:58: groups[0].events[0].unit: found a list where a unit is expected. Remedy: write "
     "events, seconds, joules or bytes; 'scale' is how many of them one count is worth"},
    {"AnEmptyFilter", with_events("[{event: x, filter: \"\"}]"),
     "c.yaml:1:60: groups[0].events[0].filter: the filter is empty. Remedy: write one, or remove "
     "the key"},
    {"AFilterOf4096Characters", with_events("[{event: x, filter: " + std::string(4096, 'f') + "}]"),
     "c.yaml:1:60: groups[0].events[0].filter: the filter is 4096 characters long. Remedy: write "
     "at most 4095"},
    // Decimal numbers.
    {"AScaleOfZero", with_events("[{event: x, scale: 0.0}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '0.0' is out of range. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"ANegativeScale", with_events("[{event: x, scale: -0.5}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '-0.5' is negative. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleAboveItsRange", with_events("[{event: x, scale: 1.1e18}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1.1e18' is out of range. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleBelowItsRange", with_events("[{event: x, scale: 9e-19}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '9e-19' is out of range. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleBeyondAllBounds", with_events("[{event: x, scale: 1e400}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1e400' is out of range. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleTooSmallForADouble", with_events("[{event: x, scale: 1e-400}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1e-400' is out of range. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AnInfiniteScale", with_events("[{event: x, scale: inf}]"),
     "c.yaml:1:59: groups[0].events[0].scale: 'inf' is not a number. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleThatIsNoNumber", with_events("[{event: x, scale: nan}]"),
     "c.yaml:1:59: groups[0].events[0].scale: 'nan' is not a number. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithoutADigitBeforeThePoint", with_events("[{event: x, scale: .5}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '.5' is not a plain number. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithASign", with_events("[{event: x, scale: +2}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '+2' is not a plain number. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithAUnit", with_events("[{event: x, scale: 64B}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '64B' is not a plain number. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleThatIsAFormula", with_events("[{event: x, scale: 1/2}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1/2' is not a plain number. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithTwoPoints", with_events("[{event: x, scale: 1.000.000}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1.000.000' is not a plain number. Remedy: write a "
     "number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithoutItsExponent", with_events("[{event: x, scale: 6e}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '6e' is not a plain number. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleWithAnUnderscore", with_events("[{event: x, scale: 1_000}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '1_000' has separators between its digits. Remedy: "
     "write a number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AnOctalScale", with_events("[{event: x, scale: 010}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '010' would be octal to YAML. Remedy: write a number "
     "from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AHexadecimalScale", with_events("[{event: x, scale: 0x1p3}]"),
     "c.yaml:1:59: groups[0].events[0].scale: '0x1p3' is hexadecimal. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    {"AScaleInQuotes", with_events("[{event: x, scale: '64'}]"),
     "c.yaml:1:59: groups[0].events[0].scale: found the text '64' in quotes where a number is "
     "expected. Remedy: write a number from 1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5, without "
     "quotes"},
    {"AScaleWithoutAValue", with_events("[{event: x, scale: }]"),
     "c.yaml:1:52: groups[0].events[0].scale: the value is missing. Remedy: write a number from "
     "1e-18 to 1e+18, for example 64, 0.5 or 6.1e-5"},
    // Groups as a whole.
    {"AWhenThatIsNoMap", with_keys("when: GenuineIntel"),
     "c.yaml:1:51: groups[0].when: found the text 'GenuineIntel' where a map of keys is expected. "
     "Remedy: the keys here are: vendor, cpus, virtual, pmu, kernel; write at least one as 'key: "
     "value', or remove groups[0].when"},
    {"AWhenWithoutConditions", with_keys("when: {}"),
     "c.yaml:1:51: groups[0].when: no condition. Remedy: write one, for example {virtual: false}, "
     "or remove the key"},
    {"AnUnknownCondition", with_keys("when: {arch: x86}"),
     "c.yaml:1:52: groups[0].when.arch: unknown key. Remedy: the keys here are: vendor, cpus, "
     "virtual, pmu, kernel"},
    {"AVendorTwice", with_keys("when: {vendor: [ARM, ARM]}"),
     "c.yaml:1:66: groups[0].when.vendor[1]: 'ARM' is repeated, first on line 1 column 61. Remedy: "
     "remove one of the two"},
    {"AnEmptyListOfVendors", with_keys("when: {vendor: []}"),
     "c.yaml:1:60: groups[0].when.vendor: a list of 0 vendors. Remedy: list 1 to 16"},
    {"AnEmptyVendor", with_keys("when: {vendor: ''}"),
     "c.yaml:1:60: groups[0].when.vendor: found a text of 0 bytes where a vendor or a list of them "
     "is expected. Remedy: write the label vendor of perf_machine_info, for example GenuineIntel "
     "or [GenuineIntel, AuthenticAMD]"},
    {"NoCpus", with_keys("when: {cpus: 0}"),
     "c.yaml:1:58: groups[0].when.cpus: '0' is not a number of CPUs. Remedy: write the least "
     "number, for example 8, or a range such as 8-64"},
    {"ARangeOfCpusThatEndsBeforeItBegins", with_keys("when: {cpus: 8-4}"),
     "c.yaml:1:58: groups[0].when.cpus: '8-4' is not a number of CPUs. Remedy: write the least "
     "number, for example 8, or a range such as 8-64"},
    {"AVirtualThatIsNoFlag", with_keys("when: {virtual: kvm}"),
     "c.yaml:1:61: groups[0].when.virtual: 'kvm' is not true or false. Remedy: write true or "
     "false"},
    {"AKernelThatIsNoVersion", with_keys("when: {kernel: 5.x}"),
     "c.yaml:1:60: groups[0].when.kernel: '5.x' is not a version of Linux. Remedy: write the "
     "oldest one with the group, for example 5.13"},
    {"AKernelOfFourNumbers", with_keys("when: {kernel: 5.13.1.2}"),
     "c.yaml:1:60: groups[0].when.kernel: '5.13.1.2' is not a version of Linux. Remedy: write the "
     "oldest one with the group, for example 5.13"},
    {"AnOptionalThatIsNoFlag", with_keys("optional: yes"),
     "c.yaml:1:55: groups[0].optional: 'yes' is not true or false. Remedy: write true or false"},
    {"AMisspelledAggregate", with_keys("aggregate: packages"),
     "c.yaml:1:56: groups[0].aggregate: 'packages' is not a part of the machine. Remedy: did you "
     "mean 'package'?"},
    {"AnUnknownAggregate", with_keys("aggregate: socket"),
     "c.yaml:1:56: groups[0].aggregate: 'socket' is not a part of the machine. Remedy: write cpu, "
     "core, die, package, numa_node or host"},
    {"AListForAnAggregate", with_keys("aggregate: [core]"),
     "c.yaml:1:56: groups[0].aggregate: found a list where a part of the machine is expected. "
     "Remedy: write cpu, core, die, package, numa_node or host"},
    {"AnAggregateOfCgroups", "groups: [{name: a, aggregate: cpu, events: [x], scope: cgroup}]\n",
     "c.yaml:1:31: groups[0].aggregate: aggregate applies to scope cpu, which this group does not "
     "have. Remedy: remove it, or write 'scope: [cpu, cgroup]'"},
    {"NoForAFlag", with_keys("weak: no"),
     "c.yaml:1:51: groups[0].weak: 'no' is not true or false. Remedy: write true or false"},
    {"AMisspelledFlag", with_keys("exclude_hypervizor: true"),
     "c.yaml:1:45: groups[0].exclude_hypervizor: unknown key. Remedy: did you mean "
     "'exclude_hypervisor'?"},
    {"NoModeLeft",
     "groups:\n"
     "  - name: a\n"
     "    events: [x]\n"
     "    exclude_hypervisor: true\n"
     "    exclude_kernel: true\n"
     "    exclude_user: true\n"
     "    scope: cpu\n",
     "c.yaml:6:19: groups[0].exclude_user: together, exclude_user, exclude_kernel and "
     "exclude_hypervisor leave nothing to count. Remedy: remove one of them"},
    {"NeitherHostNorGuest", with_keys("exclude_host: true, exclude_guest: true"),
     "c.yaml:1:80: groups[0].exclude_guest: together, exclude_host and exclude_guest leave nothing "
     "to count. Remedy: remove one of them"},
    {"AMisspelledEstimator", with_keys("estimator: refrence"),
     "c.yaml:1:56: groups[0].estimator: 'refrence' is not an estimator. Remedy: did you mean "
     "'reference'?"},
    {"AnUnknownEstimator", with_keys("estimator: cycles"),
     "c.yaml:1:56: groups[0].estimator: 'cycles' is not an estimator. Remedy: write auto, time or "
     "reference"},
    {"AListForAnEstimator", with_keys("estimator: [auto]"),
     "c.yaml:1:56: groups[0].estimator: found a list where an estimator is expected. Remedy: write "
     "auto, time or reference"},
    {"AnEstimatorThatIsMissing", with_keys("estimator: "),
     "c.yaml:1:45: groups[0].estimator: the value is missing. Remedy: write auto, time or "
     "reference"},
    {"AnEstimatorOfAPinnedGroup", with_keys("pinned: true, estimator: time"),
     "c.yaml:1:70: groups[0].estimator: a pinned group is never multiplexed, so there is nothing "
     "to estimate. Remedy: remove it, or write 'pinned: false'"},
    {"AnEstimatorBeforeItsGroupIsPinned", with_keys("estimator: reference, pinned: true"),
     "c.yaml:1:56: groups[0].estimator: a pinned group is never multiplexed, so there is nothing "
     "to estimate. Remedy: remove it, or write 'pinned: false'"},
    {"InheritedCounters", with_keys("inherit: true"),
     "c.yaml:1:54: groups[0].inherit: inherit is for the counters of a task, and a CPU or cgroup "
     "counts all its tasks. Remedy: remove it"},
    {"InheritThatIsNotAFlag", with_keys("inherit: 1"),
     "c.yaml:1:54: groups[0].inherit: '1' is not true or false. Remedy: write true or false"},
    {"ADutyCycleOfAWord", with_keys("duty_cycle: 10s"),
     "c.yaml:1:57: groups[0].duty_cycle: found the text '10s' where a map of keys is expected. "
     "Remedy: the keys here are: on, every; write at least one as 'key: value', or remove "
     "groups[0].duty_cycle"},
    {"ADutyCycleWithoutItsLength", with_keys("duty_cycle: {on: 10s}"),
     "c.yaml:1:57: groups[0].duty_cycle: the duty cycle does not say how long it is. Remedy: write "
     "for example 'duty_cycle: {on: 10s, every: 60s}'"},
    {"ADutyCycleThatNeverCounts", with_keys("duty_cycle: {on: 0s, every: 60s}"),
     "c.yaml:1:62: groups[0].duty_cycle.on: '0s' is out of range. Remedy: write a duration from 1s "
     "to 59s, for example 5s"},
    {"ADutyCycleThatIsLongerThanWhatCanBeEstimated", with_keys("duty_cycle: {on: 10s, every: 5m}"),
     "c.yaml:1:74: groups[0].duty_cycle.every: '5m' is out of range. Remedy: write a duration from "
     "2s to 1m, for example 5s"},
    {"ADutyCycleThatAlwaysCounts", with_keys("duty_cycle: {on: 10s, every: 10s}"),
     "c.yaml:1:57: groups[0].duty_cycle: the group would count for 10s in every 10s, which is all "
     "the time. Remedy: shorten 'on', or remove duty_cycle"},
    {"ADutyCycleBetweenTwoPolls",
     with_keys("duty_cycle: {on: 9s, every: 1m}") + "collection: {interval: 5s}\n",
     "c.yaml:1:57: groups[0].duty_cycle: the group counts for 9s at a time, and is read every 5s. "
     "Remedy: write at least two intervals for 'on', or shorten collection.interval"},
    // Sums of cgroups.
    {"ASumWithoutAName", kOneGroup + "cgroups: {sums: [{by: [unit]}]}\n",
     "c.yaml:2:18: cgroups.sums[0]: the sum has no name. Remedy: add one, for example 'name: "
     "workload'"},
    {"ASumWithoutLabels", kOneGroup + "cgroups: {sums: [{name: w}]}\n",
     "c.yaml:2:18: cgroups.sums[0]: the sum has no labels. Remedy: add them, for example 'by: "
     "[namespace, container]', or 'by: []' for one sum of all cgroups"},
    {"ASumByOneLabelThatIsNoList", kOneGroup + "cgroups: {sums: [{name: w, by: unit}]}\n",
     "c.yaml:2:32: cgroups.sums[0].by: found the text 'unit' where a list of labels is expected. "
     "Remedy: write a list, for example [namespace, container]"},
    {"ANameThatIsNoPartOfAMetric", kOneGroup + "cgroups: {sums: [{name: my-sum, by: [unit]}]}\n",
     "c.yaml:2:25: cgroups.sums[0].name: 'my-sum' is not the name of a sum. Remedy: use 1 to 64 of "
     "a-z, 0-9 and '_', the first a letter"},
    {"ALabelOfASumTwice", kOneGroup + "cgroups: {sums: [{name: w, by: [unit, unit]}]}\n",
     "c.yaml:2:39: cgroups.sums[0].by[1]: label 'unit' is there twice. Remedy: remove one of them"},
    {"ASumThatIsIdleForASecond", kOneGroup + "cgroups: {sums: [{name: w, by: [unit], idle: 1s}]}\n",
     "c.yaml:2:46: cgroups.sums[0].idle: '1s' is out of range. Remedy: write a duration from 1m to "
     "168h, for example 1m30s or 30m"},
    {"SumsThatAreAMap", kOneGroup + "cgroups: {sums: {name: w}}\n",
     "c.yaml:2:17: cgroups.sums: found a map where a list of sums is expected. Remedy: write a "
     "list, for example [{name: workload, by: [namespace, container]}]"},
    {"SeriesOfSomeCgroups", kOneGroup + "cgroups: {series: some}\n",
     "c.yaml:2:19: cgroups.series: 'some' is not a choice of series. Remedy: write folded, each or "
     "none"},

    {"ANumberForTheTruthCheck", kOneGroup + "truth_check: 17\n",
     "c.yaml:2:14: truth_check: '17' is not a switch. Remedy: write on or off"},

    // Evidence.
    {"EvidenceOfAll", kOneGroup + "evidence: {cgroups: all}\n",
     "c.yaml:2:21: evidence.cgroups: 'all' is not a choice of evidence. Remedy: write each, sum or "
     "none"},
    {"AMisspelledKeyOfEvidence", kOneGroup + "evidence: {references: true}\n",
     "c.yaml:2:12: evidence.references: unknown key. Remedy: did you mean 'reference'?"},
    {"AnUnknownKeyOfEvidence", kOneGroup + "evidence: {observed: true}\n",
     "c.yaml:2:12: evidence.observed: unknown key. Remedy: the keys here are: cgroups, variance, "
     "reference"},
    {"AFlagForEvidence", kOneGroup + "evidence: true\n",
     "c.yaml:2:11: evidence: found the text 'true' where a map of keys is expected. Remedy: the "
     "keys here are: cgroups, variance, reference; write at least one as 'key: value', or remove "
     "evidence"},
    {"AListOfEvidence", kOneGroup + "evidence: [variance]\n",
     "c.yaml:2:11: evidence: found a list where a map of keys is expected. Remedy: the keys here "
     "are: cgroups, variance, reference; write at least one as 'key: value', or remove evidence"},
    {"OnForAFlagOfEvidence", kOneGroup + "evidence: {variance: on}\n",
     "c.yaml:2:22: evidence.variance: 'on' is not true or false. Remedy: write true or false"},
    {"EvidenceOfOneKindTwice", kOneGroup + "evidence: {variance: true, variance: false}\n",
     "c.yaml:2:28: evidence.variance: 'variance' is repeated, first on line 2 column 12. Remedy: "
     "keep one of the two"},
    // Paths of cgroups.
    {"APathWithoutASlash", kOneGroup + "cgroups: {include: [system.slice/*.service]}\n",
     "c.yaml:2:21: cgroups.include[0]: 'system.slice/*.service' does not start with '/'. Remedy: "
     "write the whole path below the cgroup mount, for example /system.slice/*.service; a regular "
     "expression starts with re:"},
    {"AnEmptyPath", kOneGroup + "cgroups: {exclude: ['']}\n",
     "c.yaml:2:21: cgroups.exclude[0]: '' does not start with '/'. Remedy: write the whole path "
     "below the cgroup mount, for example /system.slice/*.service; a regular expression starts "
     "with re:"},
    {"APathWithAnEscapeSequence", kOneGroup + "cgroups: {include: [\"/a\\e[31m\\u202e\"]}\n",
     "c.yaml:2:21: cgroups.include[0]: '/a\\x1b[31m\\u202e' contains a control character. Remedy: "
     "write a path, for example /system.slice/*.service"},
    {"AVeryLongPath", kOneGroup + "cgroups: {include: [/" + std::string(1024, 'a') + "]}\n",
     "c.yaml:2:21: cgroups.include[0]: the pattern is 1025 bytes long. Remedy: write at most 1024"},
    {"TooManyPaths", kOneGroup + "cgroups: {exclude: [" + repeated("/a, ", 257) + "]}\n",
     "c.yaml:2:20: cgroups.exclude: 257 patterns. Remedy: list at most 256"},
    {"AnEscapeOfARegularExpressionInDoubleQuotes",
     kOneGroup + "cgroups: {include: [\"re:/a\\.b\"]}\n",
     "c.yaml:2:29: not YAML: unknown escape character. Remedy: " + kSyntaxRemedy},
    // What is counted of nested cgroups, and how.
    {"AnUnknownSource", kOneGroup + "cgroups: {source: bpf}\n",
     "c.yaml:2:19: cgroups.source: 'bpf' is not a source of counts. Remedy: write auto, records or "
     "descriptors"},
    {"ABufferThatIsNoSize", kOneGroup + "cgroups: {records_buffer: plenty}\n",
     "c.yaml:2:27: cgroups.records_buffer: 'plenty' is not the size of a buffer. Remedy: write a "
     "power of two, for example 256KiB"},
    {"AnUnknownNesting", kOneGroup + "cgroups: {nesting: v2}\n",
     "c.yaml:2:20: cgroups.nesting: 'v2' is not a value for nested cgroups. Remedy: write leaves "
     "or all"},
    {"AMisspelledNesting", kOneGroup + "cgroups: {nesting: leave}\n",
     "c.yaml:2:20: cgroups.nesting: 'leave' is not a value for nested cgroups. Remedy: did you "
     "mean 'leaves'?"},
    {"ANumberOfHelpers", kOneGroup + "cgroups: {helpers: 1}\n",
     "c.yaml:2:20: cgroups.helpers: '1' is not true or false. Remedy: write true or false"},
    {"YesForPerCpu", kOneGroup + "cgroups: {per_cpu: yes}\n",
     "c.yaml:2:20: cgroups.per_cpu: 'yes' is not true or false. Remedy: write true or false"},
    {"NoOpensPerSecond", kOneGroup + "limits: {opens_per_second: 0}\n",
     "c.yaml:2:28: limits.opens_per_second: '0' is out of range. Remedy: write a whole number from "
     "1 to 10000000"},
    // Labels of cgroups.
    {"ARuleInPlaceOfAList", kOneGroup + "cgroups: {labels: {match: /a, set: {x: y}}}\n",
     "c.yaml:2:19: cgroups.labels: found a map where a list of rules is expected. Remedy: write a "
     "list, for example [{match: /system.slice/*, set: {team: web}}]"},
    {"TooManyRules",
     kOneGroup + "cgroups: {labels: [" + repeated("{match: /a, set: {x: y}}, ", 65) + "]}\n",
     "c.yaml:2:19: cgroups.labels: 65 rules. Remedy: list at most 64"},
    {"ARuleWithoutMatch", with_rule("{set: {x: y}}"),
     "c.yaml:2:20: cgroups.labels[0]: the rule has no match. Remedy: add the cgroups it is for, "
     "for example 'match: /system.slice/*'"},
    {"ARuleWithoutSet", with_rule("{match: /a}"),
     "c.yaml:2:20: cgroups.labels[0]: the rule sets nothing. Remedy: add labels, for example 'set: "
     "{team: web}'"},
    {"ARuleThatSetsNoLabel", with_rule("{match: /a, set: {}}"),
     "c.yaml:2:37: cgroups.labels[0].set: found an empty map where a map of labels is expected. "
     "Remedy: write a map, for example {team: web}"},
    {"ARuleThatSetsTooManyLabels",
     with_rule("{match: /a, set: {a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x, j: x, k: "
               "x, l: x, m: x, n: x, o: x, p: x, q: x}}"),
     "c.yaml:2:37: cgroups.labels[0].set: 17 labels in one rule. Remedy: set at most 16; more of "
     "them go into further rules"},
    {"AnUnknownKeyOfARule", with_rule("{match: /a, set: {x: y}, sets: {}}"),
     "c.yaml:2:45: cgroups.labels[0].sets: unknown key. Remedy: did you mean 'set'?"},
    {"AListOfLabels", with_rule("{match: /a, set: [x]}"),
     "c.yaml:2:37: cgroups.labels[0].set: found a list where a map of labels is expected. Remedy: "
     "write a map, for example {team: web}"},
    {"ARuleForNoPath", with_rule("{match: a, set: {x: y}}"),
     "c.yaml:2:28: cgroups.labels[0].match: 'a' does not start with '/'. Remedy: write the whole "
     "path below the cgroup mount, for example /system.slice/*.service; a regular expression "
     "starts with re:"},
    {"AListOfPathsForARule", with_rule("{match: [/a], set: {x: y}}"),
     "c.yaml:2:28: cgroups.labels[0].match: found a list where a path is expected. Remedy: write a "
     "path, for example /system.slice/*.service"},
    {"ALabelWithADash", with_rule("{match: /a, set: {my-team: y}}"),
     "c.yaml:2:38: cgroups.labels[0].set.my-team: 'my-team' is not a label name. Remedy: use 1 to "
     "128 of a-z, A-Z, 0-9 and '_', the first not a digit, and not '__' at the beginning"},
    {"ALabelThatStartsWithADigit", with_rule("{match: /a, set: {2nd: y}}"),
     "c.yaml:2:38: cgroups.labels[0].set.2nd: '2nd' is not a label name. Remedy: use 1 to 128 of "
     "a-z, A-Z, 0-9 and '_', the first not a digit, and not '__' at the beginning"},
    {"ALabelOfPrometheus", with_rule("{match: /a, set: {__name__: y}}"),
     "c.yaml:2:38: cgroups.labels[0].set.__name__: '__name__' starts with '__', which is reserved "
     "for Prometheus. Remedy: use 1 to 128 of a-z, A-Z, 0-9 and '_', the first not a digit, and "
     "not '__' at the beginning"},
    {"AnEmptyLabel", with_rule("{match: /a, set: {'': y}}"),
     "c.yaml:2:38: cgroups.labels[0].set.'': '' is not a label name. Remedy: use 1 to 128 of a-z, "
     "A-Z, 0-9 and '_', the first not a digit, and not '__' at the beginning"},
    {"ALabelOfManyLines", with_rule("{match: /a, set: {\"a\\nb\": y}}"),
     "c.yaml:2:38: cgroups.labels[0].set.'a\\nb': 'a\\nb' contains a control character. Remedy: "
     "write a name, for example team"},
    {"AListAsALabel", with_rule("{match: /a, set: {[x]: y}}"),
     "c.yaml:2:38: cgroups.labels[0].set: a key that is not a plain word. Remedy: write a map, for "
     "example {team: web}"},
    {"AVeryLongLabel", with_rule("{match: /a, set: {? " + std::string(129, 'n') + " : y}}"),
     "c.yaml:2:40: cgroups.labels[0].set." + std::string(60, 'n') + "...: '" +
         std::string(60, 'n') +
         "...' is not a label name. Remedy: use 1 to 128 of a-z, A-Z, 0-9 and '_', the first not a "
         "digit, and not '__' at the beginning"},
    {"OneLabelTwice", with_rule("{match: /a, set: {x: y, x: z}}"),
     "c.yaml:2:44: cgroups.labels[0].set.x: 'x' is repeated, first on line 2 column 38. Remedy: "
     "keep one of the two"},
    {"ALabelWithoutAValue", with_rule("{match: /a, set: {x: }}"),
     "c.yaml:2:38: cgroups.labels[0].set.x: the value is missing. Remedy: write a text, for "
     "example web or $1"},
    {"ALabelWithAnEmptyValue", with_rule("{match: /a, set: {x: ''}}"),
     "c.yaml:2:41: cgroups.labels[0].set.x: the value is empty, which sets nothing. Remedy: write "
     "one, or remove the label"},
    {"AVeryLongValue", with_rule("{match: /a, set: {x: " + std::string(257, 'v') + "}}"),
     "c.yaml:2:41: cgroups.labels[0].set.x: the value is 257 bytes long. Remedy: write at most "
     "256"},
    // Kubernetes.
    {"AnUnknownSourceOfNames", kOneGroup + "kubernetes: {metadata: api}\n",
     "c.yaml:2:24: kubernetes.metadata: 'api' is not a source of pod names. Remedy: write none or "
     "log_links"},
    {"ASourceOfNamesWithADash", kOneGroup + "kubernetes: {metadata: log-links}\n",
     "c.yaml:2:24: kubernetes.metadata: 'log-links' is not a source of pod names. Remedy: did you "
     "mean 'log_links'?"},
    {"ARelativeDirectory", kOneGroup + "kubernetes: {log_links: containers}\n",
     "c.yaml:2:25: kubernetes.log_links: 'containers' does not start with '/'. Remedy: write its "
     "whole path, for example /var/log/containers"},
    {"AVeryLongDirectory", kOneGroup + "kubernetes: {log_links: /" + std::string(4095, 'd') + "}\n",
     "c.yaml:2:25: kubernetes.log_links: the path is 4096 bytes long. Remedy: write at most 4095"},
    {"AVeryLongRevision", kOneGroup + "revision: " + std::string(129, 'r') + "\n",
     "c.yaml:2:11: revision: the revision is 129 bytes long. Remedy: write at most 128"},
    // Text that is not YAML.
    {"ATabAsIndentation",
     kOneGroup + "collection:\n"
                 "\x09interval: 1s\n",
     "c.yaml:3:10: not YAML: illegal map value. Remedy: " + kSyntaxRemedy},
    {"ATabAfterBlanks",
     kOneGroup + "collection:\n"
                 "  interval: 1s\n"
                 " \x09"
                 "foo: 1\n",
     "c.yaml:4:2: not YAML: illegal tab when looking for indentation. Remedy: " + kSyntaxRemedy},
    {"IndentationThatFitsNothing",
     kOneGroup + "cgroups:\n"
                 "    max: 5\n"
                 "  linger: 5s\n",
     "c.yaml:4:3: not YAML: end of map not found. Remedy: " + kSyntaxRemedy},
    {"TooMuchIndentation",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "    linger: 5s\n",
     "c.yaml:4:11: not YAML: illegal map value. Remedy: " + kSyntaxRemedy},
    {"AListItemAmongKeys",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "  - /a\n",
     "c.yaml:4:3: not YAML: end of map not found. Remedy: " + kSyntaxRemedy},
    {"TwoColons", kOneGroup + "collection: interval: 1s\n",
     "c.yaml:2:21: not YAML: illegal map value. Remedy: " + kSyntaxRemedy},
    {"ABracketThatIsNotClosed",
     "groups:\n"
     "  - name: a\n"
     "    events: [cycles, instructions\n"
     "    scope: cpu\n",
     "c.yaml:4:10: not YAML: end of sequence flow not found. Remedy: " + kSyntaxRemedy},
    {"ABraceThatIsNotClosed",
     kOneGroup + "limits: {max_series: 5\n"
                 "cgroups: {max: 5}\n",
     "c.yaml:3:8: not YAML: end of map flow not found. Remedy: " + kSyntaxRemedy},
    {"ABracketThatClosesNothing", kOneGroup + "cgroups: {include: [/a]]}\n",
     "c.yaml:2:24: not YAML: illegal flow end. Remedy: " + kSyntaxRemedy},
    {"AQuoteThatIsNotClosed",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - \"/a\n",
     "c.yaml:4:7: not YAML: this quote is never closed. Remedy: " + kSyntaxRemedy},
    {"ASingleQuoteThatIsNotClosed",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - '/a''s\n",
     "c.yaml:4:7: not YAML: this quote is never closed. Remedy: " + kSyntaxRemedy},
    {"AQuoteThatIsNotClosedOnTheLastLine",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "  include: [/a]\n"
                 "  exclude: ['/b",
     "c.yaml:5:16: not YAML: illegal EOF in scalar. Remedy: " + kSyntaxRemedy},
    {"ADocumentMarkInAQuote",
     kOneGroup + "cgroups:\n"
                 "  exclude: ['/b]\n"
                 "---\n"
                 "'",
     "c.yaml:4:1: not YAML: illegal document indicator in scalar. Remedy: " + kSyntaxRemedy},
    {"TextBehindABracket", kOneGroup + "limits: {max_series: 5} x\n",
     "c.yaml:2:25: not YAML: end of map not found. Remedy: " + kSyntaxRemedy},
    {"NoCommaInAList", kOneGroup + "cgroups: {include: [\"/a\" \"/b\"]}\n",
     "c.yaml:2:26: not YAML: end of sequence flow not found. Remedy: " + kSyntaxRemedy},
    {"ATextThatStartsWithAnAtSign", kOneGroup + "cgroups: {include: [@a]}\n",
     "c.yaml:2:21: not YAML: unknown token. Remedy: " + kSyntaxRemedy},
    {"ATextThatStartsWithAStar", kOneGroup + "cgroups: {include: [*.service]}\n",
     "c.yaml:2:21: not YAML: the referenced anchor is not defined. Remedy: " + kAliasRemedy},
    {"AnAliasWithoutAName", kOneGroup + "cgroups: {include: [* ]}\n",
     "c.yaml:2:22: not YAML: alias not found after *. Remedy: " + kAliasRemedy},
    {"AnUnknownEscape", kOneGroup + "cgroups: {include: [\"/a\\d\"]}\n",
     "c.yaml:2:26: not YAML: unknown escape character. Remedy: " + kSyntaxRemedy},
    {"AnUnknownDirective",
     "%YAML 9.9\n"
     "---\n",
     "c.yaml:1:1: not YAML: YAML major version too large. Remedy: " + kSyntaxRemedy},
    {"TooManyBrackets", kOneGroup + "limits: " + std::string(20, '['),
     "c.yaml:2:17: not YAML: lists and maps are nested too deep. Remedy: " + kSyntaxRemedy},
};

class ErrorsTest : public ::testing::TestWithParam<ErrorRow> {};

TEST_P(ErrorsTest, IsReportedAs) {
  const Loaded loaded = load_text(GetParam().yaml, "c.yaml");

  EXPECT_THAT(messages(loaded), ElementsAre(GetParam().message));
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
  const std::string& text = GetParam().yaml;
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

INSTANTIATE_TEST_SUITE_P(Text, ErrorsTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

/// A folder that everybody may enter, so that only the file itself can be what is refused.
class FileErrorsTest : public ::testing::Test {
 protected:
  FileErrorsTest() {
    std::string pattern = ::testing::TempDir() + "/config_test_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
    ::chmod(folder_.c_str(), 0755);
  }
  ~FileErrorsTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& content) const {
    const std::string path = folder_ + "/c.yaml";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_;
};

TEST_F(FileErrorsTest, AnEmptyFileHasNoGroups) {
  const std::string path = write("");

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre(path + ":1:1: no groups: nothing would be counted. Remedy: add 'groups: "
                                 "[{name: core, events: [cycles, instructions], scope: cpu}]'"));
}

TEST_F(FileErrorsTest, AnErrorInAFileNamesItsPath) {
  const std::string path = write(kOneGroup + "collection: {interval: 5}\n");

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre(path + ":2:24: collection.interval: '5' has no unit. Remedy: " +
                          kDurationRemedy));
}

TEST_F(FileErrorsTest, AMissingFileIsNamed) {
  const std::string path = folder_ + "/none.yaml";

  const Result<Loaded> loaded = load_file(path);

  EXPECT_THAT(messages(loaded),
              ElementsAre("read the configuration '" + path +
                          "': No such file or directory (ENOENT). Remedy: create the file, or set "
                          "another one with the configuration file"));
  EXPECT_EQ(loaded.error().code, ENOENT);
}

TEST_F(FileErrorsTest, WithoutAFreeDescriptorTheLimitIsToBeRaised) {
  const std::string path = write(kOneGroup);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 0;

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<Loaded> loaded = load_file(path);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

  EXPECT_THAT(messages(loaded), ElementsAre("read the configuration '" + path +
                                            "': Too many open files (EMFILE). Remedy: raise the "
                                            "limit of open files of this process (ulimit -n)"));
}

TEST_F(FileErrorsTest, ADirectoryIsNamed) {
  const Result<Loaded> loaded = load_file(folder_);

  EXPECT_THAT(messages(loaded),
              ElementsAre("read the configuration '" + folder_ +
                          "': Is a directory (EISDIR). Remedy: name a file in this directory"));
  EXPECT_EQ(loaded.error().code, EISDIR);
}

TEST_F(FileErrorsTest, AFileUsedAsADirectoryIsNamed) {
  const std::string path = write("") + "/c.yaml";

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre("read the configuration '" + path +
                          "': Not a directory (ENOTDIR). Remedy: a part of this path is a file; "
                          "correct the configuration file"));
}

TEST_F(FileErrorsTest, AFileOf10MegabytesIsTooLarge) {
  const std::string path = write(std::string(10'000'000, '#'));

  const Result<Loaded> loaded = load_file(path);

  EXPECT_THAT(messages(loaded), ElementsAre("read the configuration '" + path +
                                            "': File too large (EFBIG). Remedy: a configuration is "
                                            "1 MiB at most; is this the right file?"));
  EXPECT_EQ(loaded.error().code, EFBIG);
}

TEST_F(FileErrorsTest, AFifoIsRefusedAndNotWaitedFor) {
  const std::string path = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre("read the configuration '" + path +
                          "', which is a FIFO or pipe: Invalid argument (EINVAL). Remedy: write "
                          "its content into a regular file, and name that file"));
}

TEST_F(FileErrorsTest, ADeviceIsRefused) {
  EXPECT_THAT(messages(load_file("/dev/zero")),
              ElementsAre(testing::HasSubstr("which is a character device")));
}

TEST_F(FileErrorsTest, AFileOfExactlyTheLargestSizeIsRead) {
  std::string content = kOneGroup;
  content.resize(yaml::kMaxFileBytes, '#');

  EXPECT_THAT(messages(load_file(write(content))), ElementsAre());
}

TEST(TextErrorsTest, ATextOf10MegabytesIsTooLarge) {
  EXPECT_THAT(messages(load_text(std::string(10'000'000, '#'), "c.yaml")),
              ElementsAre("c.yaml: the text is too large. Remedy: a configuration is 1 MiB at "
                          "most; is this the right file?"));
}

/// In a process of its own, as somebody who may not read the file: root may read everything.
[[noreturn]] void print_errors_as_nobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::seteuid(kNobody) != 0) std::_Exit(2);
  for (const std::string& message : messages(load_file(path))) std::cerr << message << '\n';
  std::_Exit(0);
}

TEST_F(FileErrorsTest, AnUnreadableFileIsNamed) {
  const std::string path = write(kOneGroup);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);

  EXPECT_EXIT(print_errors_as_nobody(path), ExitedWithCode(0),
              ::testing::StrEq("read the configuration '" + path +
                               "': Permission denied (EACCES). Remedy: let the user of this "
                               "process read the file and enter the directories above it\n"));
}

}  // namespace
}  // namespace pex::config
