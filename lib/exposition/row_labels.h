#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "collect/snapshot.h"
#include "exposition/metric_names.h"

namespace pex::exposition {

/// What tells a cgroup from others, escaped and without braces: `cgroup="/a.service"`, and those of
/// its description that never change.
std::string identity_of(const collect::CgroupTarget& target);

/// The labels of the rows of a snapshot, escaped and without braces: `cgroup="/a.service"`. Those
/// of the whole host are empty.
class RowLabels {
 public:
  using Rows = std::vector<std::string>;

  RowLabels() = default;
  explicit RowLabels(const collect::Snapshot& snapshot);

  /// Of the rows that a group or a column of a scope has.
  const Rows& of(Scope scope, collect::Aggregation aggregation) const {
    return scope == Scope::kCgroup ? cgroups_ : host_[static_cast<std::size_t>(aggregation)];
  }

 private:
  std::array<Rows, collect::kAggregations> host_;
  Rows cgroups_;
};

}  // namespace pex::exposition
