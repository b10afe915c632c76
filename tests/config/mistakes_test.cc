#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "config/load.h"

namespace pex::config {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;

/// All that a configuration needs; it is one line, so what follows it starts on line 2.
const std::string kOneGroup = "groups: [{name: a, events: [x], scope: cpu}]\n";

/// "e0, e1, ..."
std::string events(int count) {
  std::string list = "e0";
  for (int i = 1; i < count; ++i) list += ", e" + std::to_string(i);
  return list;
}

std::vector<std::string> messages(const Loaded& loaded) {
  std::vector<std::string> all;
  for (const Error& error : loaded.mistakes) all.push_back(describe(error));
  return all;
}

/// What an operator may write, and the only thing said about it.
struct MistakeRow {
  std::string name;
  std::string yaml;
  std::string message;
};

const std::vector<MistakeRow> kRows = {
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
     "c.yaml:1:1: found a list where a map of keys is expected. Remedy: the keys here are: "
     "collection, groups, cgroups, limits"},
    {"AWordAtTheTop", "core\n",
     "c.yaml:1:1: found the text 'core' where a map of keys is expected. Remedy: the keys here "
     "are: collection, groups, cgroups, limits"},
    {"TwoDocuments",
     kOneGroup + "---\n"
                 "collection: {interval: 5}\n",
     "c.yaml:2:1: a second document starts here. Remedy: keep one, and remove the '---' between"},
    {"TextBehindTheDocument",
     kOneGroup + "...\n"
                 "{}\n",
     "c.yaml:3:1: this belongs to nothing above. Remedy: correct the indentation, or remove it"},
    {"ACommaAmongKeys", kOneGroup + ", \n",
     "c.yaml:2:1: this fits nothing above. Remedy: remove it, or correct its indentation: the keys "
     "of one map start in one column"},
    {"ANulByte",
     kOneGroup + std::string("colle\0"
                             "ction: 1\n",
                             15),
     "c.yaml:2:6: the control character 0x00. Remedy: remove it; a text file holds none but tabs "
     "and line breaks"},
    {"AnEscapeSequence", kOneGroup + "# \x1b[31m\n",
     "c.yaml:2:3: the control character 0x1b. Remedy: remove it; a text file holds none but tabs "
     "and line breaks"},
    {"ALoneCarriageReturn", kOneGroup + "cgroups: {max: 1}\x0dlimits: {}\n",
     "c.yaml:2:18: the control character 0x0d. Remedy: remove it; a text file holds none but tabs "
     "and line breaks"},
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
     "c.yaml:2:14: collection.period: unknown key. Remedy: the keys here are: interval"},
    {"AnUnknownKeyAtTheTop", kOneGroup + "web: {}\n",
     "c.yaml:2:1: web: unknown key. Remedy: the keys here are: collection, groups, cgroups, "
     "limits"},
    {"AMergeKey", kOneGroup + "<<: {limits: 5}\n",
     "c.yaml:2:1: '<<': unknown key. Remedy: the keys here are: collection, groups, cgroups, "
     "limits"},
    {"AKeyWithBlanks", kOneGroup + "'max series': 5\n",
     "c.yaml:2:1: 'max series': unknown key. Remedy: the keys here are: collection, groups, "
     "cgroups, limits"},
    {"AnEmptyKey", kOneGroup + "'': 5\n",
     "c.yaml:2:1: '': unknown key. Remedy: the keys here are: collection, groups, cgroups, limits"},
    {"AKeyOfManyLines", kOneGroup + "\"a\\nb\": 5\n",
     "c.yaml:2:1: 'a\\nb': unknown key. Remedy: the keys here are: collection, groups, cgroups, "
     "limits"},
    {"AVeryLongKey", kOneGroup + std::string(100, 'k') + ": 5\n",
     "c.yaml:2:1: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...: unknown key. "
     "Remedy: the keys here are: collection, groups, cgroups, limits"},
    {"AListAsAKey",
     kOneGroup + "? [x]\n"
                 ": y\n",
     "c.yaml:2:3: a key that is not a plain word. Remedy: the keys here are: collection, groups, "
     "cgroups, limits"},
    {"NoKeyBeforeTheColon", kOneGroup + ": y\n",
     "c.yaml:2:1: a key that is not a plain word. Remedy: the keys here are: collection, groups, "
     "cgroups, limits"},
    {"ADuplicateKey",
     kOneGroup + "collection:\n"
                 "  interval: 1s\n"
                 "  interval: 2s\n",
     "c.yaml:4:3: collection.interval: 'interval' stands twice, first on line 3 column 3. Remedy: "
     "keep one of the two"},
    {"ADuplicateKeyAtTheTop", kOneGroup + "groups: []\n",
     "c.yaml:2:1: groups: 'groups' stands twice, first on line 1 column 1. Remedy: keep one of the "
     "two"},
    // Values of the wrong kind.
    {"AListForADuration", kOneGroup + "collection: {interval: [1s]}\n",
     "c.yaml:2:24: collection.interval: found a list where a duration is expected. Remedy: write a "
     "duration from 100ms to 1h"},
    {"AMapForADuration", kOneGroup + "collection: {interval: {s: 1}}\n",
     "c.yaml:2:24: collection.interval: found a map where a duration is expected. Remedy: write a "
     "duration from 100ms to 1h"},
    {"AWordForAMap", kOneGroup + "limits: 5\n",
     "c.yaml:2:9: limits: found the text '5' where a map of keys is expected. Remedy: the keys "
     "here are: max_open_events, max_series; write at least one as 'key: value', or remove limits"},
    {"AListForAMap", kOneGroup + "limits: [5]\n",
     "c.yaml:2:9: limits: found a list where a map of keys is expected. Remedy: the keys here are: "
     "max_open_events, max_series; write at least one as 'key: value', or remove limits"},
    {"AWordForAList", kOneGroup + "cgroups: {include: /a}\n",
     "c.yaml:2:20: cgroups.include: found the text '/a' where a list of paths is expected. Remedy: "
     "write a list, for example [/system.slice/*.service]"},
    {"AWordForAGroup", "groups: [core]\n",
     "c.yaml:1:10: groups[0]: found the text 'core' where a map of keys is expected. Remedy: the "
     "keys here are: name, events, scope, pinned; write at least one as 'key: value', or remove "
     "groups[0]"},
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
     "c.yaml:3:3: collection.interval: the value is missing. Remedy: write a duration from 100ms "
     "to 1h"},
    {"ANullForANumber", kOneGroup + "limits: {max_series: ~}\n",
     "c.yaml:2:10: limits.max_series: the value is missing. Remedy: write a whole number from 1 to "
     "10000000"},
    {"AllKeysCommentedOut",
     kOneGroup + "cgroups:\n"
                 "  # max: 5\n"
                 "limits: {max_series: 5}\n",
     "c.yaml:2:1: cgroups: the value is missing. Remedy: the keys here are: include, exclude, max, "
     "linger; write at least one as 'key: value', or remove cgroups"},
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
     "c.yaml:3:19: cgroups.linger: a YAML alias stands here. Remedy: write the value itself; "
     "aliases are not followed"},
    {"ABlock",
     kOneGroup + "collection:\n"
                 "  interval: >-\n"
                 "    1s\n",
     "c.yaml:3:13: collection.interval: '1s' runs over more than one line. Remedy: write each text "
     "on one line, and items and keys in the column of those above"},
    {"AnItemIndentedTooFar",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - /a\n"
                 "     - /b\n",
     "c.yaml:4:7: cgroups.include[0]: '/a - /b' runs over more than one line. Remedy: write each "
     "text on one line, and items and keys in the column of those above"},
    {"AQuotedTextOfTwoLines",
     kOneGroup + "cgroups:\n"
                 "  include: [\"/a\n"
                 "    /b\"]\n",
     "c.yaml:3:13: cgroups.include[0]: '/a /b' runs over more than one line. Remedy: write each "
     "text on one line, and items and keys in the column of those above"},
    {"NoBlankAfterTheColon", kOneGroup + "limits: {max_series:5}\n",
     "c.yaml:2:10: limits.'max_series:5': unknown key. Remedy: did you mean 'max_series'?"},
    {"ATag", kOneGroup + "collection: {interval: !!str 1s}\n",
     "c.yaml:2:24: collection.interval: the YAML tag '!!str' stands here. Remedy: remove the tag"},
    // Durations.
    {"ADurationWithoutUnit",
     kOneGroup + "collection:\n"
                 "  interval: 5\n",
     "c.yaml:3:13: collection.interval: '5' has no unit. Remedy: write 5s or 500ms"},
    {"AFractionOfASecond", kOneGroup + "collection: {interval: 1.5s}\n",
     "c.yaml:2:24: collection.interval: '1.5s' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"ANegativeDuration", kOneGroup + "collection: {interval: -1s}\n",
     "c.yaml:2:24: collection.interval: '-1s' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"TwoUnits", kOneGroup + "collection: {interval: 1m30s}\n",
     "c.yaml:2:24: collection.interval: '1m30s' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"ABlankBeforeTheUnit", kOneGroup + "collection: {interval: 5 s}\n",
     "c.yaml:2:24: collection.interval: '5 s' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"AnUnknownUnit", kOneGroup + "collection: {interval: 10sec}\n",
     "c.yaml:2:24: collection.interval: 'sec' is not a unit of time. Remedy: use one of ms, s, m, "
     "h"},
    {"AUnitInCapitals", kOneGroup + "collection: {interval: 10S}\n",
     "c.yaml:2:24: collection.interval: 'S' is not a unit of time. Remedy: use one of ms, s, m, h"},
    {"AWordForADuration", kOneGroup + "collection: {interval: often}\n",
     "c.yaml:2:24: collection.interval: 'often' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"AnEmptyDuration", kOneGroup + "collection: {interval: ''}\n",
     "c.yaml:2:24: collection.interval: '' is not a whole number and a unit. Remedy: write a "
     "number and one of ms, s, m, h, for example 1s"},
    {"ADurationBelowItsRange", kOneGroup + "collection: {interval: 99ms}\n",
     "c.yaml:2:24: collection.interval: '99ms' is out of range. Remedy: write a duration from "
     "100ms to 1h"},
    {"ADurationAboveItsRange", kOneGroup + "cgroups: {linger: 61m}\n",
     "c.yaml:2:19: cgroups.linger: '61m' is out of range. Remedy: write a duration from 0s to 1h"},
    {"ADurationBeyondAllBounds", kOneGroup + "cgroups: {linger: 99999999999999999999h}\n",
     "c.yaml:2:19: cgroups.linger: '99999999999999999999h' is out of range. Remedy: write a "
     "duration from 0s to 1h"},
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
    {"AnExponent", kOneGroup + "cgroups: {max: 1e3}\n",
     "c.yaml:2:16: cgroups.max: '1e3' is not in plain digits. Remedy: write a whole number from 0 "
     "to 100000, in plain digits"},
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
    {"ANumberBelowItsRange", kOneGroup + "limits: {max_open_events: 0}\n",
     "c.yaml:2:27: limits.max_open_events: '0' is out of range. Remedy: write a whole number from "
     "1 to 10000000"},
    {"ANumberBeyondAllBounds", kOneGroup + "limits: {max_series: 18446744073709551616}\n",
     "c.yaml:2:22: limits.max_series: '18446744073709551616' is out of range. Remedy: write a "
     "whole number from 1 to 10000000"},
    {"YesForAFlag", "groups: [{name: a, events: [x], scope: cpu, pinned: yes}]\n",
     "c.yaml:1:53: groups[0].pinned: 'yes' is not true or false. Remedy: write true or false"},
    {"TrueInCapitals", "groups: [{name: a, events: [x], scope: cpu, pinned: True}]\n",
     "c.yaml:1:53: groups[0].pinned: 'True' is not true or false. Remedy: write true or false"},
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
     "c.yaml:3:12: groups[1].name: 'a' stands twice, first on line 2 column 12. Remedy: give each "
     "group a name of its own"},
    {"AGroupWithNoEvents", "groups: [{name: a, events: [], scope: cpu}]\n",
     "c.yaml:1:28: groups[0].events: a group of 0 events. Remedy: list 1 to 64 events; more of "
     "them go into further groups"},
    {"AGroupOf65Events", "groups: [{name: a, scope: cpu, events: [" + events(65) + "]}]\n",
     "c.yaml:1:40: groups[0].events: a group of 65 events. Remedy: list 1 to 64 events; more of "
     "them go into further groups"},
    {"AnEmptyEvent", "groups: [{name: a, events: [x, ' '], scope: cpu}]\n",
     "c.yaml:1:32: groups[0].events[1]: the event is empty. Remedy: name one, or remove it"},
    {"AnEventTwice", "groups: [{name: a, events: [x, y, x], scope: cpu}]\n",
     "c.yaml:1:35: groups[0].events[2]: 'x' stands twice, first on line 1 column 29. Remedy: "
     "remove one of the two"},
    {"AnEventOfTwoLines", "groups: [{name: a, events: [\"x\\ny\"], scope: cpu}]\n",
     "c.yaml:1:29: groups[0].events[0]: 'x\\ny' holds a control character. Remedy: write an event, "
     "for example cycles"},
    {"AMisspelledScope", "groups: [{name: a, events: [x], scope: cgroups}]\n",
     "c.yaml:1:40: groups[0].scope: 'cgroups' is not a scope. Remedy: did you mean 'cgroup'?"},
    {"AnUnknownScope", "groups: [{name: a, events: [x], scope: [cpu, core]}]\n",
     "c.yaml:1:46: groups[0].scope[1]: 'core' is not a scope. Remedy: write cpu, cgroup or [cpu, "
     "cgroup]"},
    {"AScopeTwice", "groups: [{name: a, events: [x], scope: [cpu, cpu]}]\n",
     "c.yaml:1:46: groups[0].scope[1]: 'cpu' stands twice, first on line 1 column 41. Remedy: "
     "remove one of the two"},
    {"NoScopeInTheList", "groups: [{name: a, events: [x], scope: []}]\n",
     "c.yaml:1:40: groups[0].scope: no scope: it would count nowhere. Remedy: write cpu, cgroup or "
     "both"},
    {"AMapForAScope", "groups: [{name: a, events: [x], scope: {cpu: true}}]\n",
     "c.yaml:1:40: groups[0].scope: found a map where cpu, cgroup or a list of both is expected. "
     "Remedy: write cpu, cgroup or [cpu, cgroup]"},
    // Paths of cgroups.
    {"APathWithoutASlash", kOneGroup + "cgroups: {include: [system.slice/*.service]}\n",
     "c.yaml:2:21: cgroups.include[0]: 'system.slice/*.service' does not start with '/'. Remedy: "
     "write the whole path below the cgroup mount, for example /system.slice/*.service"},
    {"AnEmptyPath", kOneGroup + "cgroups: {exclude: ['']}\n",
     "c.yaml:2:21: cgroups.exclude[0]: '' does not start with '/'. Remedy: write the whole path "
     "below the cgroup mount, for example /system.slice/*.service"},
    {"APathWithAnEscapeSequence", kOneGroup + "cgroups: {include: [\"/a\\e[31m\\u202e\"]}\n",
     "c.yaml:2:21: cgroups.include[0]: '/a\\x1b[31m\\u202e' holds a control character. Remedy: "
     "write a path, for example /system.slice/*.service"},
    // Text that is not YAML.
    {"ATabAsIndentation",
     kOneGroup + "collection:\n"
                 "\x09interval: 1s\n",
     "c.yaml:3:1: a tab in the indentation. Remedy: indent with blanks only"},
    {"ATabAfterBlanks",
     kOneGroup + "collection:\n"
                 "  interval: 1s\n"
                 " \x09"
                 "foo: 1\n",
     "c.yaml:4:2: a tab in the indentation. Remedy: indent with blanks only"},
    {"IndentationThatFitsNothing",
     kOneGroup + "cgroups:\n"
                 "    max: 5\n"
                 "  linger: 5s\n",
     "c.yaml:4:3: this fits nothing above. Remedy: remove it, or correct its indentation: the keys "
     "of one map start in one column"},
    {"TooMuchIndentation",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "    linger: 5s\n",
     "c.yaml:4:11: a key cannot stand here. Remedy: indent the keys of one map alike, and put text "
     "that holds ': ' in quotes"},
    {"AListItemAmongKeys",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "  - /a\n",
     "c.yaml:4:3: this fits nothing above. Remedy: remove it, or correct its indentation: the keys "
     "of one map start in one column"},
    {"TwoColons", kOneGroup + "collection: interval: 1s\n",
     "c.yaml:2:21: a key cannot stand here. Remedy: indent the keys of one map alike, and put text "
     "that holds ': ' in quotes"},
    {"ABracketThatIsNotClosed",
     "groups:\n"
     "  - name: a\n"
     "    events: [cycles, instructions\n"
     "    scope: cpu\n",
     "c.yaml:3:13: this '[' is not closed, or a ',' is missing in it. Remedy: close it with ']'"},
    {"ABraceThatIsNotClosed",
     kOneGroup + "limits: {max_series: 5\n"
                 "cgroups: {max: 5}\n",
     "c.yaml:2:9: this '{' is not closed, or a ',' is missing in it. Remedy: close it with '}'"},
    {"ABracketThatClosesNothing", kOneGroup + "cgroups: {include: [/a]]}\n",
     "c.yaml:2:24: this bracket closes nothing. Remedy: remove it, or open it first"},
    {"AQuoteThatIsNotClosed",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - \"/a\n",
     "c.yaml:4:7: this quote is never closed. Remedy: end the text with the quote that starts it"},
    {"ASingleQuoteThatIsNotClosed",
     kOneGroup + "cgroups:\n"
                 "  include:\n"
                 "    - '/a''s\n",
     "c.yaml:4:7: this quote is never closed. Remedy: end the text with the quote that starts it"},
    {"AQuoteThatIsNotClosedOnTheLastLine",
     kOneGroup + "cgroups:\n"
                 "  max: 5\n"
                 "  include: [/a]\n"
                 "  exclude: ['/b",
     "c.yaml:5:12: a text in quotes after this is never closed. Remedy: end it with the quote that "
     "starts it"},
    {"ADocumentMarkInAQuote",
     kOneGroup + "cgroups:\n"
                 "  exclude: ['/b]\n"
                 "---\n"
                 "'",
     "c.yaml:4:1: a text in quotes before this is never closed. Remedy: end it with the quote that "
     "starts it"},
    {"TextBehindABracket", kOneGroup + "limits: {max_series: 5} x\n",
     "c.yaml:2:25: this fits nothing above. Remedy: remove it, or correct its indentation: the "
     "keys of one map start in one column"},
    {"NoCommaInAList", kOneGroup + "cgroups: {include: [\"/a\" \"/b\"]}\n",
     "c.yaml:2:20: this '[' is not closed, or a ',' is missing in it. Remedy: close it with ']'"},
    {"ATextThatStartsWithAnAtSign", kOneGroup + "cgroups: {include: [@a]}\n",
     "c.yaml:2:21: this character cannot start a text. Remedy: put the text in quotes"},
    {"ATextThatStartsWithAStar", kOneGroup + "cgroups: {include: [*.service]}\n",
     "c.yaml:2:21: '*' starts a YAML alias, and there is none like it. Remedy: put text that "
     "starts with '*' in quotes"},
    {"AnUnknownEscape", kOneGroup + "cgroups: {include: [\"/a\\d\"]}\n",
     "c.yaml:2:26: an unknown escape after '\\'. Remedy: write \\\\ for a backslash, or put the "
     "text in single quotes"},
    {"AnUnknownDirective",
     "%YAML 9.9\n"
     "---\n",
     "c.yaml:1:1: not YAML: YAML major version too large. Remedy: correct it, or put the text in "
     "quotes"},
    {"TooManyBrackets", kOneGroup + "limits: " + std::string(20, '['),
     "c.yaml:2:17: lists and maps are nested too deep. Remedy: write fewer brackets, dashes and "
     "indents"},
};

class MistakesTest : public ::testing::TestWithParam<MistakeRow> {};

TEST_P(MistakesTest, IsReportedAs) {
  const Loaded loaded = load_text(GetParam().yaml, "c.yaml");

  EXPECT_THAT(messages(loaded), ElementsAre(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Text, MistakesTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

/// A folder that everybody may enter, so that only the file itself can be what is refused.
class FileMistakesTest : public ::testing::Test {
 protected:
  FileMistakesTest() {
    std::string pattern = ::testing::TempDir() + "/config_test_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
    ::chmod(folder_.c_str(), 0755);
  }
  ~FileMistakesTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& content) const {
    const std::string path = folder_ + "/c.yaml";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string folder_;
};

TEST_F(FileMistakesTest, AnEmptyFileHasNoGroups) {
  const std::string path = write("");

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre(path + ":1:1: no groups: nothing would be counted. Remedy: add 'groups: "
                                 "[{name: core, events: [cycles, instructions], scope: cpu}]'"));
}

TEST_F(FileMistakesTest, AMistakeInAFileNamesItsPath) {
  const std::string path = write(kOneGroup + "collection: {interval: 5}\n");

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre(path + ":2:24: collection.interval: '5' has no unit. "
                                 "Remedy: write 5s or 500ms"));
}

TEST_F(FileMistakesTest, AMissingFileIsNamed) {
  const std::string path = folder_ + "/none.yaml";

  const Loaded loaded = load_file(path);

  EXPECT_THAT(messages(loaded),
              ElementsAre("read the configuration '" + path +
                          "': No such file or directory (ENOENT). Remedy: create the file, or "
                          "name another one with --config.file"));
  EXPECT_EQ(loaded.mistakes[0].code, ENOENT);
}

TEST_F(FileMistakesTest, ADirectoryIsNamed) {
  const Loaded loaded = load_file(folder_);

  EXPECT_THAT(messages(loaded), ElementsAre("read the configuration '" + folder_ +
                                            "': Is a directory (EISDIR). "
                                            "Remedy: name a file in this directory"));
  EXPECT_EQ(loaded.mistakes[0].code, EISDIR);
}

TEST_F(FileMistakesTest, AFileUsedAsADirectoryIsNamed) {
  const std::string path = write("") + "/c.yaml";

  EXPECT_THAT(messages(load_file(path)),
              ElementsAre("read the configuration '" + path +
                          "': Not a directory (ENOTDIR). Remedy: a part of this path is a file; "
                          "correct --config.file"));
}

TEST_F(FileMistakesTest, AFileOf10MegabytesIsTooLarge) {
  const std::string path = write(std::string(10'000'000, '#'));

  const Loaded loaded = load_file(path);

  EXPECT_THAT(messages(loaded),
              ElementsAre("read the configuration '" + path +
                          "': File too large (EFBIG). Remedy: a configuration is 1 MiB at most; "
                          "is this the right file?"));
  EXPECT_EQ(loaded.mistakes[0].code, EFBIG);
}

TEST_F(FileMistakesTest, AFileOfExactlyTheLargestSizeIsRead) {
  std::string content = kOneGroup;
  content.resize(kMaxConfigBytes, '#');

  EXPECT_THAT(messages(load_file(write(content))), ElementsAre());
}

TEST(TextMistakesTest, ATextOf10MegabytesIsTooLarge) {
  EXPECT_THAT(messages(load_text(std::string(10'000'000, '#'), "c.yaml")),
              ElementsAre("c.yaml: the text is too large. Remedy: a configuration is 1 MiB at "
                          "most; is this the right file?"));
}

/// In a process of its own, as somebody who may not read the file: root may read everything.
[[noreturn]] void print_mistakes_as_nobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::seteuid(kNobody) != 0) std::_Exit(2);
  for (const std::string& message : messages(load_file(path))) std::cerr << message << '\n';
  std::_Exit(0);
}

TEST_F(FileMistakesTest, AnUnreadableFileIsNamed) {
  const std::string path = write(kOneGroup);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);

  EXPECT_EXIT(print_mistakes_as_nobody(path), ExitedWithCode(0),
              ::testing::StrEq("read the configuration '" + path +
                               "': Permission denied (EACCES). Remedy: let the user of this "
                               "process read the file and enter the directories above it\n"));
}

}  // namespace
}  // namespace pex::config
