#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "count/counter_source.h"
#include "count/counter_sources.h"
#include "count/descriptor_source.h"
#include "perf/perf_kernel.h"
#include "records/names_ring.h"
#include "records/record_check.h"
#include "records/switch_recording.h"

namespace pex::collect {

/// How cgroups are to be counted by records.
struct RecordOptions {
  std::size_t buffer_bytes = 256 * 1024;  ///< of the ring of each CPU: a power of two
  bool is_checked = true;                 ///< by descriptors (RecordCheck)
  SwitchRecording::OwnCgroup own_cgroup = [] { return std::nullopt; };
  SwitchRecording::Moves moves = {};
};

/// The CPUs that count cgroups by records, and will at the next poll, or did until they went
/// offline: the cost of all sources of a machine depends on them. From any thread.
class RecordedCpus {
 public:
  void set(int cpu, bool is_recorded) {
    const std::lock_guard lock{mutex_};
    is_recorded ? void(cpus_.insert(cpu)) : void(cpus_.erase(cpu));
  }
  std::size_t among(std::span<const int> cpus) const {
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(
        std::count_if(cpus.begin(), cpus.end(), [this](int cpu) { return cpus_.contains(cpu); }));
  }

 private:
  mutable std::mutex mutex_;
  std::set<int> cpus_;
};

/// Counts the cgroups of one CPU by the records that the kernel writes at each switch between
/// cgroups (SwitchRecording): no descriptor for any cgroup. Groups that records cannot have (pinned
/// and exclusive ones), and scope cpu where its group is not the same, are counted by descriptors.
///
/// All cgroups are counted by descriptors where records cannot be had, are not complete, or are not
/// what descriptors count (RecordCheck):
///
///   descriptors --TargetSet::min_recorded---> records --fewer--> descriptors
///        \--refused                              \--incomplete, wrong, lost--> descriptors for
///                                                                               some minutes
///
/// Once records are used, they are until there have been less than half as many cgroups as it takes
/// to begin, for a minute.
///
/// Too much is lost if nothing is known of more than a tenth of the time in kLosingPolls polls in a
/// row, or of kMaxLost beyond kMaxLostPercent of the time, for want of records: the thread of the
/// CPU, which reads them, hardly runs, or the kernel does not write all. Or of more than a tenth in
/// each poll for kMaxMoving, as running tasks move to other cgroups again and again: that many
/// services start says nothing, as the first move of a task can follow on seconds of idle time.
/// Records are tried again a minute later; if they are given up
/// soon again, after 2, 4, ... 64 minutes. What the CPU did between its last record and the end of
/// the recording is lost as well. A change of the source loses at most what happens between the
/// last reading of the one and the opening of the other. The change to descriptors is announced
/// (RecordedCpus) and made at the next poll, as the targets of this one may be more than there are
/// descriptors for.
///
/// While any CPU counts by records, this one reports the names of cgroups that are made on it
/// (NamesRing).
class RecordSource final : public CounterSource {
 public:
  static constexpr unsigned kLosingPolls = 3;
  static constexpr std::chrono::nanoseconds kMaxLost = std::chrono::seconds{1};
  static constexpr int kMaxLostPercent = 1;
  static constexpr std::chrono::nanoseconds kMaxMoving = std::chrono::minutes{1};

  /// `kernel` outlives it.
  RecordSource(perf::PerfKernel& kernel, std::shared_ptr<const CountingPlan> plan, int cpu,
               RecordOptions options, std::shared_ptr<RecordedCpus> by_records);
  ~RecordSource() override;

  void use(const std::shared_ptr<const CountingPlan>& plan) override;
  std::unique_ptr<GroupCounters> counters_of(const GroupPlan& group) override;
  bool begin_poll(const TargetSet& targets) override;
  void report(PollReport& report, PollFeedback& feedback) override;
  std::optional<std::chrono::nanoseconds> detect_cpu_offline(bool is_online) override;
  bool take_changed(RowSet& slots) override;

  std::size_t own_events() const override;
  std::chrono::nanoseconds now() override { return kernel_.now(); }
  std::uint64_t progress() const override { return kernel_.answers(); }

  int descriptor() const override;
  void between_polls() override;
  std::optional<std::chrono::nanoseconds> due_in() override;

 private:
  enum class Way { kDescriptors, kRecords };
  class Group;

  bool wants_records(const TargetSet& targets);
  Way next_way(const TargetSet& targets);
  void expect_records(bool expected);
  void check(const SwitchAttribution::Statistics& poll);
  void note_dead();
  void end_recording();
  void give_up(Error reason);
  void report_losses(std::uint64_t lost, PollReport& report);
  Result<> start_recording();
  Result<const GroupPlan*> find_recorded(const GroupPlan& group);
  void note_busy(std::size_t slot, std::chrono::nanoseconds time);

  CountedKernel kernel_;
  std::shared_ptr<const CountingPlan> plan_;
  const int cpu_;
  const RecordOptions options_;
  const std::shared_ptr<RecordedCpus> by_records_;

  StuckClocks clocks_;
  DescriptorSource descriptors_;
  std::unique_ptr<SwitchRecording> recording_;
  RecordCheck check_;
  NamesRing names_ring_;
  bool names_have_use_ = false;
  Way way_ = Way::kDescriptors;
  bool expects_records_ = false;                       ///< in by_records_
  std::optional<std::chrono::nanoseconds> few_since_;  ///< cgroups, while they are counted by
                                                       ///< records
  std::optional<Error> gave_up_;                       ///< why records are not used any more
  std::chrono::nanoseconds gave_up_until_{};
  std::chrono::nanoseconds gives_up_for_{};               ///< the next time
  bool is_reported_ = false;                              ///< gave_up_
  unsigned losing_polls_ = 0;                             ///< in a row
  std::chrono::nanoseconds lost_lately_{};                ///< beyond kMaxLostPercent
  std::optional<std::chrono::nanoseconds> moving_since_;  ///< more than a tenth is lost by moves
  bool is_dead_ = false;  ///< the CPU has been offline since the recording was opened
  std::vector<std::size_t> targets_of_;  ///< that are recorded, by the number of the group
  std::size_t recorded_ = 0;             ///< the sum of these
  PollReport::SwitchRecords unreported_;
  CgroupSums::Unnamed unnamed_;  ///< reported
  bool has_reported_unnamed_ = false;
};

/// Of all CPUs. `kernel` outlives them.
CounterSources record_sources(perf::PerfKernel& kernel,
                              const std::shared_ptr<const CountingPlan>& plan,
                              const RecordOptions& options);

}  // namespace pex::collect
