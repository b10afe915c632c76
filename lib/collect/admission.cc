#include "collect/admission.h"

#include <algorithm>

namespace pex::collect {
namespace {

constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::seconds kLongestWait{64};

}  // namespace

OpenRate::OpenRate(std::size_t per_second)
    : per_second_(static_cast<double>(per_second)), left_(per_second_) {}

bool OpenRate::take(std::size_t counters, Clock::time_point now) {
  const std::chrono::duration<double> passed = now - std::max(filled_, now - std::chrono::hours{1});
  left_ = std::min(per_second_, left_ + passed.count() * per_second_);
  filled_ = now;
  const auto wanted = static_cast<double>(counters);
  if (left_ < std::min(wanted, per_second_)) return false;
  left_ -= wanted;  // below 0 where one second is not enough: those after it wait the longer
  return true;
}

/// One that is met again soon after it was tried again is a lasting one.
void Shortage::met(std::string_view bound, std::size_t fitting, Clock::time_point now) {
  const bool again = wait_.count() > 0 && now < until_ + 2 * wait_;
  wait_ = again ? std::min(2 * wait_, kLongestWait) : kFirstWait;
  until_ = now + wait_;
  bound_ = bound;
  fitting_ = fitting;
}

std::size_t Shortage::room(Clock::time_point now) const {
  return now < until_ ? fitting_ : std::numeric_limits<std::size_t>::max();
}

}  // namespace pex::collect
