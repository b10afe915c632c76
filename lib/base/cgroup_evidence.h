#pragma once

namespace pex {

/// Which rows of cgroups have evidence: the times of groups, and what was observed. CPUs always
/// have it.
enum class CgroupEvidence {
  kEach,  ///< each cgroup, and the sums
  kSum,   ///< the sums alone
  kNone,
};

}  // namespace pex
