#pragma once

#include <span>

#include "config/config.h"
#include "yaml/keys.h"

namespace pex::config {

/// The keys of `cgroups:`. Patterns and the '$' of labels are only checked to be texts of limited
/// length.
extern const std::span<const yaml::Key<Cgroups>> kCgroupsKeys;

/// The keys of `kubernetes:`.
extern const std::span<const yaml::Key<Kubernetes>> kKubernetesKeys;

}  // namespace pex::config
