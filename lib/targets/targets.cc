#include "targets/targets.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/text.h"
#include "perf/known_work.h"

namespace pex::collect {
namespace {

constexpr std::string_view kUnwatched =
    "not watching the cgroup tree: inotify accepts no more watches, so the whole tree is "
    "read at each poll";

Error cgroups_displaced(const cgroup::Discovery::Displaced& displaced) {
  return Error{0,
               "stopped counting " + number_of(displaced.cgroups, "cgroup") + " to make room: '" +
                   displaced.rich + "' had more than its fair share, and '" + displaced.poor +
                   "' less",
               "raise the limit that leaves cgroups out, or select fewer in cgroups.include"};
}

Error unwatched_directories(std::size_t unwatched) {
  return Error{0,
               "not watching " + number_of(unwatched, "directory", "directories") +
                   " of the cgroup tree, because the exporter uses at most half of "
                   "fs.inotify.max_user_watches; changes there are found within a minute",
               "raise fs.inotify.max_user_watches"};
}

Error too_many_directories(const Budget& budget, const cgroup::Tree::Skipped& skipped) {
  return Error{
      0,
      "not following " + number_of(skipped.beyond_limit, "directory", "directories") +
          " of the cgroup tree: the limit is " + std::to_string(budget.max_directories) +
          ", and most of the others are in '" + skipped.most_in + "'",
      "raise limits.max_cgroup_directories, or find out which service creates so many cgroups"};
}

Error paths_too_long(const Budget& budget, const cgroup::Tree::Skipped& skipped) {
  return Error{0,
               "not counting " + number_of(skipped.path_too_long, "cgroup") +
                   " and everything below: the path is longer than " +
                   std::to_string(budget.max_path_bytes) +
                   " bytes (limits.label_length), for example in '" + skipped.longest_in + "'",
               "give them shorter names, or nest them less deep"};
}

std::uint64_t new_layout() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

TargetTracker::TargetTracker(const host::HostRoots& roots, std::shared_ptr<const CountingPlan> plan,
                             Cgroups cgroups, Budget budget, CostFunction cost)
    : plan_(std::move(plan)),
      cpus_(roots, pmus_of(*plan_), plan_->left_out_cpus),
      cgroups_(std::move(cgroups)),
      budget_(budget),
      cost_(std::move(cost)),
      open_rate_(budget.opens_per_second),
      current_(std::make_shared<const TargetSet>()) {}

void TargetTracker::change(Changes changes) {
  if (plan_->cgroups_nest) nested_before_ = next_series_;
  plan_ = std::move(changes.plan);
  cpus_.follow(pmus_of(*plan_));
  if (cgroups_.discovery) cgroups_.discovery->select(std::move(changes.selection));
  cgroups_.describer = std::move(changes.describer);
  cgroups_.linger = changes.linger;
  if (cgroups_.idle) cgroups_.idle->set_rules(changes.idle);
  if (changes.budget.opens_per_second != budget_.opens_per_second) {
    open_rate_ = OpenRate(changes.budget.opens_per_second);
  }
  budget_ = changes.budget;
  cgroups_.min_recorded = changes.min_recorded;
  need_ = need_of(*plan_, *current_->cpus, need_.counters);
  is_changed_ = true;
}

std::shared_ptr<const TargetSet> TargetTracker::update(Clock::time_point now, PollReport& report,
                                                       Round round, bool was_whole) {
  bool has_read = false;
  if (std::exchange(snapshot_follows_, round == Round::kPoll)) {
    has_read = forget_read(now, was_whole);
    has_polled_ = true;
  }
  std::shared_ptr<const MachineCpus> cpus = find_cpus(report);
  update_need(cpus);
  const Capacity room = capacity(now);
  make_room(room.cgroups);
  std::shared_ptr<const cgroup::DiscoveryResult> found = find_cgroups(room.cgroups, now, report);
  const bool is_changed = std::exchange(is_changed_, false);
  const bool renamed = names_changed(now, report) || is_changed;
  const bool idle_changed = find_idle(*found, now);
  report_left_out(*found, room, report);
  report_skipped(report);
  if (found == current_->found && cpus == current_->cpus && !renamed && !idle_changed &&
      !may_admit(now) && !any_expired(now) && !((has_surplus_ || hides_next_) && has_read)) {
    return with_names(names());
  }
  auto next = std::make_shared<TargetSet>();
  next->cgroups = merge(*found, now, report);
  if (renamed) describe(next->cgroups);
  settle_ids(next->cgroups, report);
  drop_surplus(next->cgroups);
  while (!next->cgroups.empty() && next->cgroups.back().is_free()) next->cgroups.pop_back();
  next->find_nesting(end_of_nesting());
  mark_idle(*next);
  mark_unpublished(*next);
  next->cpus = std::move(cpus);
  next->waiting = waiting_.size();
  next->present = found->cgroups.size() - waiting_.size();
  next->left_out_reason = room.bound;
  next->found = std::move(found);
  next->names = names();
  next->min_recorded = cgroups_.min_recorded;
  next->since = since_;
  next->layout = new_layout();
  return current_ = std::move(next);
}

/// Names change with every cgroup of the machine that comes or goes, whether selected or not.
std::shared_ptr<const TargetSet> TargetTracker::with_names(
    std::shared_ptr<const cgroup::CgroupNames> names) {
  if (names == current_->names) return current_;
  auto next = std::make_shared<TargetSet>(*current_);
  next->names = std::move(names);
  return current_ = std::move(next);
}

std::shared_ptr<const MachineCpus> TargetTracker::find_cpus(PollReport& report) {
  std::vector<Error> failures;
  std::shared_ptr<const MachineCpus> cpus = cpus_.update(failures);
  for (const Error& failure : failures) report.add_failure(failure.attempted, failure);
  return cpus;
}

/// While no CPU is counted, cgroups have the room that they will need.
void TargetTracker::update_need(const std::shared_ptr<const MachineCpus>& cpus) {
  if (cpus->online.empty()) return;
  const CounterCost cost = cost_(*plan_, *cpus);
  if (cpus == current_->cpus && cost == need_.counters) return;
  need_ = need_of(*plan_, *cpus, cost);
}

std::shared_ptr<const cgroup::CgroupNames> TargetTracker::names() {
  return cgroups_.discovery ? cgroups_.discovery->names() : current_->names;
}

void TargetTracker::learn_names(std::vector<cgroup::NamedCgroup> reported, bool lacks_names) {
  reported_ = std::move(reported);
  lacks_names_ = lacks_names;
}

/// From the first time on that there are enough cgroups for records: the sources keep them for a
/// while if there are fewer.
bool TargetTracker::update_needs_names() {
  const bool may_have = cgroups_.min_recorded != kNeverRecorded;
  needs_names_ = may_have && (needs_names_ || current_->present >= cgroups_.min_recorded);
  return needs_names_;
}

Capacity TargetTracker::capacity(Clock::time_point now) {
  const Capacity known = cgroup_capacity(budget_, need_);
  const std::size_t seen = shortage_.room(now);
  return seen < known.cgroups ? Capacity{seen, shortage_.bound(), known.open_files} : known;
}

/// Drops those that are not counted yet first, and the newest of them first.
void TargetTracker::make_room(std::size_t capacity) {
  const std::size_t held = current_->found->cgroups.size();
  const std::size_t surplus = held - std::min(held, capacity);
  const WaitingLine::Cgroups& waiting = waiting_.cgroups();
  for (std::size_t i = 0; i < std::min(surplus, waiting.size()); ++i) {
    cgroups_.discovery->release(waiting[waiting.size() - 1 - i]->path);
  }
}

std::shared_ptr<const cgroup::DiscoveryResult> TargetTracker::find_cgroups(std::size_t capacity,
                                                                           Clock::time_point now,
                                                                           PollReport& report) {
  static constexpr const char* kCause = "find cgroups";
  if (!cgroups_.discovery) return current_->found;
  cgroup::Discovery& discovery = *cgroups_.discovery;
  const std::vector<cgroup::NamedCgroup> reported = std::exchange(reported_, {});
  const bool lacks_names = std::exchange(lacks_names_, false);
  Result<std::shared_ptr<const cgroup::DiscoveryResult>> found =
      update_needs_names() ? discovery.update(capacity, now, reported, lacks_names)
                           : discovery.update(capacity, now);
  report.cgroups_missed += discovery.take_missed();
  if (discovery.take_overflow()) {
    report.add_failure(
        "overflow of inotify",
        Error{0,
              "the inotify queue overflowed: cgroups that came and went meanwhile may have been "
              "missed",
              "raise fs.inotify.max_queued_events"});
  }
  if (!discovery.is_watched()) {
    report.add_failure("watch cgroups",
                       Error{0, std::string(kUnwatched),
                             "raise fs.inotify.max_user_watches, or max_user_instances"});
  }
  if (!found) {
    report.add_failure(kCause, found.error());
    return discovery.last() ? discovery.last() : current_->found;
  }
  if (*found != current_->found) {
    for (const Error& unreadable : (*found)->unreadable) report.add_failure(kCause, unreadable);
  }
  return std::move(*found);
}

bool TargetTracker::names_changed(Clock::time_point now, PollReport& report) {
  const cgroup::Describer::Update update = cgroups_.describer.update(now);
  for (const Error& error : update.errors) report.add_failure(error.attempted, error);
  return update.has_changed;
}

/// Where cgroups take no counters of their own there is nothing to close.
bool TargetTracker::find_idle(const cgroup::DiscoveryResult& found, Clock::time_point now) {
  if (!cgroups_.idle) return false;
  return need_.counters.cgroup > 0 ? cgroups_.idle->update(found.cgroups, now)
                                   : cgroups_.idle->wake_all(found.cgroups, now);
}

void TargetTracker::mark_idle(TargetSet& targets) {
  if (!cgroups_.idle) return;
  for (std::size_t slot = 0; slot < targets.cgroups.size(); ++slot) {
    CgroupTarget& target = targets.cgroups[slot];
    if (!target.cgroup) continue;
    target.is_idle = cgroups_.idle->is_idle(*target.cgroup);
    add_passed_over(slot, cgroups_.idle->take_passed_over(*target.cgroup));
    targets.idle += target.is_idle ? 1 : 0;
  }
}

void TargetTracker::add_passed_over(std::size_t slot, std::chrono::nanoseconds time) {
  if (time.count() > 0) passed_over_.push_back({slot, time});
}

void TargetTracker::report_left_out(const cgroup::DiscoveryResult& found, const Capacity& capacity,
                                    PollReport& report) {
  if (!cgroups_.discovery) return;
  const cgroup::Discovery::Displaced displaced = cgroups_.discovery->take_displaced();
  if (displaced.cgroups > 0) {
    report.cgroups_left_out[kFairShare] += displaced.cgroups;
    report.add_failure("displaced cgroups", cgroups_displaced(displaced));
  }
  // Before the first poll no CPU counts by records, by which there may be room for all.
  const bool was_held =
      std::exchange(holds_left_out_, !has_polled_ && cgroups_.min_recorded != kNeverRecorded);
  if (holds_left_out_) return;
  std::uint64_t dropped = cgroups_.discovery->take_newly_left_out();
  if (was_held) dropped = std::min<std::uint64_t>(dropped, found.left_out);
  if (dropped == 0) return;
  report.cgroups_left_out[capacity.bound] += dropped;
  report.add_failure("cgroups left out", too_many_cgroups(budget_, need_, capacity,
                                                          found.cgroups.size() + found.left_out));
}

void TargetTracker::report_skipped(PollReport& report) const {
  if (!cgroups_.discovery) return;
  const cgroup::Discovery& discovery = *cgroups_.discovery;
  const cgroup::Tree::Skipped skipped = discovery.skipped();
  const std::size_t unwatched = discovery.unwatched();
  report.now.cgroup_directories = {
      discovery.directories() - std::min(discovery.directories(), unwatched), unwatched,
      skipped.beyond_limit, skipped.path_too_long};
  if (unwatched > 0) report.add_failure("unwatched cgroups", unwatched_directories(unwatched));
  if (skipped.beyond_limit > 0) {
    report.add_failure("cgroups beyond the limit", too_many_directories(budget_, skipped));
  }
  if (skipped.path_too_long > 0)
    report.add_failure("paths of cgroups", paths_too_long(budget_, skipped));
}

void TargetTracker::set_aside(const std::map<std::string, int>& exhausted, Clock::time_point now) {
  if (exhausted.empty() || !cgroups_.discovery) return;
  for (const auto& [path, code] : exhausted) cgroups_.discovery->release(path);
  for (const auto& cgroup : waiting_.cgroups()) cgroups_.discovery->release(cgroup->path);
  const std::size_t fitting = current_->present - std::min(current_->present, exhausted.size());
  shortage_.met(bound_met_by(exhausted.begin()->second), fitting, now);
}

std::optional<cgroup::UncountedUse::Use> TargetTracker::uncounted(
    Clock::time_point now, const CountedTimes& counted_times) {
  if (!cgroups_.uncounted) return {};
  if (!cgroups_.uncounted->is_due(now) || now < not_uncounted_before_) return uncounted_;
  using Counted = cgroup::UncountedUse::Counted;
  const std::vector<std::chrono::nanoseconds> times = counted_times();
  std::vector<Counted> counted;
  for (std::size_t i = 0; i < current_->cgroups.size(); ++i) {
    const CgroupTarget& target = current_->cgroups[i];
    if (target.is_free()) continue;
    const bool exists = target.cgroup || ended_.at(target.series).existing != 0;
    if (exists && !target.cgroup && !target.is_published) continue;
    counted.push_back({target.path, times[i],
                       !target.cgroup   ? Counted::State::kEnded
                       : target.is_idle ? Counted::State::kIdle
                                        : Counted::State::kBusy,
                       target.series >= first_new_series_});
  }
  first_new_series_ = next_series_;
  const std::chrono::nanoseconds begun = perf::thread_time();
  uncounted_ = cgroups_.uncounted->update(counted, now);
  // With hundreds of CPUs a reading takes longer, as the kernel adds up what these have.
  constexpr int kPartOfACpu = 500;
  not_uncounted_before_ = now + kPartOfACpu * (perf::thread_time() - begun);
  return uncounted_;
}

std::vector<std::string> TargetTracker::left_out() const {
  return cgroups_.discovery ? cgroups_.discovery->left_out() : std::vector<std::string>{};
}

int TargetTracker::descriptor() const {
  return cgroups_.discovery ? cgroups_.discovery->descriptor() : -1;
}

}  // namespace pex::collect
