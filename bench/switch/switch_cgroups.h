#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/support/cgroup_tree.h"
#include "host/roots.h"

namespace pex::bench {

/// Two cgroups to switch between, as deep as containers of pods are, and others in which nothing
/// runs. All are removed with this; the processes in them have to be gone by then.
class SwitchCgroups {
 public:
  static Result<SwitchCgroups> make(const host::HostRoots& roots, std::size_t others);
  ~SwitchCgroups();
  SwitchCgroups(SwitchCgroups&&) = default;
  SwitchCgroups& operator=(SwitchCgroups&&) = delete;

  /// Of the two.
  std::array<std::string, 2> directories() const { return {made_[1], made_[2]}; }

  /// Globs that match exactly these: the two; so many of the others, from the first; all ancestors
  /// of the two but the root.
  std::vector<std::string> the_two() const;
  std::vector<std::string> others(std::size_t number) const;
  std::vector<std::string> ancestors() const;

 private:
  explicit SwitchCgroups(CgroupTree tree) : tree_(std::move(tree)) {}
  std::string top() const;
  std::string path(const std::string& directory) const;

  CgroupTree tree_;                ///< its first cgroup is an ancestor of the two
  std::vector<std::string> made_;  ///< directories: the innermost ancestor, then the two
};

}  // namespace pex::bench
