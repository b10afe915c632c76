#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "yaml/reference.h"
#include "yaml/value.h"

namespace pex::config {

/// Reads the value of `cgroups.sums`. Labels are only checked to be texts, each once.
void read_sums(const yaml::Value& value, std::vector<CgroupSum>& sums);

/// For the documents.
std::string form_of_sums();

/// Appends the keys of a sum, which belong to `list`.
void list_sum_keys(const std::string& list, std::vector<yaml::KeyReference>& all);

}  // namespace pex::config
