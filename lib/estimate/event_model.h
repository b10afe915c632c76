#pragma once

#include <cstddef>

namespace pex::estimate {

/// Sums over intervals of what the windows on the PMU saw, and of the whole. Times in ns,
/// references in whatever the reference counts.
struct Observed {
  double events = 0;     ///< y: counted in the windows
  double running = 0;    ///< r: time of the windows
  double enabled = 0;    ///< E: all time; r <= E
  double sampled = 0;    ///< x: reference events in the windows
  double reference = 0;  ///< X: all reference events; x <= X

  void add(const Observed& more, double weight = 1);
  /// Moves towards `newer`, by `weight` of the way.
  void follow(const Observed& newer, double weight);
};

/// What the targets of one event taught in one poll: plain sums, so that each CPU's worker keeps
/// its own and nothing is shared while they count.
class ModelUpdate {
 public:
  /// One interval of one target. It teaches about the reference only when that was counted
  /// (`has_reference`) and moved, and the group had the PMU for a part of the interval.
  void add(const Observed& interval, bool has_reference = true);
  void add(const ModelUpdate& more);

 private:
  friend class EventModel;
  /// Normal equations of u = a E + b X + beta D, where u = y E/r is the estimate by time, and
  /// D = x E/r - X its error on the reference, which is known.
  struct Equations {
    double ee = 0, ex = 0, xx = 0;
    double ed = 0, xd = 0, dd = 0;
    double eu = 0, xu = 0, du = 0;
    double y = 0, x = 0, r = 0;
    double intervals = 0;

    void add(const Equations& more, double weight = 1);
  };
  Equations equations_;
  Observed all_;
  double intervals_ = 0;
};

/// What all targets that count one event have taught about it. Its size, by which counts are scaled
/// up, is a mixture of time and reference events:
///
///   size(t, x) = (1 - lambda) mu t + lambda x
///
/// lambda is the coefficient of a control variate (Cochran, Sampling Techniques, ch. 7): of all
/// that made the estimate by time wrong, how much also made it wrong on the reference, where the
/// truth is known. 1 for an event that follows the reference, 0 for one that follows time. It is
/// found by least squares; E and X as regressors soak up real changes of level.
class EventModel {
 public:
  /// lambda, in [0, 1]. 1 before anything is known: most events follow activity.
  double reference_weight() const { return weight_; }
  /// mu, reference events for each ns on the PMU; 0 when not known yet.
  double reference_rate() const { return rate_; }
  /// The mean interval of all targets in the last 20 polls; zero when there was none.
  const Observed& mean() const { return mean_; }

  /// Folds in what one poll taught. The memory is 1000 intervals, whoever they are of.
  void learn(const ModelUpdate& update);

 private:
  ModelUpdate::Equations equations_;
  Observed mean_;
  double weight_ = 1;
  double rate_ = 0;
};

}  // namespace pex::estimate
