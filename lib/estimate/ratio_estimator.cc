#include "estimate/ratio_estimator.h"

#include <algorithm>

namespace pex::estimate {
namespace {

constexpr double kNeed = 0.4;       // of the windows' fair share, to be used alone
constexpr double kMinShare = 0.01;  // of the time: below, the share itself has no information
constexpr double kPrior = 0.05;     // of the prior from all targets, relative to a target's own
                                    // history

constexpr double kMaxEvents = 0x1p63;  // more than a counter of 64 bits holds without falling

/// size(t, x) of EventModel as a linear function. If the rate of the reference is known, sizes by
/// time have the same unit as all others, so that successive intervals can be compared.
struct Mixture {
  double time = 0;
  double reference = 0;

  double operator()(double t, double x) const { return time * t + reference * x; }
};

Mixture by_time(const EventModel& model) {
  return {model.reference_rate() > 0 ? model.reference_rate() : 1, 0};
}

Mixture mixture_of(const EventModel& model, bool has_reference) {
  if (!has_reference) return by_time(model);
  if (model.reference_rate() <= 0) return {0, 1};
  const double weight = model.reference_weight();
  return {(1 - weight) * model.reference_rate(), weight};
}

/// Events and size of the past; the prior, from all targets, helps a target without windows, or
/// with very small ones, to get an estimate soon.
struct Past {
  double events = 0;
  double size = 0;
};

Past past_of(const Observed& history, const Observed& mean, const Mixture& size, double whole) {
  Past past{history.events, size(history.running, history.sampled)};
  const double mean_whole = size(mean.enabled, mean.reference);
  if (mean_whole > 0) {
    const double prior = kPrior * whole / mean_whole;
    past.events += prior * mean.events;
    past.size += prior * size(mean.running, mean.sampled);
  }
  return past;
}

}  // namespace

Estimate estimate(const Observed& interval, bool has_reference, const Observed& history,
                  const EventModel& model, double mux_interval) {
  Mixture size = mixture_of(model, has_reference);
  Estimate result;
  const auto measure = [&] {
    result.sampled_size = size(interval.running, interval.sampled);
    result.size = size(interval.enabled, interval.reference);
  };
  measure();
  if (result.size <= 0 && interval.events <= 0) return result;  // no activity at all

  Past past = past_of(history, model.mean(), size, result.size);
  const bool is_unknown = result.sampled_size <= 0 && past.size <= 0;
  if (result.size <= 0 || is_unknown) {  // events without activity, or activity never seen
    size = by_time(model);
    measure();
    past = past_of(history, model.mean(), size, result.size);
  }

  const double s = result.sampled_size;
  const double share = std::max(interval.running / interval.enabled, kMinShare);
  result.information = std::min(1.0, s / (result.size * share));
  const double need =
      result.size * std::max(kNeed * share, std::min(1.0, mux_interval / interval.enabled));
  const double enough = std::min(1.0, s / need);
  const double trust = past.size > 0 ? enough * enough : 1;
  const double seen = s > 0 ? interval.events / s : 0;
  const double remembered = trust < 1 ? past.events / past.size : 0;
  const double rate = trust * seen + (1 - trust) * remembered;
  // Events of windows without a size (wrong times) are part of what history expects.
  const double rest =
      s > 0 ? (result.size - s) * rate : std::max(0.0, result.size * rate - interval.events);
  result.extrapolated = std::min(rest, kMaxEvents);
  return result;
}

double successive_difference_variance(const Estimate& estimate, double events, double last_rate,
                                      double last_size) {
  if (last_size <= 0) return 0;
  const double whole = events + estimate.extrapolated;
  const double difference = whole - last_rate * estimate.size;
  const double unseen = 1 - estimate.sampled_size / estimate.size;
  return unseen * difference * difference * last_size / (estimate.sampled_size + last_size);
}

}  // namespace pex::estimate
