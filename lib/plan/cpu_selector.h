#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/roots.h"
#include "yaml/diagnostic.h"

namespace pex::plan {

/// The CPUs that a configuration leaves out on this machine, online or not; rising.
struct LeftOutCpus {
  std::vector<int> everywhere;
  std::map<std::string, std::vector<int>> of_groups;  ///< in addition; by name, if there are any

  /// The CPUs that only this group leaves out.
  const std::vector<int>& of(const std::string& group) const;
};

/// Fails with all errors: malformed lists, and lists that leave no CPU of `online`, except those of
/// groups that are not counted here: they are for other machines.
Result<LeftOutCpus, std::vector<yaml::Diagnostic>> select_cpus(
    const config::Config& config, const host::HostRoots& roots, const std::vector<int>& online,
    const std::function<bool(const config::Group&)>& is_counted);

/// The CPUs of `cpus` that are not in `left_out`; both rising.
std::vector<int> without(const std::vector<int>& cpus, const std::vector<int>& left_out);

}  // namespace pex::plan
