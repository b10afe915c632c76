#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// The map "cpus", of the file or of a group.
void read_cpus(const yaml::Value& value, Cpus& cpus);

/// Appends its keys, which belong to `map`.
void list_cpus_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
