#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace pex::cgroup {

/// The paths of cgroups by their ids: of all directories of the hierarchy, whether selected or not,
/// and of some that are gone (NameIndex makes them). Immutable, and so shared by all threads.
class CgroupNames {
 public:
  using Map = std::unordered_map<std::uint64_t, std::string>;

  /// Below the mount: "/" is its root, else as Cgroup::path. If the path of the cgroup is too long
  /// to be counted (Tree::Limits), it is that of the nearest cgroup above whose path is not, with a
  /// '/' at its end. Null if the id has no name. Valid as long as this object.
  const std::string* path_of(std::uint64_t id) const {
    if (const auto at = recent_.find(id); at != recent_.end()) return &at->second;
    const auto at = base_->find(id);
    return at == base_->end() ? nullptr : &at->second;
  }

  /// Calls `visitor(id, path)` for each name, in any order.
  template <typename Visitor>
  void for_each(const Visitor& visitor) const {
    for (const auto& [id, path] : *base_) {
      if (!recent_.contains(id)) visitor(id, path);
    }
    for (const auto& [id, path] : recent_) visitor(id, path);
  }

  /// These names and `more`, which count where both have an id. Cheap for a few, however many there
  /// are.
  CgroupNames with(Map more) const {
    CgroupNames next;
    next.base_ = base_;
    next.recent_ = std::move(more);
    next.recent_.insert(recent_.begin(), recent_.end());
    if (next.recent_.size() <= kRecent + base_->size() / kBasePerRecent) return next;
    next.recent_.insert(base_->begin(), base_->end());
    next.base_ = std::make_shared<const Map>(std::exchange(next.recent_, {}));
    return next;
  }

  /// These names, but for those of `ids`.
  CgroupNames without(const std::unordered_set<std::uint64_t>& ids) const {
    Map rest;
    for_each([&](std::uint64_t id, const std::string& path) {
      if (!ids.contains(id)) rest.emplace(id, path);
    });
    CgroupNames next;
    next.base_ = std::make_shared<const Map>(std::move(rest));
    return next;
  }

 private:
  // With n names, one more costs a copy of at most 64 + n / 32, and seldom one of all.
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kBasePerRecent = 32;

  std::shared_ptr<const Map> base_ = std::make_shared<const Map>();
  Map recent_;  ///< comes before the base
};

}  // namespace pex::cgroup
