#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/tree.h"

namespace pex::cgroup {

/// Finds the selected cgroups that were gone before their directories could be opened, among those
/// that the kernel reports. A report is read one poll after inotify has reported the same cgroup,
/// or a little later. Not thread-safe.
class GoneCgroups {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reports of existing directories that are still to be found by the tree, at most, and for how
  /// long. A tree that is not watched finds them within a minute.
  static constexpr std::size_t kMaxReports = 1024;
  static constexpr std::chrono::seconds kKeepReports{60};

  /// A cgroup that inotify has reported, and the kernel has not, is missed after so many updates.
  static constexpr std::uint64_t kMaxDelay = 2;

  /// Reported ones, each for the first time (Tree::learn). The root is not counted, nor one whose
  /// path is not known as a whole.
  void report(std::span<const NamedCgroup> reported, Clock::time_point now);
  bool has_reports() const { return !reports_.empty(); }
  void drop_reports() { reports_.clear(); }

  /// The reported cgroups that the tree selects, has not found, and whose directories are gone;
  /// each once. Nesting is not considered.
  std::vector<NamedCgroup> take(const Tree& tree, Clock::time_point now);

  /// Called at the end of each update with what the tree has missed. Returns how many are missed
  /// for good: the kernel has not reported them.
  std::uint64_t count_missed(const std::vector<std::string>& paths);

  /// All that may still be reported are missed.
  std::uint64_t miss_all();

 private:
  struct Report {
    NamedCgroup cgroup;
    Clock::time_point since;
  };
  using Updates = std::multimap<std::string, std::uint64_t>;  ///< the number of an update, by path

  std::uint64_t drop_old(Updates& paths) const;

  std::deque<Report> reports_;
  Updates missed_;  ///< by the tree, and not reported yet
  Updates taken_;   ///< and not missed by the tree yet
  std::uint64_t updates_ = 0;
};

}  // namespace pex::cgroup
