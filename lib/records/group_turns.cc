#include "records/group_turns.h"

#include <algorithm>
#include <utility>

namespace pex::collect {

using std::chrono::nanoseconds;

std::vector<std::size_t> GroupTurns::next(std::span<const Member> members, nanoseconds now,
                                          nanoseconds busy) {
  const nanoseconds passed = now - std::exchange(begun_, now);
  const bool is_idle = busy - std::exchange(busy_, busy) < passed / 100 * kMinBusyPercent;
  length_ = is_idle ? std::min(2 * length_, kMaxTurn) : kTurn;
  const std::size_t all = members.size();
  decide(all, any_lost(members, passed), now);

  const std::size_t together = std::min(together_, all);
  std::size_t begin = 0;
  if (together < all) {
    const auto later = std::find_if(members.begin(), members.end(),
                                    [this](const Member& one) { return one.group > first_; });
    begin = later == members.end() ? 0 : static_cast<std::size_t>(later - members.begin());
    first_ = members[begin].group;
  }
  end_.reset();
  if (together < all || (is_trial_ && all > 1)) end_ = now + random_length();
  std::vector<Member> chosen;
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < together; ++i) {
    chosen.push_back(members[(begin + i) % all]);
    groups.push_back(chosen.back().group);
  }
  see(members, chosen);
  return groups;
}

/// The baseline for judging the losses of this turn. Not if groups are only stopped: others that
/// were rotated out come back only when the kernel's timer fires (perf_mux_hrtimer_handler in
/// kernel/events/core.c). Each start puts back all that fit.
void GroupTurns::see(std::span<const Member> members, std::span<const Member> chosen) {
  const auto enabled_of = [](std::span<const Member> of) {
    return std::count_if(of.begin(), of.end(), [](const auto& one) { return one.is_enabled; });
  };
  const auto staying = enabled_of(chosen);
  const bool any_started = staying < static_cast<std::ptrdiff_t>(chosen.size());
  const bool any_stopped = staying < enabled_of(members);
  seen_.clear();
  if (is_left_to_kernel_ || (any_stopped && !any_started)) return;
  seen_.assign(chosen.begin(), chosen.end());
}

/// How many count together from now on.
void GroupTurns::decide(std::size_t all, bool is_lost, nanoseconds now) {
  const bool has_new_member = std::exchange(is_trial_, false) && seen_.empty();
  const bool is_due = now - changed_at_ >= kTriesAgain;
  const std::size_t before = std::min(together_, all);
  if (is_left_to_kernel_) {
    if (!is_due) return;
    is_left_to_kernel_ = false;
    is_trial_ = true;
  } else if (is_lost && all > 1) {
    is_left_to_kernel_ = before == 1;
    together_ = is_left_to_kernel_ ? kAll : before - 1;
    changed_at_ = now;
  } else if (together_ < all && is_due) {
    ++together_;
    changed_at_ = now;
    is_trial_ = true;
  } else {
    is_trial_ = has_new_member;
  }
}

void GroupTurns::add_member(nanoseconds now) {
  is_trial_ = true;
  seen_.clear();
  end_ = now;
}

void GroupTurns::interrupt() {
  end_.reset();
  seen_.clear();
}

bool GroupTurns::any_lost(std::span<const Member> members, nanoseconds passed) const {
  const nanoseconds most = passed / 100 * kMaxOffPmuPercent;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    const auto seen = std::find_if(seen_.begin(), seen_.end(),
                                   [&](const Member& one) { return one.group == member.group; });
    return member.is_enabled && seen != seen_.end() && member.off_pmu - seen->off_pmu > most;
  });
}

nanoseconds GroupTurns::random_length() {
  const std::int64_t mean = length_.count();
  return nanoseconds{std::uniform_int_distribution{mean / 2, mean * 3 / 2}(random_)};
}

}  // namespace pex::collect
