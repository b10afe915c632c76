#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace pex::cgroup {

/// The paths of cgroups by their ids: of all directories of the hierarchy, whether selected or not,
/// and of some that are gone (NameKeeper makes them). Immutable, and so shared by all threads.
class CgroupNames {
 public:
  using Map = std::unordered_map<std::uint64_t, std::string>;

  /// No names, of generation 0.
  CgroupNames() = default;

  /// Below the mount: "/" is its root, else as Cgroup::path. If the path of the cgroup is too long
  /// to be counted (Tree::kMaxPathBytes), it is that of the nearest cgroup above whose path is not,
  /// with a '/' at its end. Null if the id has no name. Valid as long as this object.
  const std::string* path_of(std::uint64_t id) const {
    if (const auto at = recent_.find(id); at != recent_.end()) return &at->second;
    const auto at = base_->find(id);
    return at == base_->end() ? nullptr : &at->second;
  }

  std::size_t size() const { return base_->size() + recent_.size(); }

  /// Rises with each change, so that what was found in one object need not be looked up again.
  std::uint64_t generation() const { return generation_; }

  /// Calls `visitor(id, path)` for each name, in any order.
  template <typename Visitor>
  void for_each(const Visitor& visitor) const {
    for (const auto& [id, path] : *base_) visitor(id, path);
    for (const auto& [id, path] : recent_) visitor(id, path);
  }

  /// The next generation: these names and `more`, of ids that have none yet. Cheap for a few,
  /// however many there are.
  CgroupNames with(const Map& more) const {
    CgroupNames next = *this;
    ++next.generation_;
    next.recent_.insert(more.begin(), more.end());
    if (next.recent_.size() <= kRecent + base_->size() / kBasePerRecent) return next;
    Map all = *base_;
    all.merge(next.recent_);
    next.base_ = std::make_shared<const Map>(std::move(all));
    next.recent_.clear();
    return next;
  }

  /// The next generation: `all`, and no others.
  CgroupNames replaced_by(Map all) const {
    CgroupNames next;
    next.generation_ = generation_ + 1;
    next.base_ = std::make_shared<const Map>(std::move(all));
    return next;
  }

 private:
  // With n names, one more costs a copy of at most 64 + n / 32, and seldom one of all.
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kBasePerRecent = 32;

  std::shared_ptr<const Map> base_ = std::make_shared<const Map>();
  Map recent_;  ///< ids that the base does not have
  std::uint64_t generation_ = 0;
};

}  // namespace pex::cgroup
