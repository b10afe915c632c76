#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "records/cgroup_sums.h"

namespace pex::test {

/// The slots of a CgroupSums, by the ids that they were opened for, and the sums of all that was
/// taken of them. A slot that is closed is used again.
class SlotSums {
 public:
  struct Sum {
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    std::vector<std::uint64_t> counts = {};
  };

  /// `sums` outlives it.
  explicit SlotSums(collect::CgroupSums& sums) : sums_(sums) {}

  std::size_t open(std::uint64_t id, const std::string& path, std::size_t group = 0) {
    if (!slots_.contains(id)) {
      std::size_t slot = 0;
      while (is_open(slot)) ++slot;
      slots_[id] = slot;
      std::erase_if(taken_, [slot](const auto& each) { return each.first.first == slot; });
    }
    const std::size_t slot = slots_[id];
    taken_.erase({slot, group});
    sums_.open(slot, std::make_shared<cgroup::Cgroup>(cgroup::Cgroup{path, id, {}}), group);
    ++groups_[slot];
    return slot;
  }
  void close(std::size_t slot) {
    sums_.close(slot);
    if (--groups_[slot] > 0) return;
    std::erase_if(slots_, [slot](const auto& each) { return each.second == slot; });
  }
  std::size_t slot_of(std::uint64_t id) const { return slots_.at(id); }

  /// All that a group did there since it was opened.
  const Sum& read(std::size_t slot, std::size_t group = 0) {
    sums_.give();
    return take(slot, group);
  }
  /// The same, without what was not given yet.
  const Sum& take(std::size_t slot, std::size_t group = 0) {
    perf::GroupInterval since;
    is_changed_ = sums_.take(slot, group, since);
    lost_ = since.lost;
    Sum& sum = taken_[{slot, group}];
    sum.enabled += std::min(since.enabled, std::chrono::nanoseconds::max() - sum.enabled);
    sum.running += std::min(since.running, std::chrono::nanoseconds::max() - sum.running);
    sum.counts.resize(since.counts.size());
    for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += since.counts[i];
    return sum;
  }
  /// As of the last of these calls.
  bool is_changed() const { return is_changed_; }
  std::chrono::nanoseconds lost() const { return lost_; }

 private:
  bool is_open(std::size_t slot) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [slot](const auto& each) { return each.second == slot; });
  }

  collect::CgroupSums& sums_;
  std::map<std::uint64_t, std::size_t> slots_;
  std::map<std::size_t, unsigned> groups_;
  std::map<std::pair<std::size_t, std::size_t>, Sum> taken_;
  bool is_changed_ = false;
  std::chrono::nanoseconds lost_{};
};

}  // namespace pex::test
