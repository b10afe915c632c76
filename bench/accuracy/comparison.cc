#include "comparison.h"

#include <chrono>
#include <cstdio>
#include <utility>

namespace pex::bench {
namespace {

using std::chrono::nanoseconds;

double real(std::uint64_t total) { return static_cast<double>(total); }

/// Of the increments since the last reading, as netdata, PCP and perf stat -I do.
double scaled_by_time(const Reading& last, const Reading& now) {
  const double running = real(now.running_ns - last.running_ns);
  const double enabled = real(now.enabled_ns - last.enabled_ns);
  return running > 0 ? real(now.events - last.events) * enabled / running : 0;
}

/// `events`: that were counted in it.
estimate::Interval interval_of(const Reading& last, const Reading& now, const std::uint64_t& events,
                               bool kernel_mistimes) {
  estimate::Interval interval{.enabled = nanoseconds{now.enabled_ns - last.enabled_ns},
                              .running = nanoseconds{now.running_ns - last.running_ns},
                              .counts = {&events, 1}};
  if (now.always_enabled_ns > 0) {
    interval.reference = {now.sampled - last.sampled, now.always,
                          nanoseconds{now.always_enabled_ns}};
  }
  if (now.clock_ns > 0) interval.clock = nanoseconds{now.clock_ns - last.clock_ns};
  if (now.clock_always_enabled_ns > 0) {
    interval.clock_always = {nanoseconds{now.clock_always_ns},
                             nanoseconds{now.clock_always_enabled_ns}};
  }
  interval.kernel_mistimes = kernel_mistimes;
  return interval;
}

}  // namespace

void Figures::add(double increment, double true_increment) {
  const double error = increment - true_increment;
  ++polls_;
  if (increment < 0) ++falls_;
  error_ += error;
  squares_ += error * error;
  truth_ += true_increment;
}

void Figures::merge(const Figures& more) {
  polls_ += more.polls_;
  falls_ += more.falls_;
  error_ += more.error_;
  squares_ += more.squares_;
  truth_ += more.truth_;
}

void Case::merge(const Case& part) {
  delta.merge(part.delta);
  ours.merge(part.ours);
}

std::string Case::missed() const {
  std::string text;
  const auto demand = [&](bool met, const char* format, double value) {
    char line[128];
    std::snprintf(line, sizeof line, format, value);
    if (!met) text += (text.empty() ? "" : ", ") + std::string(line);
  };
  demand(ours.falls() == 0, "fell %.0f times", ours.falls());
  demand(std::abs(ours.bias()) <= targets.max_bias, "bias %.3f %%", 100 * ours.bias());
  demand(ours.rms() <= targets.max_rms, "RMS error %.2g", ours.rms());
  const double above = ours.rms() / delta.rms();
  demand(!(above > targets.max_above_delta), "RMS error %.3f times that of delta scaling", above);
  return text;
}

Comparison::Comparison(std::size_t groups, double slot_ns, int poll_seconds, int skipped_seconds)
    : poll_seconds_(poll_seconds),
      skipped_seconds_(skipped_seconds),
      groups_(groups,
              Group{estimate::GroupEstimator{1, nanoseconds{static_cast<std::int64_t>(slot_ns)}}}) {
}

void Comparison::poll(int second, std::span<const Reading> readings, Case& result) {
  if (second % poll_seconds_ != 0) return;
  estimate::ModelUpdate update;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Shown now = advance(groups_[g], readings[g], update);
    const Shown before = std::exchange(groups_[g].shown, now);
    if (second <= skipped_seconds_) continue;
    result.delta.add(now.delta - before.delta, now.truth - before.truth);
    result.ours.add(now.ours - before.ours, now.truth - before.truth);
  }
  model_.learn(update);
}

/// As the daemon drives lib/estimate: the groups are the targets of one event.
Comparison::Shown Comparison::advance(Group& group, const Reading& now,
                                      estimate::ModelUpdate& update) {
  estimate::EventIncrement increment;
  const std::uint64_t events = now.events - group.last.events;
  const auto advanced =
      group.estimator.advance(interval_of(group.last, now, events, kernel_mistimes_), {&model_, 1},
                              {&increment, 1}, {&update, 1});
  kernel_mistimes_ = kernel_mistimes_ || advanced.mistimed;
  group.observed += increment.observed;
  group.extrapolated += increment.extrapolated;
  const Reading last = std::exchange(group.last, now);
  return {real(now.truth), group.shown.delta + scaled_by_time(last, now),
          real(group.observed) + real(group.extrapolated)};
}

}  // namespace pex::bench
