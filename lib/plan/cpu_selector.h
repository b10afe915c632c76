#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/roots.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// The CPUs that a configuration leaves out on this machine, whether they are online or not;
/// rising.
struct LeftOutCpus {
  std::vector<int> everywhere;
  std::map<std::string, std::vector<int>>
      of_groups;  ///< next to those; by name, where there are any

  /// Those of a group: no others, and those left out everywhere are not among them.
  const std::vector<int>& of(const std::string& group) const;
};

/// Fails with everything that is wrong: lists that are none, and what would leave no CPU of
/// `online`.
Result<LeftOutCpus, std::vector<yaml::Diagnostic>> select_cpus(const config::Config& config,
                                                    const host::HostRoots& roots,
                                                    const std::vector<int>& online);

/// Those of `cpus` that are not in `left_out`; both rising.
std::vector<int> without(const std::vector<int>& cpus, const std::vector<int>& left_out);

}  // namespace pex::plan
