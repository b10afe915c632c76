#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// What is wrong with a configuration that counts nothing, and what to add to it.
inline constexpr std::string_view kNoGroups = "no groups: nothing would be counted";
inline constexpr std::string_view kGroupExample =
    "add 'groups: [{name: core, events: [cycles, instructions], scope: cpu}]'";

/// Reads what stands behind `groups:`, and checks what no single key of a group can be blamed for.
void read_groups(const yaml::Value& value, std::vector<Group>& groups);

/// Appends the keys of a group, which stands in the list `list`, and those of its events.
void list_group_keys(const std::string& list, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
