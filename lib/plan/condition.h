#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "plan/machine.h"

namespace pex::plan {

/// A configured group that is not counted here, because of its `when`, of unknown keys, or of
/// Machine::counted.
struct LeftOutGroup {
  std::string name;
  std::string reason;  ///< "when.kernel: it needs Linux 5.13, and this machine has 5.10.0-28-amd64"
};

/// "group 'energy' is left out: REASON".
Error left_out(const LeftOutGroup& group);

/// The first condition of `when` that `machine` does not meet; nothing if it meets all.
std::optional<std::string> unmet(const config::When& when, const Machine& machine);

}  // namespace pex::plan
