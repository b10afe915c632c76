#pragma once

namespace pex::estimate {

/// Sums over intervals of the windows on the PMU, and of the whole intervals. Times in ns,
/// references in the reference's unit.
struct Observed {
  double events = 0;     ///< y: counted in the windows
  double running = 0;    ///< r: time of the windows
  double enabled = 0;    ///< E: all time; r <= E
  double sampled = 0;    ///< x: reference events in the windows
  double reference = 0;  ///< X: all reference events; x <= X

  void add(const Observed& more, double weight = 1);
  /// Moves towards `newer` by the fraction `weight`.
  void follow(const Observed& newer, double weight);
};

/// Sufficient statistics of one event's targets in one poll: plain sums, so that each CPU's worker
/// has its own and nothing is shared while they count.
class ModelUpdate {
 public:
  /// Adds one interval of one target. It contributes to the reference only if that was counted
  /// (`has_reference`) and advanced, and the group had the PMU for a part of the interval.
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

/// What was learned from all targets that count one event. Its size, by which counts are scaled, is
/// a mixture of time and reference events:
///
///   size(t, x) = (1 - lambda) mu t + lambda x
///
/// lambda is the coefficient of a control variate (Cochran, Sampling Techniques, ch. 7): of the
/// error of the estimate by time, the part that also occurred on the reference, where the truth is
/// known. 1 for an event that follows the reference, 0 for one that follows time. It is found by
/// least squares; the regressors E and X absorb real changes of level.
class EventModel {
 public:
  /// lambda, in [0, 1]. 1 before anything is known: most events follow activity.
  double reference_weight() const { return weight_; }
  /// mu, reference events for each ns on the PMU; 0 if unknown.
  double reference_rate() const { return rate_; }
  /// The mean interval of all targets in the last 20 polls; zero without any.
  const Observed& mean() const { return mean_; }

  /// Adds the statistics of one poll. The memory is 1000 intervals, of any targets.
  void learn(const ModelUpdate& update);

 private:
  ModelUpdate::Equations equations_;
  Observed mean_;
  double weight_ = 1;
  double rate_ = 0;
};

}  // namespace pex::estimate
