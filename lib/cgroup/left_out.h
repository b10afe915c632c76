#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cgroup/hierarchy.h"

namespace pex::cgroup {

/// The selected cgroups for which there is no room, and how much CPU time each has used
/// (cpu_use.h). Thousands can be left out while room changes hands many times a second, and each
/// reading of a use costs several system calls. So uses are kept: each is read again after half a
/// minute. Not thread-safe.
class LeftOut {
 public:
  using Clock = std::chrono::steady_clock;

  /// The most uses that one call reads, so that no poll takes long.
  static constexpr std::size_t kMaxReads = 1000;

  explicit LeftOut(Hierarchy hierarchy) : hierarchy_(std::move(hierarchy)) {}

  /// One that is there already is another directory under the same path from now on.
  void add(const std::string& path);
  void remove(const std::string& path) { uses_.erase(path); }

  std::size_t size() const { return uses_.size(); }
  bool contains(const std::string& path) const { return uses_.contains(path); }
  /// The first by path, at most `most`.
  std::vector<std::string> paths(std::size_t most) const;

  /// Reads the uses that are due again. To be called often: what is due is spread over the calls.
  void refresh(Clock::time_point now);

  /// The `room` ones that have used most, then the first by path; all when they are no more than
  /// that. Reads those uses first that were never read, at most `max_reads`; who has not been asked
  /// counts as one that has used nothing, as is true of most that have just been made.
  std::vector<std::string> most_used(std::size_t room, std::size_t max_reads = kMaxReads);

 private:
  using Uses = std::map<std::string, std::optional<std::uint64_t>>;  ///< microseconds, by path

  void read_unknown(std::size_t max_reads);

  Hierarchy hierarchy_;
  Uses uses_;
  std::string refreshed_last_;  ///< the next one is behind it in the order of paths
  std::optional<Clock::time_point> refreshed_at_;
};

}  // namespace pex::cgroup
