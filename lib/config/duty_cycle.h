#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/diagnostic.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// The key `duty_cycle` of a group.
void read_duty_cycle(const yaml::Value& value, Group& group);
void list_duty_cycle_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

/// Counters are stopped and started by polls, so a group that counts for less than two of them
/// would be measured by chance.
void check_duty_cycles(const Config& config, yaml::Diagnostics& diagnostics);

}  // namespace pex::config
