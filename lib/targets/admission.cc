#include "targets/admission.h"

#include <algorithm>
#include <iterator>

namespace pex::collect {
namespace {

constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::seconds kMaxWait{64};

}  // namespace

OpenRate::OpenRate(std::size_t per_second)
    : per_second_(static_cast<double>(per_second)), counters_({per_second_, per_second_}) {}

bool OpenRate::allows(std::size_t counters, Clock::time_point now) const {
  return counters_.tokens(now) >= std::min(static_cast<double>(counters), per_second_);
}

bool OpenRate::take(std::size_t counters, Clock::time_point now) {
  if (!allows(counters, now)) return false;
  counters_.take(static_cast<double>(counters), now);
  return true;
}

std::size_t WaitingLine::follow(const Cgroups& found, const Set& counted) {
  Set present;
  for (const auto& cgroup : found) present.insert(cgroup.get());
  std::size_t removed = 0;
  std::erase_if(cgroups_, [&](const auto& waiting) {
    if (present.contains(waiting.get())) return false;
    removed += cgroup::still_exists(*waiting) ? 0 : 1;
    return true;
  });
  Set in_line;
  for (const auto& cgroup : cgroups_) in_line.insert(cgroup.get());
  for (const auto& cgroup : found) {
    if (counted.contains(cgroup.get()) || in_line.contains(cgroup.get())) continue;
    cgroups_.push_back(cgroup);
  }
  return removed;
}

WaitingLine::Cgroups WaitingLine::take(OpenRate& rate, std::size_t counters,
                                       OpenRate::Clock::time_point now, std::size_t max) {
  const auto last = cgroups_.begin() + static_cast<std::ptrdiff_t>(std::min(max, size()));
  auto end = cgroups_.begin();
  while (end != last && rate.take(counters, now)) ++end;
  Cgroups taken(std::make_move_iterator(cgroups_.begin()), std::make_move_iterator(end));
  cgroups_.erase(cgroups_.begin(), end);
  return taken;
}

/// A bound that is met again soon after a retry is a lasting one.
void Shortage::met(std::string_view bound, std::size_t fitting, Clock::time_point now) {
  const bool again = wait_.count() > 0 && now < until_ + 2 * wait_;
  wait_ = again ? std::min(2 * wait_, kMaxWait) : kFirstWait;
  until_ = now + wait_;
  bound_ = bound;
  fitting_ = fitting;
}

std::size_t Shortage::room(Clock::time_point now) const {
  return now < until_ ? fitting_ : std::numeric_limits<std::size_t>::max();
}

}  // namespace pex::collect
