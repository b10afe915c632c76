#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/token_bucket.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_names.h"
#include "cgroup/hierarchy.h"
#include "cgroup/tree.h"

namespace pex::cgroup {

/// Finds the names of all cgroups of a hierarchy by walking it, and from what the kernel reports of
/// new ones (PERF_RECORD_CGROUP). Not thread-safe.
///
/// The id of a cgroup is the inode number of its directory (kernfs_ino() of the kernel, the same as
/// cgroup_id() if ino_t has 64 bits), so a walk only lists directories. The path in a record begins
/// at the root of the hierarchy (cgroup_path()), not at that of a cgroup namespace as in
/// /proc/pid/cgroup. A mount may show a part of the hierarchy only: in a cgroup namespace, or if a
/// part of it was bound. What is above that part is known if the inode number of its root is 1,
/// which is the id of each hierarchy's root: nothing. Otherwise it is learned from the first report
/// of a cgroup that a walk has found below the mount; until then reports wait, a minute at most. A
/// cgroup that is not below the mount has no name.
class NameKeeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Between two walks. A walk that is requested and finds nothing doubles the time until the next
  /// one, up to kMaxWait: ids from outside of the mount stay unknown. There is a walk at least
  /// every kMaxWait, to find out which cgroups are gone.
  static constexpr std::chrono::seconds kMinWait{1};
  static constexpr std::chrono::seconds kMaxWait{60};

  /// A cgroup that is gone keeps its name for so long after the walk that misses it, and until the
  /// next walk: there may be records of it that nobody has read yet.
  static constexpr std::chrono::seconds kKeepGone{60};

  /// Names at most `max_directories` existing directories, those at the top first, and as many that
  /// are gone. Visits Tree::kVisitsPerSecond, in addition to those of one walk.
  explicit NameKeeper(const Hierarchy& hierarchy,
                      std::size_t max_directories = Tree::Limits{}.directories);

  /// The names; the same object as before if nothing has changed. `reported` is what the kernel has
  /// reported since the last call, on any CPU and in any order; what is not a path as the kernel
  /// writes it is ignored. `unknown` requests a walk: there are ids without a name.
  std::shared_ptr<const CgroupNames> update(Clock::time_point now,
                                            std::span<const NamedCgroup> reported, bool unknown);

  /// The reported cgroups that are below the mount, with the path that Cgroup has, as of the last
  /// update: for Discovery::update. Without those whose path is too long.
  const std::vector<NamedCgroup>& reported() const { return reported_; }

  /// Cgroups without a name because of the limit, as of the last walk and since.
  std::size_t left_out() const { return left_out_; }

  /// Why the last walk failed, if it did: then all names stay.
  const std::optional<Error>& error() const { return error_; }

 private:
  /// A report that waits for the path above the mount.
  struct Waiting {
    NamedCgroup cgroup;
    Clock::time_point since;
  };
  struct Walk {
    CgroupNames::Map found;
    std::set<std::string, std::less<>> unreadable;  ///< what is below these is not known
    std::size_t visited = 0;
    std::size_t left_out = 0;
  };
  struct Missing;

  bool is_full(std::size_t more) const;
  bool may_walk(Clock::time_point now, Clock::duration wait) const;
  bool is_walk_due(Clock::time_point now, bool unknown);
  void place_reports();
  void place(const NamedCgroup& reported, CgroupNames::Map& named);
  void learn_path_above(const NamedCgroup& reported);
  std::optional<std::string> below_mount(std::string_view path) const;
  void walk(Clock::time_point now);
  Result<> read_root(Walk& walk);
  Result<> read_tree(Walk& walk) const;
  bool adopt(Walk walk, Clock::time_point now);
  std::vector<Missing> missing_from(const Walk& walk, Clock::time_point now) const;

  std::string mount_;
  std::size_t max_directories_;
  std::shared_ptr<const CgroupNames> names_ = std::make_shared<const CgroupNames>();
  std::unordered_map<std::uint64_t, Clock::time_point> gone_;  ///< when a walk first missed them
  std::vector<NamedCgroup> reported_;
  std::deque<Waiting> waiting_;

  std::optional<std::string> above_;  ///< the mount's root in the hierarchy; empty: the same one
  std::optional<std::uint64_t> root_id_;
  std::optional<dev_t> device_;

  TokenBucket visits_;
  std::optional<Clock::time_point> walked_at_;
  std::chrono::seconds wait_ = kMinWait;
  std::size_t left_out_ = 0;
  std::optional<Error> error_;
};

}  // namespace pex::cgroup
