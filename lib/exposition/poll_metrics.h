#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "count/snapshot.h"
#include "exposition/group_errors.h"
#include "targets/poll_report.h"

namespace pex::exposition {

/// Metrics of all polls, and of the last one. Not thread-safe.
class PollMetrics final : public prometheus::Collectable {
 public:
  PollMetrics();

  /// A poll has ended with `report` and published `snapshot`.
  void add(const collect::PollReport& report, std::shared_ptr<const collect::Snapshot> snapshot);
  /// Polls were skipped, because their time had passed.
  void add_overruns(std::uint64_t missed) { overruns_ += missed; }

  std::uint64_t polls() const { return polls_; }
  std::uint64_t overruns() const { return overruns_; }
  std::uint64_t cgroups_missed() const { return cgroups_missed_; }
  /// Of the last poll.
  const collect::PollReport::State& last() const { return last_; }
  /// Null before the first poll.
  const std::shared_ptr<const collect::Snapshot>& snapshot() const { return snapshot_; }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void collect_totals(std::vector<prometheus::MetricFamily>& families) const;
  void add_uncounted(std::chrono::nanoseconds reported);
  void collect_last_poll(std::vector<prometheus::MetricFamily>& families) const;
  void collect_cgroups(std::vector<prometheus::MetricFamily>& families) const;
  void collect_records(std::vector<prometheus::MetricFamily>& families) const;

  std::uint64_t polls_ = 0;
  std::uint64_t overruns_ = 0;
  std::uint64_t cgroups_started_ = 0;  ///< the same
  std::uint64_t cgroups_missed_ = 0;
  collect::PollReport::SwitchRecords switch_records_;  ///< from the start
  collect::PollReport::RecordChecks record_checks_;    ///< the same
  std::chrono::duration<double> unnamed_time_{};       ///< the same
  std::chrono::duration<double> cpu_wait_{};           ///< the same
  /// The same, of CPU time in no counted cgroup; and as the last report had it.
  std::optional<std::chrono::nanoseconds> uncounted_;
  std::chrono::nanoseconds reported_uncounted_{};
  prometheus::ClientMetric::Histogram durations_;               ///< of polls, in seconds
  std::map<std::string, std::uint64_t> open_errors_;            ///< by errno, from the start
  std::map<int, std::uint64_t> late_polls_;                     ///< by CPU
  std::map<std::string_view, std::uint64_t> cgroups_left_out_;  ///< by reason, from the start
  GroupErrors group_errors_;
  collect::PollReport::State last_;
  std::shared_ptr<const collect::Snapshot> snapshot_;
};

}  // namespace pex::exposition
