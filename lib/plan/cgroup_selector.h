#pragma once

#include <vector>

#include "base/result.h"
#include "cgroup/label_rules.h"
#include "cgroup/selection.h"
#include "config/config.h"

namespace pex::plan {

/// Which cgroups are counted, and what the operator's rules call them.
struct ChosenCgroups {
  cgroup::Selection selection;
  cgroup::LabelRules labels;

  bool operator==(const ChosenCgroups&) const = default;
};

/// From text to patterns and rules. The errors are all mistakes that can be told with no machine at
/// hand, each with its place, in the order of the file (config/load.h).
Result<ChosenCgroups, std::vector<Error>> choose_cgroups(const config::Cgroups& cgroups);

}  // namespace pex::plan
