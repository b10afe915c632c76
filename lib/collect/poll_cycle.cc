#include "collect/poll_cycle.h"

namespace pex::collect {
namespace {

Error off_pmu(const GroupPlan& group, int cpu) {
  return Error{
      0, "pinned group '" + group.name + "' has no place on the PMU of CPU " + std::to_string(cpu),
      "pin fewer events, or stop what else holds the counters"};
}

}  // namespace

PollCycle::PollCycle(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan, int cpu)
    : kernel_(kernel), plan_(std::move(plan)), cpu_(cpu), presence_(kernel, cpu) {
  for (const GroupPlan& group : plan_->cpu.groups) groups_.emplace_back(group);
}

PollReport PollCycle::run(const std::shared_ptr<const TargetSet>& targets) {
  PollReport report;
  align_to(targets);
  notice_absence(report);
  close_gone(report);  // with their last reading
  open_new(report);
  for (TargetGroup& group : groups_) {
    if (group.is_open()) collect(group, report);
  }
  return report;
}

/// read -> estimate -> accumulate. One bad group never costs the others.
void PollCycle::collect(TargetGroup& group, PollReport& report) {
  ++report.groups_read;
  report.open_events += group.plan().events.size();
  if (const Result<> read = group.read(kernel_, cpu_, reading_); !read) {
    ++report.read_failures;
    return report.add_failure("read " + group.plan().name, read.error());
  }
  if (reading_.state == perf::GroupReading::State::kOffPmu) {
    ++report.groups_off_pmu;
    report.add_failure("pinned " + group.plan().name, off_pmu(group.plan(), cpu_));
    group.totals().want_in_vain();
    (void)group.enable(kernel_);  // back on the PMU as soon as there is room; refused is no change
    return;
  }
  TargetGroup::Buffer buffer;
  group.totals().add(group.advance_to(reading_, buffer));
}

void PollCycle::notice_absence(PollReport& report) {
  if (!online_) presence_.reset();
  cpu_was_away_ = online_ && presence_.was_away();
  report.open_events += presence_.is_open() ? 1 : 0;
}

/// Gives every target its groups, in the order of the targets: those of known series keep theirs.
void PollCycle::align_to(std::shared_ptr<const TargetSet> targets) {
  if (targets == targets_) return;

  std::vector<TargetGroup> aligned;
  const std::size_t per_cgroup = plan_->cgroup.groups.size();
  aligned.reserve(plan_->cpu.groups.size() + targets->cgroups.size() * per_cgroup);
  auto old_group = groups_.begin();
  const auto keep = [&](std::size_t groups) {
    for (; groups > 0; --groups) aligned.push_back(std::move(*old_group++));
  };

  keep(plan_->cpu.groups.size());
  std::size_t old = 0;
  const std::size_t old_targets = targets_ ? targets_->cgroups.size() : 0;
  for (const CgroupTarget& target : targets->cgroups) {
    for (; old < old_targets && targets_->cgroups[old].series < target.series; ++old) {
      old_group += static_cast<std::ptrdiff_t>(per_cgroup);  // has lingered long enough
    }
    if (old < old_targets && targets_->cgroups[old].series == target.series) {
      keep(per_cgroup);
      ++old;
    } else {
      for (const GroupPlan& group : plan_->cgroup.groups) aligned.emplace_back(group);
    }
  }
  groups_ = std::move(aligned);
  targets_ = std::move(targets);
  find_wishes();
}

/// Which groups are counted on this CPU: those of its PMUs, while it is online.
void PollCycle::find_wishes() {
  const MachineCpus& cpus = *targets_->cpus;
  online_ = cpus.is_online(cpu_);
  wishes_.clear();
  wishes_.reserve(groups_.size());
  const auto add = [&](const ScopePlan& scope,
                       const std::shared_ptr<const cgroup::Cgroup>* cgroup) {
    const bool exists = cgroup == nullptr || *cgroup != nullptr;
    for (const GroupPlan& group : scope.groups) {
      wishes_.push_back({online_ && exists && cpus.counts_on(group.pmu, cpu_), cgroup});
    }
  };
  add(plan_->cpu, nullptr);
  for (const CgroupTarget& target : targets_->cgroups) add(plan_->cgroup, &target.cgroup);
}

/// A removed cgroup still answers through its open counters, so its last events are not lost.
void PollCycle::close_gone(PollReport& report) {
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    TargetGroup& group = groups_[index];
    if (!group.is_open() || wanted_where_it_is(index)) continue;
    PollReport last_words;
    collect(group, last_words);
    last_words.open_events = 0;
    report.merge(last_words);
    group.close(report);
  }
}

void PollCycle::open_new(PollReport& report) {
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    TargetGroup& group = groups_[index];
    if (group.is_open()) continue;
    const Wish& wish = wishes_[index];
    const bool is_gone = wish.cgroup != nullptr && *wish.cgroup == nullptr;
    if (is_gone) continue;  // and if a part of it failed, its sum still lacks that
    if (!wish.wanted) {
      group.forget_failures();
    } else {
      group.open(kernel_, cpu_, wish.cgroup == nullptr ? nullptr : *wish.cgroup, report);
    }
  }
}

bool PollCycle::wanted_where_it_is(std::size_t index) const {
  const Wish& wish = wishes_[index];
  if (!wish.wanted || cpu_was_away_) return false;
  return wish.cgroup == nullptr || *wish.cgroup == groups_[index].cgroup();
}

std::span<const TargetGroup> PollCycle::cpu_groups() const {
  return std::span(groups_).first(plan_->cpu.groups.size());
}

std::span<const TargetGroup> PollCycle::cgroup_groups(std::size_t target) const {
  const std::size_t per_cgroup = plan_->cgroup.groups.size();
  return std::span(groups_).subspan(plan_->cpu.groups.size() + target * per_cgroup, per_cgroup);
}

}  // namespace pex::collect
