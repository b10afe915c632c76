#include "collect/records/group_turns.h"

#include <algorithm>

namespace pex::collect {

using std::chrono::nanoseconds;

std::vector<std::size_t> GroupTurns::next(std::span<const Member> members, nanoseconds now) {
  const std::size_t all = members.size();
  const std::size_t before = std::min(together_, all);
  if (any_lost(members, now) && before > 1) {
    together_ = before - 1;
    changed_at_ = now;
  } else if (together_ < all && now - changed_at_ >= kTriesAgain) {
    ++together_;
    changed_at_ = now;
  }
  const std::size_t together = std::min(together_, all);
  seen_at_ = now;
  seen_.clear();
  end_.reset();
  std::size_t begin = 0;
  if (together < all) {
    end_ = now + length();
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

bool GroupTurns::any_lost(std::span<const Member> members, nanoseconds now) const {
  const nanoseconds most = (now - seen_at_) / 100 * kMaxOffPmuPercent;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    const auto seen = std::find_if(seen_.begin(), seen_.end(),
                                   [&](const Seen& one) { return one.group == member.group; });
    return member.is_enabled && seen != seen_.end() && member.off_pmu - seen->off_pmu > most;
  });
}

nanoseconds GroupTurns::length() {
  return nanoseconds{std::uniform_int_distribution<std::int64_t>{kTurn.count() / 2,
                                                                 kTurn.count() * 3 / 2}(random_)};
}

}  // namespace pex::collect
