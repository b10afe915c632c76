#include "collect/records/group_turns.h"

#include <algorithm>
#include <utility>

namespace pex::collect {

using std::chrono::nanoseconds;

std::vector<std::size_t> GroupTurns::next(std::span<const Member> members, nanoseconds now,
                                          nanoseconds busy) {
  const nanoseconds passed = now - std::exchange(seen_at_, now);
  const bool is_idle = busy - std::exchange(busy_, busy) < passed / 100 * kMinBusyPercent;
  length_ = is_idle ? std::min(2 * length_, kMaxTurn) : kTurn;
  const std::size_t all = members.size();
  const std::size_t before = std::min(together_, all);
  if (any_lost(members, passed) && before > 1) {
    together_ = before - 1;
    changed_at_ = now;
  } else if (together_ < all && now - changed_at_ >= kTriesAgain) {
    ++together_;
    changed_at_ = now;
  }
  const std::size_t together = std::min(together_, all);
  seen_.clear();
  end_.reset();
  std::size_t begin = 0;
  if (together < all) {
    end_ = now + random_length();
    const auto later = std::find_if(members.begin(), members.end(),
                                    [this](const Member& one) { return one.group > first_; });
    begin = later == members.end() ? 0 : static_cast<std::size_t>(later - members.begin());
    first_ = members[begin].group;
  }
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < together; ++i) {
    const Member& member = members[(begin + i) % all];
    groups.push_back(member.group);
    seen_.push_back({member.group, member.off_pmu});
  }
  return groups;
}

bool GroupTurns::any_lost(std::span<const Member> members, nanoseconds passed) const {
  const nanoseconds most = passed / 100 * kMaxOffPmuPercent;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    const auto seen = std::find_if(seen_.begin(), seen_.end(),
                                   [&](const Seen& one) { return one.group == member.group; });
    return member.is_enabled && seen != seen_.end() && member.off_pmu - seen->off_pmu > most;
  });
}

nanoseconds GroupTurns::random_length() {
  const std::int64_t mean = length_.count();
  return nanoseconds{std::uniform_int_distribution{mean / 2, mean * 3 / 2}(random_)};
}

}  // namespace pex::collect
