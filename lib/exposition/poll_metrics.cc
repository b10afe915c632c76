#include "exposition/poll_metrics.h"

#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "base/duration.h"
#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::exposition {
namespace {

using collect::PollReport;
using prometheus::MetricFamily;

double number(std::uint64_t count) { return static_cast<double>(count); }

MetricFamily cpus(const PollReport::State& last, const collect::MachineCpus& cpus) {
  const std::size_t late = last.late_cpus.size();
  MetricFamily family = collected(self_family("perf_event_exporter_cpus"));
  add_sample(family, {{"state", "counted"}}, number(cpus.online.size() - late));
  add_sample(family, {{"state", "late"}}, number(late));
  add_sample(family, {{"state", "left_out"}}, number(cpus.left_out.size()));
  return family;
}

MetricFamily cgroups(const collect::TargetSet& targets) {
  MetricFamily family = collected(self_family("perf_event_exporter_cgroups"));
  add_sample(family, {{"state", "counted"}}, number(targets.present - targets.idle));
  add_sample(family, {{"state", "idle"}}, number(targets.idle));
  add_sample(family, {{"state", "waiting"}}, number(targets.waiting));
  add_sample(family, {{"state", "lingering"}}, number(targets.lingering()));
  add_sample(family, {{"state", "left_out"}}, number(targets.found->left_out));
  add_sample(family, {{"state", "unreadable"}}, number(targets.found->unreadable.size()));
  return family;
}

MetricFamily cgroup_sources(const PollReport::State& last) {
  MetricFamily family = collected(self_family("perf_event_exporter_cgroup_source_cpus"));
  add_sample(family, {{"source", "records"}}, number(last.cpus_by_records));
  add_sample(family, {{"source", "descriptors"}}, number(last.cpus_by_descriptors));
  return family;
}

MetricFamily cgroup_directories(const PollReport::CgroupDirectories& tree) {
  MetricFamily family = collected(self_family("perf_event_exporter_cgroup_directories"));
  add_sample(family, {{"state", "followed"}}, number(tree.followed));
  add_sample(family, {{"state", "unwatched"}}, number(tree.unwatched));
  add_sample(family, {{"state", "beyond_limit"}}, number(tree.beyond_limit));
  add_sample(family, {{"state", "path_too_long"}}, number(tree.path_too_long));
  return family;
}

void add_sums(const collect::Snapshot& snapshot, std::vector<MetricFamily>& families) {
  MetricFamily sums = collected(self_family("perf_event_exporter_sums"));
  MetricFamily left_out = collected(self_family("perf_event_exporter_sum_cgroups_left_out"));
  for (std::size_t sum = 0; sum < snapshot.sums.size(); ++sum) {
    if (snapshot.plan->sums[sum].is_series) continue;
    const std::string& name = snapshot.plan->sums[sum].name;
    add_sample(sums, {{"sum", name}}, number(snapshot.sums[sum].rows.size()));
    add_sample(left_out, {{"sum", name}}, number(snapshot.sums[sum].left_out));
  }
  families.push_back(std::move(sums));
  families.push_back(std::move(left_out));
}

using Histogram = prometheus::ClientMetric::Histogram;

/// Upper bounds in seconds: a poll of a small machine takes less than a millisecond, and one that
/// takes longer than the interval is an overrun.
constexpr double kDurations[] = {0.001, 0.01, 0.1, 1, std::numeric_limits<double>::infinity()};

Histogram empty_histogram() {
  Histogram histogram;
  for (const double bound : kDurations) {
    histogram.bucket.emplace_back().upper_bound = bound;
  }
  return histogram;
}

void observe(Histogram& histogram, double value) {
  for (auto& bucket : histogram.bucket) {
    if (value <= bucket.upper_bound) ++bucket.cumulative_count;
  }
  ++histogram.sample_count;
  histogram.sample_sum += value;
}

}  // namespace

PollMetrics::PollMetrics() : durations_(empty_histogram()) {}

void PollMetrics::add(const PollReport& report, std::shared_ptr<const collect::Snapshot> snapshot) {
  ++polls_;
  cgroups_started_ += report.cgroups_started;
  cgroups_missed_ += report.cgroups_missed;
  switch_records_ += report.switch_records;
  record_checks_ += report.record_checks;
  unnamed_time_ += report.unnamed_time;
  cpu_wait_ += report.waited_for_cpu;
  for (const auto& [refusal, times] : report.refusals)
    open_errors_[errno_name(refusal.code)] += times;
  observe(durations_, seconds_of(report.now.duration));
  for (const int cpu : report.now.late_cpus) ++late_polls_[cpu];
  for (const auto& [bound, dropped] : report.cgroups_left_out) cgroups_left_out_[bound] += dropped;
  group_errors_.add(report, snapshot->plan);
  if (report.now.uncounted) add_uncounted(report.now.uncounted->total);
  last_ = report.now;
  snapshot_ = std::move(snapshot);
}

/// After a reload another collector may begin at 0.
void PollMetrics::add_uncounted(std::chrono::nanoseconds reported) {
  const auto before = std::exchange(reported_uncounted_, reported);
  const auto growth = reported < before ? reported : reported - before;
  uncounted_ = uncounted_.value_or(std::chrono::nanoseconds{}) + growth;
}

std::vector<MetricFamily> PollMetrics::Collect() const {
  std::vector<MetricFamily> families;
  collect_totals(families);
  if (!snapshot_) return families;
  collect_last_poll(families);
  if (!snapshot_->plan->cgroup.empty()) collect_cgroups(families);
  return families;
}

void PollMetrics::collect_totals(std::vector<MetricFamily>& families) const {
  MetricFamily& open_errors =
      families.emplace_back(collected(self_family("perf_event_exporter_event_open_errors_total")));
  for (const auto& [code, times] : open_errors_) {
    add_sample(open_errors, {{"errno", code}}, number(times));
  }
  families.push_back(collected(self_family("perf_event_exporter_polls_total"), number(polls_)));
  families.push_back(
      collected(self_family("perf_event_exporter_poll_overruns_total"), number(overruns_)));
  families.push_back(collected(self_family("perf_event_exporter_poll_duration_seconds")));
  families.back().metric.emplace_back().histogram = durations_;
  MetricFamily& late_polls =
      families.emplace_back(collected(self_family("perf_event_exporter_cpu_late_polls_total")));
  for (const auto& [cpu, polls] : late_polls_) {
    add_sample(late_polls, {{"cpu", std::to_string(cpu)}}, number(polls));
  }
  families.push_back(group_errors_.collect());
}

void PollMetrics::collect_last_poll(std::vector<MetricFamily>& families) const {
  const auto add = [&](const FamilyEntry& family, double value) {
    families.push_back(collected(family, value));
  };
  add(self_family("perf_event_exporter_open_events"), number(last_.open_events));
  add(self_family("perf_event_exporter_last_poll_timestamp_seconds"),
      seconds_since_epoch(snapshot_->taken));
  families.push_back(cpus(last_, *snapshot_->targets->cpus));
  if (uncounted_ && last_.uncounted) {
    add(self_family("perf_event_exporter_uncounted_cpu_seconds_total"), seconds_of(*uncounted_));
  }
}

void PollMetrics::collect_cgroups(std::vector<MetricFamily>& families) const {
  const auto add = [&](const FamilyEntry& family, double value) {
    families.push_back(collected(family, value));
  };
  MetricFamily& dropped =
      families.emplace_back(collected(self_family("perf_event_exporter_cgroups_left_out_total")));
  for (const auto& [reason, cgroups] : cgroups_left_out_) {
    add_sample(dropped, {{"reason", reason}}, number(cgroups));
  }
  add(self_family("perf_event_exporter_cgroups_started_total"), number(cgroups_started_));
  add(self_family("perf_event_exporter_cgroups_missed_total"), number(cgroups_missed_));
  add(self_family("perf_event_exporter_cgroups_rotated_manually"),
      number(last_.targets_rotated_manually));
  families.push_back(cgroups(*snapshot_->targets));
  add_sums(*snapshot_, families);
  families.push_back(cgroup_sources(last_));
  families.push_back(cgroup_directories(last_.cgroup_directories));
  add(self_family("perf_event_exporter_series"), number(collect::count_series(*snapshot_)));
  if (cpu_wait_.count() > 0) {  // else the kernel does not report it
    add(self_family("perf_event_exporter_cpu_wait_seconds_total"), cpu_wait_.count());
  }
  if (last_.cpus_by_records > 0 || switch_records_.written > 0) collect_records(families);
}

void PollMetrics::collect_records(std::vector<MetricFamily>& families) const {
  MetricFamily& records =
      families.emplace_back(collected(self_family("perf_event_exporter_switch_records_total")));
  add_sample(records, {{"outcome", "read"}}, number(switch_records_.written));
  add_sample(records, {{"outcome", "lost"}}, number(switch_records_.lost));
  add_sample(records, {{"outcome", "skipped"}}, number(switch_records_.skipped));
  MetricFamily& checks = families.emplace_back(
      collected(self_family("perf_event_exporter_switch_record_checks_total")));
  add_sample(checks, {{"result", "equal"}}, number(record_checks_.equal));
  add_sample(checks, {{"result", "different"}}, number(record_checks_.different));
  add_sample(checks, {{"result", "inconclusive"}}, number(record_checks_.inconclusive));
  const auto add = [&](const FamilyEntry& family, double value) {
    families.push_back(collected(family, value));
  };
  add(self_family("perf_event_exporter_unnamed_cgroups"), number(last_.unnamed_cgroups));
  add(self_family("perf_event_exporter_unnamed_cgroups_cpu_seconds_total"), unnamed_time_.count());
}

}  // namespace pex::exposition
