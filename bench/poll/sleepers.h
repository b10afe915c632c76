#pragma once

#include <sys/types.h>

#include <atomic>
#include <vector>

#include "bench/support/cgroup_tree.h"

namespace pex::bench {

/// Small processes, one in each of the first cgroups of a tree, all on one CPU. Each sleeps until
/// it is woken up, and then runs for a moment.
class Sleepers {
 public:
  /// `number` is at most the size of the tree.
  Sleepers(const CgroupTree& tree, std::size_t number, int cpu);
  ~Sleepers();
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  /// Wakes all, and returns when all have run. From any process that was forked since.
  void wake();

 private:
  /// In memory that all processes share.
  struct Shared {
    std::atomic<unsigned> rounds = 0;  ///< they sleep on this word
    std::atomic<std::size_t> done = 0;
  };

  Shared* shared_;
  std::vector<pid_t> processes_;
};

}  // namespace pex::bench
