#include "count/descriptor_source.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "count/counter_sources.h"

namespace pex::collect {

Result<GroupCounters::Opened, perf::OpenFailure> DescriptorGroup::open(
    std::size_t target, const GroupPlan& group, std::span<const perf::CounterSpec> events,
    const std::shared_ptr<const cgroup::Cgroup>& cgroup) {
  // One that was gone before it was found has no directory: the kernel would take that for the
  // whole CPU.
  if (cgroup && !cgroup->directory) {
    return perf::OpenFailure{0, Error{ENOENT, "open the directory of '" + cgroup->path + "'", {}}};
  }
  const perf::Place place =
      cgroup ? perf::Place{cpu_, cgroup->directory.get(), cgroup->path} : perf::Place{cpu_, -1, {}};
  const std::chrono::nanoseconds before = kernel_->now();
  Result<perf::CounterGroup, perf::OpenFailure> opened =
      perf::CounterGroup::open(*kernel_, events, place, group.mode);
  if (!opened) return std::move(opened.error());
  if (target >= counters_.size()) {
    counters_.resize(target + 1);
    last_.resize((target + 1) * words_);
  }
  is_of_cgroups_ = cgroup != nullptr;
  always_count_ = is_of_cgroups_ && !group.shares_pmu;
  if (always_count_) clocks_->set(target, has_stuck_clock(*opened, before));
  counters_[target] = std::move(*opened);
  std::fill_n(last_.data() + target * words_, words_, 0);
  return Opened{.events = events.size()};
}

/// Gives the memory of a burst of cgroups back.
void DescriptorGroup::close(std::size_t target) {
  counters_[target].reset();
  if (always_count_) clocks_->set(target, false);
  while (!counters_.empty() && !counters_.back()) counters_.pop_back();
  if (counters_.capacity() / 4 <= counters_.size()) return;
  counters_.shrink_to_fit();
  last_.resize(counters_.size() * words_);
  last_.shrink_to_fit();
}

/// While the kernel answers for one target, the memory of the next ones is loaded: between two
/// polls all of it has left the caches.
void DescriptorGroup::prefetch_after(std::size_t target) const {
  constexpr std::size_t kAhead = 2;
  if (target + kAhead >= counters_.size()) return;
  __builtin_prefetch(&counters_[target + kAhead]);
  __builtin_prefetch(last_.data() + (target + kAhead) * words_, 1);
  if (const auto& next = counters_[target + 1]) next->prefetch();
}

Result<GroupCounters::State> DescriptorGroup::read(std::size_t target, perf::GroupInterval& since) {
  prefetch_after(target);
  const Result<> done = counters_[target]->read(*kernel_, reading_);
  if (!done) return done.error();
  return advance(target, since);
}

Result<GroupCounters::State> DescriptorGroup::read_off_pmu(std::size_t target,
                                                           perf::GroupInterval& since) {
  const Result<> done = counters_[target]->read_off_pmu(*kernel_, reading_);
  if (!done) return done.error();
  return advance(target, since);
}

GroupCounters::State DescriptorGroup::advance(std::size_t target, perf::GroupInterval& since) {
  if (reading_.state == perf::GroupReading::State::kOffPmu) return State::kOffPmu;
  const std::span last = std::span(last_).subspan(target * words_, words_);
  const bool had_run = last[1] > 0;
  perf::advance(last, reading_, since);
  if (is_of_cgroups_ && clocks_->contains(target) && !had_run) {
    since.enabled = since.running;
  } else if (always_count_ && reading_.time_running.count() > 0) {
    // Software events always count. But if a cgroup has hardware groups as well, Linux 6.1 accounts
    // some microseconds of each wake-up as enabled and not running to those that are switched
    // first. One that has never run is different: it was never started, and there is no value.
    since.running = since.enabled;
  }
  if (always_count_ && had_run) clocks_->set(target, false);
  return State::kCounting;
}

/// It was enabled for longer than it has been open.
bool DescriptorGroup::has_stuck_clock(const perf::CounterGroup& opened,
                                      std::chrono::nanoseconds before) {
  return opened.read(*kernel_, reading_) && reading_.time_running.count() == 0 &&
         reading_.time_enabled > kernel_->now() - before;
}

Result<> DescriptorGroup::set_enabled(std::size_t target, bool enabled) {
  return enabled ? counters_[target]->enable(*kernel_) : counters_[target]->disable(*kernel_);
}

CounterSources descriptor_sources(perf::PerfKernel& kernel) {
  return {[&kernel](int cpu) { return std::make_unique<DescriptorSource>(kernel, cpu); },
          descriptor_cost};
}

}  // namespace pex::collect
