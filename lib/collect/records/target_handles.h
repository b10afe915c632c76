#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "collect/counter_source.h"
#include "collect/records/cgroup_sums.h"

namespace pex::collect {

/// The open groups of each target of a CgroupSums: their handles. A target has one of each group of
/// the plan, so few.
class TargetHandles {
 public:
  using Target = CgroupSums::Target;
  using Handle = CounterSource::Handle;

  void add(Target target, Handle handle) {
    if (target >= first_.size()) first_.resize(target + 1, kNone);
    if (handle >= next_.size()) next_.resize(handle + 1, kNone);
    next_[handle] = first_[target];
    first_[target] = handle;
  }
  void remove(Target target, Handle handle) {
    Handle* link = &first_[target];
    while (*link != handle) link = &next_[*link];
    *link = next_[handle];
  }

  template <typename Step>
  void for_each(Target target, Step step) const {
    if (target >= first_.size()) return;
    for (Handle handle = first_[target]; handle != kNone; handle = next_[handle]) step(handle);
  }

 private:
  static constexpr Handle kNone = std::numeric_limits<Handle>::max();

  std::vector<Handle> first_;  ///< by target
  std::vector<Handle> next_;   ///< by handle: the next one of the same target
};

}  // namespace pex::collect
