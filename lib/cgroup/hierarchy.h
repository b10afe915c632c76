#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/mounts.h"
#include "host/roots.h"

namespace pex::cgroup {

/// The cgroup tree whose directories perf_event_open(2) accepts.
struct Hierarchy {
  enum class Version { kV1, kV2 };
  std::string mount;  ///< directory of its root
  Version version = Version::kV2;
  std::string accounting = {};  ///< v1: directory of the root of the cpuacct hierarchy; may be
                                ///< empty

  bool operator==(const Hierarchy&) const = default;
};

/// A v1 mount of the perf_event controller, else the v2 mount, which has that controller whenever
/// no v1 hierarchy has it (cgroups(7), "Cgroups version 2 hierarchies"). Of several mounts the one
/// that shows most of the tree, which in a container is the host's. Nothing if there is neither.
std::optional<Hierarchy> choose_hierarchy(const std::vector<host::Mount>& mounts);

/// The tree at `roots.cgroupfs` if that is set, else the result of choose_hierarchy. Nothing if no
/// tree has the perf_event controller: cgroups cannot be counted, everything else can.
Result<std::optional<Hierarchy>> find_hierarchy(const host::HostRoots& roots);

/// The id of the cgroup that the calling thread is in (Cgroup::id). Nothing if it is not below a
/// mount of the hierarchy, or if the process file system does not show it.
///
/// The kernel shows its path from the root of our cgroup namespace on. If the mount shows more than
/// that, and no other mount shows just that, the names in between are not known: then all cgroups
/// at that depth are searched for the thread, at some 20 us each. That is done once for each path.
class OwnCgroup {
 public:
  OwnCgroup(host::HostRoots roots, Hierarchy hierarchy)
      : roots_(std::move(roots)), hierarchy_(std::move(hierarchy)) {}

  std::optional<std::uint64_t> operator()();

 private:
  host::HostRoots roots_;
  Hierarchy hierarchy_;
  std::string shown_;  ///< by the kernel, when it was last searched
  std::optional<std::uint64_t> id_;
};

}  // namespace pex::cgroup
