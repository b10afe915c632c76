#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "cgroup/cgroup_names.h"

namespace pex::cgroup {

/// Which path the cgroup of an id has, also for some time after its end: there may be records of it
/// that nobody has read yet. The id is the inode number of the directory (kernfs_ino() of the
/// kernel, the same as cgroup_id() if ino_t has 64 bits). Not thread-safe.
class NameIndex {
 public:
  using Clock = std::chrono::steady_clock;

  /// The name of one that has ended stays for so long at least, and about twice as long at most.
  static constexpr std::chrono::minutes kKeepEnded{1};

  /// Keeps about `max_ended` names of those that have ended: the newest.
  explicit NameIndex(std::size_t max_ended) : max_ended_(max_ended) {}

  /// The same object as before if nothing has changed.
  const std::shared_ptr<const CgroupNames>& names();

  /// There is a directory of this path.
  void add(std::uint64_t id, const std::string& path);
  /// There is no directory of this id any more.
  void end(std::uint64_t id) { ended_.insert(id); }
  /// There was a directory of this id a short time ago. Returns whether it had no name yet; a name
  /// that it has stays.
  bool report(std::uint64_t id, const std::string& path);

  enum class Presence { kExists, kGone, kUnknown };
  using PresenceOf = std::function<Presence(std::uint64_t id, const std::string& path)>;
  /// Drops the names of those that had ended long before `added_all_at`, when all directories were
  /// added for the last time.
  void drop_ended(const PresenceOf& presence_of, Clock::time_point added_all_at);

 private:
  const std::string* path_of(std::uint64_t id) const;

  std::size_t max_ended_;
  std::shared_ptr<const CgroupNames> names_ = std::make_shared<const CgroupNames>();
  CgroupNames::Map added_;  ///< and not in names_ yet
  // Ids that have ended, or were reported, since ended_since_, and before. Some of them may exist.
  std::unordered_set<std::uint64_t> ended_;
  std::unordered_set<std::uint64_t> ended_before_;
  Clock::time_point ended_since_;
};

}  // namespace pex::cgroup
