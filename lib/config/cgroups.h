#pragma once

#include "config/config.h"
#include "config/value.h"

namespace pex::config {

/// Reads what stands behind `cgroups:`. Patterns and the '$' of labels are only told to be text of
/// some length.
void read_cgroups(const Value& value, Cgroups& cgroups);

/// Reads what stands behind `kubernetes:`.
void read_kubernetes(const Value& value, Kubernetes& kubernetes);

}  // namespace pex::config
