#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "estimate/event_model.h"
#include "estimate/group_estimator.h"

namespace pex::bench {

/// The kernel's totals for one group that shares the PMU, and what a group of its own would have
/// counted.
struct Reading {
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t sampled = 0;            ///< reference events in the group's windows
  std::uint64_t always = 0;             ///< all reference events
  std::uint64_t always_enabled_ns = 0;  ///< 0: there is no reference
  std::uint64_t clock_ns = 0;           ///< software clock in the group; 0: there is none
  std::uint64_t clock_always_ns = 0;    ///< software clock that is counted all the time
  std::uint64_t clock_always_enabled_ns = 0;
  std::uint64_t truth = 0;  ///< all events
};

/// How far a counter was from the truth, over any number of polls and groups. Sums, so that parts
/// can be merged.
class Figures {
 public:
  void add(double increment, double true_increment);
  void merge(const Figures& more);

  double bias() const { return error_ / truth_; }
  /// Root mean square error of an interval's increment, as part of the mean true increment.
  double rms() const { return std::sqrt(squares_ / polls_) / (truth_ / polls_); }
  double falls() const { return falls_; }

 private:
  double polls_ = 0;
  double falls_ = 0;
  double error_ = 0;
  double squares_ = 0;
  double truth_ = 0;
};

/// What is demanded of our figures.
struct Targets {
  double max_bias = HUGE_VAL;
  double max_rms = HUGE_VAL;
  double max_above_delta = 1.01;  ///< RMS error over that of delta scaling
};

/// A load, and how scaling of increments by time and our estimator did with it.
struct Case {
  std::string name;
  Targets targets = {};
  Figures delta = {};
  Figures ours = {};

  void merge(const Case& part);
  /// What is missed, empty if all is met.
  std::string missed() const;
};

inline constexpr int kPollSeconds[] = {1, 15};

/// Feeds both with the readings of the groups that share one PMU, each counting the same event, at
/// one poll interval.
class Comparison {
 public:
  Comparison(std::size_t groups, double slot_ns, int poll_seconds, int skipped_seconds);

  /// Looks at the readings when a poll is due at this second.
  void poll(int second, std::span<const Reading> readings, Case& result);

 private:
  /// Counters, as they are published, of one group.
  struct Shown {
    double truth = 0;
    double delta = 0;
    double ours = 0;
  };
  struct Group {
    estimate::GroupEstimator estimator;
    Reading last = {};
    Shown shown = {};
    std::uint64_t observed = 0;
    std::uint64_t extrapolated = 0;
  };

  Shown advance(Group& group, const Reading& now, estimate::ModelUpdate& update);

  int poll_seconds_;
  int skipped_seconds_;
  estimate::EventModel model_;
  bool kernel_mistimes_ = false;
  std::vector<Group> groups_;
};

}  // namespace pex::bench
