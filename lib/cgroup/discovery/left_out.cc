#include "cgroup/discovery/left_out.h"

#include <algorithm>
#include <utility>

#include "cgroup/use/cpu_use.h"

namespace pex::cgroup {
namespace {

/// Each use is read again within this time.
constexpr std::chrono::seconds kRound{30};

}  // namespace

void LeftOut::add(const std::string& path) {
  remove(path);
  are_read_.emplace(path, false);
  ++unknown_;
}

void LeftOut::remove(const std::string& path) {
  const auto at = are_read_.find(path);
  if (at == are_read_.end()) return;
  unknown_ -= at->second ? 0 : 1;
  are_read_.erase(at);
}

std::vector<std::string> LeftOut::paths(std::size_t most) const {
  std::vector<std::string> paths;
  paths.reserve(std::min(most, are_read_.size()));
  for (auto each = are_read_.begin(); each != are_read_.end() && paths.size() < most; ++each) {
    paths.push_back(each->first);
  }
  return paths;
}

LeftOut::Use LeftOut::read(AreRead::value_type& each) {
  unknown_ -= std::exchange(each.second, true) ? 0 : 1;
  return {each.first, cpu_use(hierarchy_, each.first).value_or(0)};
}

std::vector<LeftOut::Use> LeftOut::refresh(Clock::time_point now) {
  if (!refreshed_at_ || are_read_.empty()) refreshed_at_ = now;
  const double rounds = std::chrono::duration<double>(now - *refreshed_at_) / kRound;
  const auto due = static_cast<std::size_t>(
      std::min(rounds * static_cast<double>(are_read_.size()), static_cast<double>(kMaxReads)));
  std::vector<Use> uses;
  if (due == 0) return uses;  // the time that has passed is added at the next call
  refreshed_at_ = now;
  auto next = are_read_.upper_bound(refreshed_last_);
  for (; uses.size() < std::min(due, are_read_.size()); ++next) {
    if (next == are_read_.end()) next = are_read_.begin();
    uses.push_back(read(*next));
    refreshed_last_ = next->first;
  }
  return uses;
}

std::vector<LeftOut::Use> LeftOut::read_unknown(std::size_t max_reads) {
  std::vector<Use> uses;
  for (auto each = are_read_.begin(); unknown_ > 0 && uses.size() < max_reads; ++each) {
    if (!each->second) uses.push_back(read(*each));
  }
  return uses;
}

}  // namespace pex::cgroup
