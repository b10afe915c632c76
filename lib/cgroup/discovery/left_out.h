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

/// The selected cgroups that exceed the capacity, and how much CPU time each has used (cpu_use.h).
/// Thousands can be left out, and each reading of a use costs several system calls. So each is read
/// again after half a minute. Not thread-safe.
class LeftOut {
 public:
  using Clock = std::chrono::steady_clock;

  /// A use that was read.
  struct Use {
    std::string path;
    std::uint64_t microseconds = 0;
    bool operator==(const Use&) const = default;
  };

  /// The most uses that one call reads, which bounds the duration of a poll.
  static constexpr std::size_t kMaxReads = 1000;

  explicit LeftOut(Hierarchy hierarchy) : hierarchy_(std::move(hierarchy)) {}

  /// If the path is known, it is another directory from now on.
  void add(const std::string& path);
  void remove(const std::string& path);

  std::size_t size() const { return are_read_.size(); }
  bool contains(const std::string& path) const { return are_read_.contains(path); }
  /// The first by path, at most `most`.
  std::vector<std::string> paths(std::size_t most) const;

  /// Reads the uses that are due again. Call it often: reads are spread over the calls.
  std::vector<Use> refresh(Clock::time_point now);

  /// Reads those that were never read, at most `max_reads`. Called before a choice: a cgroup that
  /// was not read counts as one that has used nothing, as is true of most new ones.
  std::vector<Use> read_unknown(std::size_t max_reads = kMaxReads);

 private:
  using AreRead = std::map<std::string, bool>;
  Use read(AreRead::value_type& each);

  Hierarchy hierarchy_;
  AreRead are_read_;            ///< whether its use was ever read, by path
  std::size_t unknown_ = 0;     ///< the number of unread ones
  std::string refreshed_last_;  ///< the path read last; the next one follows in the order
                                ///< of paths
  std::optional<Clock::time_point> refreshed_at_;
};

}  // namespace pex::cgroup
