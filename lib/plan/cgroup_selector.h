#pragma once

#include <vector>

#include "base/result.h"
#include "cgroup/label_rules.h"
#include "cgroup/selection.h"
#include "config/config.h"
#include "targets/counting_plan.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// Which cgroups are counted, and the labels of the operator's rules.
struct SelectedCgroups {
  cgroup::Selection selection;
  cgroup::LabelRules labels;
  std::vector<collect::SumPlan> sums;

  bool operator==(const SelectedCgroups&) const = default;
};

/// Compiles texts to patterns and rules. Needs no machine. Fails with all errors, each with its
/// position, in the order of the file (config/load.h).
Result<SelectedCgroups, std::vector<yaml::Diagnostic>> select_cgroups(
    const config::Cgroups& cgroups, config::PodMetadata metadata);

}  // namespace pex::plan
