#include "bench/poll/instant_kernel.h"

namespace pex::bench {
namespace {

constexpr int kFirst = 1 << 28;  ///< far above what a process may have

}  // namespace

std::size_t InstantKernel::index_of(int fd) { return static_cast<std::size_t>(fd - kFirst); }

perf::OpenCounter InstantKernel::add(int leader_fd, bool has_ids) {
  const std::size_t index = leaders_.size();
  leaders_.push_back(leader_fd < 0 ? index : index_of(leader_fd));
  has_ids_.push_back(has_ids);
  perf::OpenCounter counter;
  counter.fd = UniqueFd{kFirst + static_cast<int>(index)};
  counter.id = index;
  return counter;
}

Result<perf::OpenCounter> InstantKernel::open(const perf::CounterRequest& request) {
  return add(request.leader_fd);
}

std::size_t InstantKernel::members_of(std::uint64_t leader) const {
  std::size_t end = leader;
  while (end < leaders_.size() && leaders_[end] == leader) ++end;
  return end - leader;
}

Result<> InstantKernel::enable_group(int) { return {}; }
Result<> InstantKernel::disable_group(int) { return {}; }

/// In the layout of group_reading.h, or without its ids.
Result<std::size_t> InstantKernel::read_group(int leader_fd, std::span<std::uint64_t> words) {
  now_ += kStep;
  const std::size_t leader = index_of(leader_fd);
  const std::size_t members = members_of(leader);
  std::size_t word = 3;
  for (std::size_t i = leader; i < leader + members; ++i) {
    words[word++] = now_ / 1000;
    if (has_ids_[leader]) words[word++] = i;
  }
  words[0] = members;
  words[1] = words[2] = now_;
  return word;
}

}  // namespace pex::bench
