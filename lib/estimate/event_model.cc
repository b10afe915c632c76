#include "estimate/event_model.h"

#include <algorithm>
#include <cmath>

namespace pex::estimate {
namespace {

constexpr double kMemory = 1000;  // intervals; n new ones leave kMemory / (kMemory + n) of the old
constexpr double kMeanMemory = 20;   // polls
constexpr double kRidge = 1e-7;      // E and X are proportional when the load is steady
constexpr double kPullToOne = 1e-5;  // as one interval in which the windows erred by 0.3 %

}  // namespace

void Observed::add(const Observed& more, double weight) {
  events += weight * more.events;
  running += weight * more.running;
  enabled += weight * more.enabled;
  sampled += weight * more.sampled;
  reference += weight * more.reference;
}

void Observed::follow(const Observed& newer, double weight) {
  events += weight * (newer.events - events);
  running += weight * (newer.running - running);
  enabled += weight * (newer.enabled - enabled);
  sampled += weight * (newer.sampled - sampled);
  reference += weight * (newer.reference - reference);
}

void ModelUpdate::Equations::add(const Equations& more, double weight) {
  ee = ee * weight + more.ee, ex = ex * weight + more.ex, xx = xx * weight + more.xx;
  ed = ed * weight + more.ed, xd = xd * weight + more.xd, dd = dd * weight + more.dd;
  eu = eu * weight + more.eu, xu = xu * weight + more.xu, du = du * weight + more.du;
  y = y * weight + more.y, x = x * weight + more.x, r = r * weight + more.r;
  intervals = intervals * weight + more.intervals;
}

void ModelUpdate::add(const Observed& interval, bool has_reference) {
  if (interval.running <= 0) return;
  all_.add(interval);
  ++intervals_;
  const bool is_exact = interval.running >= interval.enabled;
  if (is_exact || !has_reference || interval.reference <= 0) return;
  const double e = interval.enabled;
  const double x = interval.reference;
  const double scale = e / interval.running;
  const double u = interval.events * scale;
  const double d = interval.sampled * scale - x;
  Equations& s = equations_;
  s.ee += e * e, s.ex += e * x, s.xx += x * x;
  s.ed += e * d, s.xd += x * d, s.dd += d * d;
  s.eu += e * u, s.xu += x * u, s.du += d * u;
  s.y += interval.events, s.x += interval.sampled, s.r += interval.running;
  ++s.intervals;
}

void ModelUpdate::add(const ModelUpdate& more) {
  equations_.add(more.equations_);
  all_.add(more.all_);
  intervals_ += more.intervals_;
}

void EventModel::learn(const ModelUpdate& update) {
  if (update.intervals_ <= 0) return;
  Observed mean;
  mean.add(update.all_, 1 / update.intervals_);
  mean_.follow(mean, mean_.running > 0 ? 1 / kMeanMemory : 1);

  if (update.equations_.intervals <= 0) return;
  ModelUpdate::Equations& s = equations_;
  s.add(update.equations_, kMemory / (kMemory + update.equations_.intervals));
  if (s.x < 1 || s.y < 1) return;  // no data for a comparison
  if (rate_ <= 0) mean_ = mean;    // until now it was in time only
  rate_ = s.x / s.r;

  // What remains of D and u after E and X have explained their part (Schur complement).
  const double ee = s.ee * (1 + kRidge);
  const double xx = s.xx * (1 + kRidge);
  const double determinant = ee * xx - s.ex * s.ex;
  const double p = (s.ed * xx - s.xd * s.ex) / determinant;
  const double q = (s.xd * ee - s.ed * s.ex) / determinant;
  const double variance = s.dd - p * s.ed - q * s.xd;
  const double covariance = s.du - p * s.eu - q * s.xu;

  const double prior = kPullToOne * s.xx / s.intervals;
  const double weight = (covariance * (s.x / s.y) + prior) / (variance + prior);
  if (std::isfinite(weight)) weight_ = std::clamp(weight, 0.0, 1.0);
}

}  // namespace pex::estimate
