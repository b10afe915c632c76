#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/hierarchy.h"
#include "cgroup/tree.h"

namespace pex::cgroup {

/// Which cgroups are there to be counted: those of the tree that are selected, as many as there is
/// room for, each held by its directory. Not thread-safe.
class Discovery {
 public:
  using Clock = std::chrono::steady_clock;

  /// What there is. A cgroup is the same object in two results as long as it is the same in the
  /// kernel.
  struct Found {
    std::vector<std::shared_ptr<const Cgroup>> cgroups;  ///< at most `capacity`, by path
    std::vector<std::string> left_out;  ///< selected as well, but more than `capacity`; by path
    std::vector<Error> unreadable;      ///< a directory each, left out with all below it

    bool operator==(const Found&) const = default;
  };

  Discovery(Hierarchy hierarchy, Selection selection);

  /// What there is now; the same object as before when nothing has changed. Where there are too
  /// many, those already held stay; then come those whose tasks have used most CPU time so far
  /// (cpu_use.h), then the first by path. Fails when the tree as a whole cannot be read; then what
  /// was found last still holds.
  Result<std::shared_ptr<const Found>> update(std::size_t capacity, Clock::time_point now);

  /// It is not to be counted for now: another one may have its room at the next update.
  void let_go(const std::string& path);

  /// Selected ones that were gone before they could be held, since the last call (Tree).
  std::uint64_t take_missed() { return tree_.take_missed(); }

  /// See Tree.
  bool take_overflow() { return tree_.take_overflow(); }
  bool is_watched() const { return tree_.is_watched(); }
  int descriptor() const { return tree_.descriptor(); }

 private:
  using Held = std::map<std::string, std::shared_ptr<const Cgroup>>;

  std::vector<std::string> wanted() const;
  std::vector<std::string> newcomers(const std::vector<std::string>& wanted, std::size_t room);
  Result<std::shared_ptr<const Cgroup>> hold(const std::string& path) const;
  bool is_held(const std::string& path) const;
  void take(const std::string& path, Held& held, Found& found);
  Found choose(std::size_t capacity);

  Hierarchy hierarchy_;
  Tree tree_;
  std::shared_ptr<const Found> found_;
  Held held_;  ///< what found_ holds, by path
  std::size_t capacity_ = 0;
  bool try_again_ = false;  ///< choose anew even if nothing changes
};

}  // namespace pex::cgroup
