#include "cgroup/left_out.h"

#include <algorithm>
#include <utility>

#include "cgroup/cpu_use.h"

namespace pex::cgroup {
namespace {

/// The time in which each use is read again once.
constexpr std::chrono::seconds kRound{30};

}  // namespace

void LeftOut::add(const std::string& path) { uses_.insert_or_assign(path, std::nullopt); }

std::vector<std::string> LeftOut::paths(std::size_t most) const {
  std::vector<std::string> paths;
  paths.reserve(std::min(most, uses_.size()));
  for (auto each = uses_.begin(); each != uses_.end() && paths.size() < most; ++each) {
    paths.push_back(each->first);
  }
  return paths;
}

void LeftOut::refresh(Clock::time_point now) {
  if (!refreshed_at_ || uses_.empty()) refreshed_at_ = now;
  const double rounds = std::chrono::duration<double>(now - *refreshed_at_) / kRound;
  const auto due = static_cast<std::size_t>(
      std::min(rounds * static_cast<double>(uses_.size()), static_cast<double>(kMaxReads)));
  if (due == 0) return;  // what has passed counts at the next call
  refreshed_at_ = now;
  auto next = uses_.upper_bound(refreshed_last_);
  for (std::size_t reads = 0; reads < std::min(due, uses_.size()); ++reads, ++next) {
    if (next == uses_.end()) next = uses_.begin();
    next->second = cpu_use(hierarchy_, next->first);
    refreshed_last_ = next->first;
  }
}

void LeftOut::read_unknown(std::size_t max_reads) {
  for (auto& [path, use] : uses_) {
    if (use) continue;
    if (max_reads-- == 0) return;
    use = cpu_use(hierarchy_, path);
  }
}

std::vector<std::string> LeftOut::most_used(std::size_t room, std::size_t max_reads) {
  if (uses_.size() <= room) return paths(room);
  read_unknown(max_reads);
  std::vector<Uses::const_iterator> best;
  best.reserve(uses_.size());
  for (auto each = uses_.cbegin(); each != uses_.cend(); ++each) best.push_back(each);
  const auto end = best.begin() + static_cast<std::ptrdiff_t>(room);
  std::partial_sort(best.begin(), end, best.end(), [](const auto& a, const auto& b) {
    const std::uint64_t of_a = a->second.value_or(0);
    const std::uint64_t of_b = b->second.value_or(0);
    return of_a != of_b ? of_a > of_b : a->first < b->first;
  });
  std::vector<std::string> paths;
  for (auto each = best.begin(); each != end; ++each) paths.push_back((*each)->first);
  return paths;
}

}  // namespace pex::cgroup
