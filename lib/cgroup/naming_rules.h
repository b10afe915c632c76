#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cgroup/path_info.h"

namespace pex::cgroup {

/// What the directory above is: some names have a meaning only there.
enum class Place {
  kAny,
  kUsers,       ///< user.slice
  kUser,        ///< the slice of one user
  kGuaranteed,  ///< holds pods of a QoS class, as do the next two
  kBurstable,
  kBestEffort,
  kContainerd,  ///< a namespace of containerd
  kDocker,
  kBuilds,
  kBuildkit,
  kPodman,
  kKata,       ///< of what a virtual machine of Kata takes for itself
  kContainer,  ///< a container itself
  kEcs,
  kEcsCluster,
  kEcsTask,
  kNomad,
  kProxmox,
  kFirecracker,
  kNspawn,  ///< the unit of one machine
  kLxc,
  kLxcMonitor,
  kSlurm,
  kSlurmJob,
  kSlurmStep,
  kCondor,
  kPbs,
  kPbsJobs,
  kLsf,
  kLsfCluster,
  kTalos,
};

/// What begins at a component. Inside of a container, what is known about an outer one no longer
/// applies.
enum class Begins {
  kNothing,
  kGroup,      ///< of containers: a pod, a task, a job; keeps the outer group
  kContainer,  ///< or a machine; keeps its groups
};

/// The result of parsing the part of a name between prefix and suffix.
struct ParsedName {
  std::string value;
  std::string ecs_task = {};  ///< if the value contains it
};

/// A value that is recognized by its form alone.
struct FixedField {
  std::string PathInfo::*field = nullptr;
  std::string_view value;
};

/// The meaning of a directory's name.
struct NamingRule {
  Place above;
  std::string_view prefix;
  /// Parses the text between prefix and suffix. Nothing if it has another form: then the rule does
  /// not apply.
  std::optional<ParsedName> (*name)(std::string_view);
  std::string_view suffix;
  std::string PathInfo::*field;  ///< gets what was parsed; may be null
  FixedField fixed;
  Begins begins;
  Place place;  ///< what the directory is for those below it
  bool is_helper = false;
};

/// In the order in which they are tried; the first that applies decides.
std::span<const NamingRule> naming_rules();

}  // namespace pex::cgroup
