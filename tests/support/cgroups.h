#pragma once

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_tree.h"
#include "targets/targets.h"

namespace pex::test {

/// A cgroup that is made below `tree`, the root of all of them.
inline std::shared_ptr<const cgroup::Cgroup> make_cgroup(TempTree& tree, const std::string& path,
                                                         std::uint64_t id = 0) {
  tree.write(path + "/cgroup.procs", "");
  auto cgroup = std::make_shared<cgroup::Cgroup>();
  cgroup->path = path;
  cgroup->id = id;
  cgroup->directory.reset(::open(tree.path(path).c_str(), O_RDONLY | O_CLOEXEC));
  return cgroup;
}

inline std::shared_ptr<collect::TargetSet> targets_of(std::vector<collect::CgroupTarget> cgroups,
                                                      collect::MachineCpus cpus = {{0}, {}, {}}) {
  auto set = std::make_shared<collect::TargetSet>();
  set->cpus = std::make_shared<const collect::MachineCpus>(std::move(cpus));
  set->present = cgroups.size();
  set->cgroups = std::move(cgroups);
  return set;
}

}  // namespace pex::test
