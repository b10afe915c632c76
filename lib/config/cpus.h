#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/reference.h"
#include "config/value.h"

namespace pex::config {

/// The map "cpus", of the file or of a group.
void read_cpus(const Value& value, Cpus& cpus);

/// Appends its keys, as they stand in `map`.
void list_cpus_keys(const std::string& map, std::vector<KeyReference>& all);

}  // namespace pex::config
