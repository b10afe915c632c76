#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// Reads the value of `cgroups:`. Patterns and the '$' of labels are only checked to be texts of
/// limited length.
void read_cgroups(const yaml::Value& value, Cgroups& cgroups);

/// Reads the value of `kubernetes:`.
void read_kubernetes(const yaml::Value& value, Kubernetes& kubernetes);

/// Appends the keys of these maps, which belong to `map`.
void list_cgroups_keys(const std::string& map, std::vector<yaml::KeyReference>& all);
void list_kubernetes_keys(const std::string& map, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
