#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

namespace pex::collect {

/// From how many cgroups on records count them; with fewer, descriptors take less memory. Can be
/// changed at any time, from any thread: the sources follow within two polls.
class RecordUse {
 public:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  explicit RecordUse(std::size_t min_cgroups) : min_cgroups_(min_cgroups) {}

  std::size_t min_cgroups() const { return min_cgroups_; }
  bool is_allowed() const { return min_cgroups() != kNever; }
  void set_min_cgroups(std::size_t min_cgroups) { min_cgroups_ = min_cgroups; }

 private:
  std::atomic<std::size_t> min_cgroups_;
};

}  // namespace pex::collect
