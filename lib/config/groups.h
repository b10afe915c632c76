#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// The error of a configuration that counts nothing, and its remedy.
inline constexpr std::string_view kNoGroups = "no groups: nothing would be counted";
inline constexpr std::string_view kGroupExample =
    "add 'groups: [{name: core, events: [cycles, instructions], scope: cpu}]'";

/// Reads the value of `groups:`, and checks the keys of each group against each other. Adds the
/// names of those that are left out, because a part of them is unknown, to `left_out`.
void read_groups(const yaml::Value& value, std::vector<Group>& groups,
                 std::vector<std::string>& left_out);

/// Appends the keys of a group in the list `list`, and those of its events.
void list_group_keys(const std::string& list, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
