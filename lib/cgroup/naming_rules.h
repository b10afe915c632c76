#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cgroup/path_info.h"

namespace pex::cgroup {

/// What the directory above is known to be: some names mean something only there.
enum class Place {
  kAny,
  kUsers,       ///< user.slice
  kUser,        ///< the slice of one user
  kGuaranteed,  ///< holds pods of a QoS class, as do the next two
  kBurstable,
  kBestEffort,
  kContainerd,  ///< a namespace of containerd
  kDocker,
  kPodman,
  kContainer,  ///< a container itself
  kEcs,
  kEcsCluster,
  kEcsTask,
  kNomad,
  kProxmox,
  kNspawn,  ///< the unit of one machine
  kLxc,
  kLxcMonitor,
  kSlurm,
  kSlurmJob,
  kSlurmStep,
};

/// What begins at a component. Inside of a container, what is known about that no longer holds
/// then.
enum class Begins {
  kNothing,
  kGroup,      ///< of containers: a pod, a task, a job; keeps what holds it
  kContainer,  ///< or a machine; keeps its groups
};

/// What the part of a name between prefix and suffix gives.
struct ParsedName {
  std::string value;
  std::string ecs_task = {};  ///< where the value holds it
};

/// A value that a name gives by its form alone.
struct FixedField {
  std::string PathInfo::*field = nullptr;
  std::string_view value;
};

/// What the name of one directory means.
struct NamingRule {
  Place above;
  std::string_view prefix;
  /// Parses what is between prefix and suffix. Nothing when it is not of the expected form: then
  /// the rule does not apply.
  std::optional<ParsedName> (*name)(std::string_view);
  std::string_view suffix;
  std::string PathInfo::*field;  ///< gets what was parsed; may be null
  FixedField fixed;
  Begins begins;
  Place place;  ///< what the directory is to those below it
  bool is_helper = false;
};

/// In the order in which they are tried; the first that applies counts.
std::span<const NamingRule> naming_rules();

}  // namespace pex::cgroup
