#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/glob.h"
#include "cgroup/tree_watch.h"

namespace pex::cgroup {

/// Which cgroups are wanted: those that match one of `include` and none of `exclude`.
struct Selection {
  std::vector<Glob> include;
  std::vector<Glob> exclude;

  bool matches(std::string_view path) const;
  bool may_match_below(std::string_view path) const;
};

/// Which of them exist. Not thread-safe.
class Discovery {
 public:
  using Clock = std::chrono::steady_clock;

  /// What a scan found. A cgroup is the same object in two results as long as it is the same in the
  /// kernel.
  struct Found {
    std::vector<std::shared_ptr<const Cgroup>> cgroups;  ///< at most `capacity`, by path
    std::size_t left_out = 0;       ///< match as well, but are more than `capacity`
    std::vector<Error> unreadable;  ///< a directory each, left out with all below it

    bool operator==(const Found&) const = default;
  };

  /// `root` is the directory of the hierarchy's root.
  Discovery(std::string root, Selection selection);

  /// What there is now; the same object as before when nothing has changed. Looks again when the
  /// tree or the capacity has changed, when a descriptor was wanting, and once a minute in any
  /// case. Where there are too many, those already found stay, then the first by path. A directory
  /// that cannot be read costs what is below it. Fails when the tree as a whole cannot be read;
  /// then what was found last still holds, as a cgroup is only gone when the tree says so.
  Result<std::shared_ptr<const Found>> update(std::size_t capacity, Clock::time_point now);

 private:
  struct Scan {
    std::map<std::string, std::uint64_t> matching;  ///< inode numbers by path
    std::vector<Error> unreadable;
  };

  Result<> walk(int parent, const char* name, const std::string& path, Scan& scan);
  Result<std::shared_ptr<const Cgroup>> hold(const std::string& path, std::uint64_t inode) const;
  Found choose(Scan scan, std::size_t capacity);

  std::string root_;
  Selection selection_;
  TreeWatch watch_;
  std::shared_ptr<const Found> found_;
  std::map<std::string, std::shared_ptr<const Cgroup>> held_;  ///< what found_ holds, by path
  std::size_t capacity_ = 0;
  Clock::time_point scanned_;
};

}  // namespace pex::cgroup
