#include "cgroup/name_index.h"

#include <utility>

namespace pex::cgroup {

const std::shared_ptr<const CgroupNames>& NameIndex::names() {
  if (!added_.empty()) {
    names_ = std::make_shared<const CgroupNames>(names_->with(std::exchange(added_, {})));
  }
  return names_;
}

const std::string* NameIndex::path_of(std::uint64_t id) const {
  const auto added = added_.find(id);
  return added != added_.end() ? &added->second : names_->path_of(id);
}

/// A directory may have been renamed (version 1).
void NameIndex::add(std::uint64_t id, const std::string& path) {
  const std::string* const known = path_of(id);
  if (known == nullptr || *known != path) added_.insert_or_assign(id, path);
}

bool NameIndex::report(std::uint64_t id, const std::string& path) {
  const bool is_new = path_of(id) == nullptr;
  if (is_new) added_.emplace(id, path);
  ended_.insert(id);
  return is_new;
}

void NameIndex::drop_ended(const PresenceOf& presence_of, Clock::time_point added_all_at) {
  if (added_all_at - ended_since_ < kKeepEnded && ended_.size() <= max_ended_ / 2) return;
  ended_since_ = added_all_at;
  std::unordered_set<std::uint64_t> old = std::exchange(ended_before_, std::exchange(ended_, {}));
  std::erase_if(old, [&](std::uint64_t id) {
    const std::string* const path = path_of(id);
    if (path == nullptr || ended_before_.contains(id)) return true;
    const Presence presence = presence_of(id, *path);
    if (presence == Presence::kUnknown) ended_.insert(id);
    return presence != Presence::kGone;
  });
  if (!old.empty()) names_ = std::make_shared<const CgroupNames>(names()->without(old));
}

}  // namespace pex::cgroup
