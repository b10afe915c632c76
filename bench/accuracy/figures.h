#pragma once

#include <cstdint>

#include "formula.h"

namespace pex::bench {

/// How well a formula did, over any number of polls and groups. Sums, so that parts can be merged.
class Figures {
 public:
  void merge(const Figures& more);

  double bias() const { return error_ / truth_; }
  /// Root mean square error of an interval's increment, as part of the mean true increment.
  double rms() const;
  double falls_per_1000() const { return 1000.0 * falls_ / polls_; }
  std::uint64_t falls() const { return static_cast<std::uint64_t>(falls_); }
  /// rate() over true rate in the 5 minutes where it is furthest from 1, as a factor.
  double worst_rate() const { return worst_rate_; }
  /// Part of the minutes in which the truth was within two standard errors.
  double coverage() const { return minutes_ > 0 ? covered_ / minutes_ : 0; }

 private:
  friend class Judge;
  void judge_rate(double shown, double truth);

  double polls_ = 0;
  double falls_ = 0;
  double error_ = 0;
  double squares_ = 0;
  double truth_ = 0;
  double minutes_ = 0;
  double covered_ = 0;
  double worst_rate_ = 1;
};

/// Follows one counter and its truth, and adds to figures.
class Judge {
 public:
  Judge(double poll_seconds, double skipped_seconds)
      : poll_seconds_(poll_seconds), skipped_seconds_(skipped_seconds) {}

  void poll(double truth, const Shown& shown, Figures& figures);

 private:
  /// Since the window began. `rate` is as Prometheus computes it (promql/functions.go,
  /// extrapolatedRate): at a fall the whole of the value before is added.
  struct Window {
    double seconds = 0;
    double rate = 0;
    double error = 0;
    double truth = 0;
    double variance = 0;
  };

  double poll_seconds_;
  double skipped_seconds_;
  double elapsed_ = 0;
  double truth_ = 0;
  Shown shown_;
  Window five_minutes_;
  Window minute_;
};

}  // namespace pex::bench
