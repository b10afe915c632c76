#include "count/losses.h"

#include <algorithm>
#include <utility>

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// After a loss, cgroups that run are read at so many polls: another loss is likely.
constexpr std::size_t kPollsFollowed = 60;

nanoseconds counted(const GroupTimes& times) { return times.enabled - times.unmeasured; }

/// A group that is counted on all CPUs, as the kernel's account is of all.
std::optional<std::size_t> find_whole_group(const ScopePlan& plan, const MachineCpus& cpus) {
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const GroupPlan& of = plan.groups[group];
    const bool is_whole = std::all_of(cpus.online.begin(), cpus.online.end(), [&](int cpu) {
      return cpus.counts_on(of.pmu, cpu, of.left_out_cpus);
    });
    if (is_whole) return group;
  }
  return {};
}

}  // namespace

/// Of one poll.
class Losses::Settling {
 public:
  Settling(Losses& losses, std::span<GroupTable* const> tables, std::optional<std::size_t> whole,
           const Add& add)
      : losses_(losses), tables_(tables), whole_(whole), add_(add) {}

  void settle(std::size_t slot, const cgroup::Cgroup* cgroup, const CpuTime& cpu_time) {
    const std::span<nanoseconds> lost = lost_at(slot);
    const nanoseconds most = *std::max_element(lost.begin(), lost.end());
    const bool has_account = cgroup != nullptr && cgroup->path != "/";
    if (!whole_ && has_account && most.count() == 0) return;  // the next reading has it, too
    if (!whole_ || !has_account) return give_up(slot);
    const auto known = losses_.accounts_.find(slot);
    Account* const account = known == losses_.accounts_.end() ? nullptr : &known->second;
    const bool is_same =
        account != nullptr && account->cgroup == cgroup->id && account->group == *whole_;
    const nanoseconds more = is_same ? counted_by(slot) - account->counted : nanoseconds{0};
    if (is_same && most.count() == 0 && more.count() == 0) {
      return;  // it did nothing, and its account stands still
    }
    const bool may_read = reads_++ < kMaxReads;
    const std::optional<nanoseconds> used = may_read ? cpu_time(cgroup->path) : std::nullopt;
    if (!used) return give_up(slot);
    if (!is_same) {
      const nanoseconds in_all_its_life = estimate::MissingTime{}.advance({*used, {}, most}).time;
      for (nanoseconds& time : lost) time = std::min(time, in_all_its_life);
      give_up(slot);
      Account& begun = losses_.accounts_[slot];
      begun.cgroup = cgroup->id;
      begun.group = *whole_;
    } else {
      go_on(slot, *account, {*used - account->used, std::max(more, nanoseconds{0}), most}, lost);
    }
    Account& now = losses_.accounts_.at(slot);
    now.used = *used;
    now.counted = counted_by(slot);
    if (most.count() > 0 && now.groups.empty()) follow(slot, now);
    std::fill(lost.begin(), lost.end(), nanoseconds{0});
  }

 private:
  std::span<nanoseconds> lost_at(std::size_t slot) {
    return std::span(losses_.lost_).subspan(slot * losses_.groups_, losses_.groups_);
  }
  nanoseconds counted_by(std::size_t slot) const {
    return counted(tables_[*whole_]->rows[slot].times);
  }

  /// All of it is unmeasured.
  void give_up(std::size_t slot) {
    losses_.accounts_.erase(slot);
    const std::span<nanoseconds> lost = lost_at(slot);
    for (std::size_t group = 0; group < lost.size(); ++group) {
      add_unmeasured(slot, group, std::exchange(lost[group], nanoseconds{0}));
    }
  }

  void add_unmeasured(std::size_t slot, std::size_t group, nanoseconds time) {
    if (time.count() > 0) add_(slot, group, {{.enabled = time, .unmeasured = time}, {}});
  }

  void follow(std::size_t slot, Account& account) {
    for (const GroupTable* const table : tables_) {
      account.groups.push_back({table->sum(slot), estimate::GroupEstimator{table->events}});
    }
  }

  void go_on(std::size_t slot, Account& account, const estimate::MissingTime::Interval& interval,
             std::span<const nanoseconds> lost) {
    const estimate::MissingTime::Found found = account.missing.advance(interval);
    for (std::size_t group = 0; group < lost.size(); ++group) {
      const nanoseconds time = std::min(found.time, lost[group]);
      add_unmeasured(slot, group, std::min(found.unsure, lost[group] - time));
      if (account.groups.empty()) {
        add_unmeasured(slot, group, time);
        continue;
      }
      OfGroup& of = account.groups[group];
      GroupSum more = tables_[group]->sum(slot);
      more.subtract(of.before);
      of.has_counted = of.has_counted || counted(more.times).count() > 0;
      // Counted on some of the CPUs only, it may have run on the others.
      const bool is_known = found.is_estimate && lost[group] == interval.lost && of.has_counted;
      if (!is_known) add_unmeasured(slot, group, time);
      fill(slot, group, of, more, is_known ? time : nanoseconds{0}, found.variance);
      of.before = tables_[group]->sum(slot);
    }
  }

  /// The group counted `more`, and its cgroup ran for the time `missing` besides.
  void fill(std::size_t slot, std::size_t group, OfGroup& of, const GroupSum& more,
            nanoseconds missing, double variance) {
    const nanoseconds running = std::max(counted(more.times), nanoseconds{0});
    const std::size_t events = more.totals.size();
    std::vector<std::uint64_t> counts;
    for (const EventTotal& total : more.totals) counts.push_back(total.value);
    increments_.resize(events);
    models_.resize(events);
    updates_.assign(events, {});
    const estimate::GroupIncrement increment =
        of.estimator.advance({.enabled = running + missing, .running = running, .counts = counts},
                             models_, increments_, updates_);
    if (missing.count() == 0) return;
    GroupSum filled;
    filled.times = {
        .enabled = missing, .imputed = increment.imputed, .unmeasured = increment.unmeasured};
    for (const estimate::EventIncrement& event : increments_) {
      const double rate =
          static_cast<double>(event.extrapolated) / static_cast<double>(missing.count());
      filled.totals.push_back({.value = event.extrapolated,
                               .observed = 0,
                               .variance = event.variance + rate * rate * variance});
    }
    add_(slot, group, filled);
  }

  Losses& losses_;
  std::span<GroupTable* const> tables_;
  std::optional<std::size_t> whole_;
  const Add& add_;
  std::size_t reads_ = 0;
  // Reused, to allocate less.
  std::vector<estimate::EventIncrement> increments_;
  std::vector<estimate::EventModel> models_;
  std::vector<estimate::ModelUpdate> updates_;
};

void Losses::follow(std::size_t groups) {
  const std::size_t slots = lossy_.rows();
  groups_ = groups;
  accounts_.clear();
  lost_.assign(slots * groups, nanoseconds{0});
  lossy_.reset(slots);
}

void Losses::resize(std::size_t slots) {
  lossy_.resize(slots);
  lost_.resize(slots * groups_);
  std::erase_if(accounts_, [slots](const auto& account) { return account.first >= slots; });
}

void Losses::forget(std::size_t slot) {
  lossy_.remove(slot);
  std::fill_n(lost_.begin() + static_cast<std::ptrdiff_t>(slot * groups_), groups_, nanoseconds{0});
  accounts_.erase(slot);
}

void Losses::settle(const ScopePlan& plan, const TargetSet& targets,
                    std::span<GroupTable* const> tables, bool is_whole, const CpuTime& cpu_time,
                    const Add& add) {
  if (groups_ == 0) return;
  ++polls_;
  if (lossy_.size() > 0) {
    has_lost_ = true;
    last_loss_ = polls_;
  }
  if (!has_lost_) return;
  const bool is_followed = polls_ - last_loss_ < kPollsFollowed;
  for (auto& [slot, account] : accounts_) {
    if (!is_followed) account.groups.clear();
    if (!account.groups.empty()) lossy_.add(slot);
  }
  for (std::size_t slot = polls_ % kPollsOfATurn; slot < lossy_.rows(); slot += kPollsOfATurn) {
    lossy_.add(slot);
  }
  Settling settling{*this, tables, is_whole ? find_whole_group(plan, *targets.cpus) : std::nullopt,
                    add};
  lossy_.for_each([&](std::size_t slot) {
    const CgroupTarget& target = targets.cgroups[slot];
    settling.settle(slot, target.is_counted() ? target.cgroup.get() : nullptr, cpu_time);
  });
  lossy_.clear();
}

}  // namespace pex::collect
