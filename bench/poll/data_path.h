#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "count/counter_source.h"
#include "count/joining.h"
#include "count/learning.h"
#include "count/poll_cycle.h"

namespace pex::bench {

/// How many there are of each. Every cgroup has one group of so many events.
struct Machine {
  int cpus;
  std::size_t cgroups;
  static constexpr std::size_t kEvents = 6;

  std::size_t targets() const { return static_cast<std::size_t>(cpus) * cgroups; }
};

/// What is counted on a machine: containers, summed over its CPUs.
struct Counted {
  std::shared_ptr<const collect::CountingPlan> plan;
  std::shared_ptr<const collect::TargetSet> targets;
};
/// The id of a cgroup is its place among the targets, from 1 on.
Counted counted_on(const Machine& machine, bool shares_pmu);

/// Times of the parts of a poll, in microseconds of CPU time. What the workers of all CPUs do at
/// the same time is done for one CPU after the other.
struct PollTimes {
  double all_polls = 0;  ///< of all CPUs
  double poll = 0;       ///< of the CPU that took longest
};
struct JoinTimes {
  double all = 0;      ///< of all pieces
  double prepare = 0;  ///< before the pieces, and the snapshot after them
  double piece = 0;    ///< the one that took longest
  double longest = 0;  ///< prepare, and then as many pieces as any other thread joins
};

/// One machine's data path, as a Collector runs it, in one thread.
class DataPath {
 public:
  using Targets = std::shared_ptr<const collect::TargetSet>;
  using MakeSource = std::function<std::unique_ptr<collect::CounterSource>(int cpu)>;

  DataPath(Counted counted, const Machine& machine, const MakeSource& make_source);

  /// Another set of the same targets, as after a change elsewhere.
  Targets same_targets_anew() const {
    return std::make_shared<const collect::TargetSet>(*counted_.targets);
  }

  /// What the source of the CPU has to do between two polls.
  void drain(int cpu) { cycles_[static_cast<std::size_t>(cpu)]->source().between_polls(); }

  /// A poll of all CPUs, without the join.
  void open();
  PollTimes poll();
  /// Targets whose counters are open, of all CPUs.
  std::size_t open_targets() const;

  void look(const Targets& targets);

  JoinTimes join();
  const collect::Snapshot& snapshot() const { return joined_; }  ///< the last one

 private:
  Counted counted_;
  std::unique_ptr<collect::EventModels> models_;
  std::vector<std::unique_ptr<collect::PollCycle>> cycles_;
  collect::Ledger ledger_;
  collect::Snapshot joined_;
};

}  // namespace pex::bench
