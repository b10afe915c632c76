#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// The map "when" of a group.
void read_when(const yaml::Value& value, When& when);

/// "5", "5.13" or "5.13.2".
std::optional<Version> parse_version(std::string_view text);

/// Appends its keys, which belong to `map`.
void list_when_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
