#include "figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pex::bench {
namespace {

double factor_from_1(double ratio) { return ratio > 0 ? std::max(ratio, 1 / ratio) : HUGE_VAL; }

}  // namespace

void Figures::merge(const Figures& more) {
  polls_ += more.polls_;
  falls_ += more.falls_;
  error_ += more.error_;
  squares_ += more.squares_;
  truth_ += more.truth_;
  minutes_ += more.minutes_;
  covered_ += more.covered_;
  if (factor_from_1(more.worst_rate_) > factor_from_1(worst_rate_)) worst_rate_ = more.worst_rate_;
}

double Figures::rms() const { return std::sqrt(squares_ / polls_) / (truth_ / polls_); }

void Figures::judge_rate(double shown, double truth) {
  if (truth <= 0) return;
  const double ratio = shown / truth;
  if (factor_from_1(ratio) > factor_from_1(worst_rate_)) worst_rate_ = ratio;
}

void Judge::poll(double truth, const Shown& shown, Figures& figures) {
  const double true_increment = truth - std::exchange(truth_, truth);
  const Shown before = std::exchange(shown_, shown);
  const double increment = shown.value - before.value;
  elapsed_ += poll_seconds_;
  if (elapsed_ <= skipped_seconds_) return;

  const double error = increment - true_increment;
  ++figures.polls_;
  if (increment < 0) ++figures.falls_;
  figures.error_ += error;
  figures.squares_ += error * error;
  figures.truth_ += true_increment;

  for (Window* window : {&five_minutes_, &minute_}) {
    window->seconds += poll_seconds_;
    window->rate += increment < 0 ? shown.value : increment;
    window->error += error;
    window->truth += true_increment;
    window->variance += shown.variance - before.variance;
  }
  if (five_minutes_.seconds >= 300) {
    const Window window = std::exchange(five_minutes_, {});
    figures.judge_rate(window.rate, window.truth);
  }
  if (minute_.seconds >= 60) {
    const Window window = std::exchange(minute_, {});
    ++figures.minutes_;
    if (window.error * window.error <= 4 * window.variance) ++figures.covered_;
  }
}

}  // namespace pex::bench
