#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// The map "when" of a group.
void read_when(const yaml::Value& value, When& when);

/// Appends its keys, which belong to `map`.
void list_when_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
