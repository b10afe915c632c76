#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "count/descriptor_source.h"
#include "records/switch_recording.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"

namespace pex::collect {

/// What one cgroup did on one CPU in the same interval, as each source has counted it.
struct CheckedInterval {
  CgroupSums::Sum records;
  CgroupSums::Sum descriptors;
};

/// Nothing if the sources agree, else what differs most: "page-faults: records 7, descriptors 12".
/// Counts agree if they are as close as the two sources are on a kernel that works: up to 4 events
/// and 0.2 %. Times (and the counts of `events` that are clocks) do up to 0.1 ms and 10 %, as the
/// clock of descriptors stops for a microsecond around each switch. A clock that stands still in
/// descriptors says nothing.
std::optional<std::string> find_difference(const CheckedInterval& interval,
                                           const std::vector<perf::CounterSpec>& events);

/// Whether the records of one CPU are right. Once a minute, and for at most a sixtieth of the time,
/// what they give a busy cgroup is compared with what descriptors count there:
///
///   idle --due, a cgroup is busy--> counting, for one poll --> equal, different or inconclusive
///
/// Descriptors make switches dearer, so counting is as rare as that. One comparison that differs is
/// repeated, and several in a row are a reason not to use records. A single one is none: a task
/// that is moved to another cgroup while it runs is counted by descriptors from then on, and by
/// records since the switch before, where its move is not noted. As tasks are moved into new
/// cgroups, these are not compared. It is inconclusive if the cgroup ended, or ran at the instant
/// of comparison, or did not run in between, if descriptors were refused or did not count, or if
/// the sources differ and something was lost meanwhile: a record, or what came before the move of a
/// task; or the name of a cgroup, which may be in it, was not known when it began or ended. Then
/// another cgroup is tried a few seconds later.
class RecordCheck {
 public:
  static constexpr std::chrono::seconds kInterval{60};
  static constexpr int kShare = 60;                            ///< of the time
  static constexpr int kShareUntilConclusive = 7;              ///< the same
  static constexpr std::chrono::milliseconds kMinLength{200};  ///< of a comparison
  static constexpr unsigned kDifferencesToGiveUp = 5;
  static constexpr std::chrono::seconds kMinAge{10};  ///< of a cgroup that is compared

  /// `kernel` outlives it.
  RecordCheck(perf::PerfKernel& kernel, int cpu);

  /// At each poll and reconciliation, once `recording` is drained: ends the comparison or begins
  /// one. Returns an error if the records are wrong.
  std::optional<Error> poll(SwitchRecording& recording);

  /// Whether a cgroup that ran for this time since the last poll would be compared next.
  bool is_busiest(std::chrono::nanoseconds time) const { return time > busiest_time_; }
  /// It is. The calling thread must not run in it, so that it does not run while it is read.
  void set_busiest(std::size_t slot, std::chrono::nanoseconds time) {
    busiest_ = slot;
    busiest_time_ = time;
  }
  /// The slot is closed.
  void forget(std::size_t slot);
  /// The recording ends.
  void abandon();

  /// Since the last call.
  PollReport::RecordChecks take_results() { return std::exchange(results_, {}); }
  /// That are open.
  std::size_t open_events() const { return counting_ ? counting_->group->events.size() : 0; }

 private:
  struct Counting {
    std::size_t slot = 0;
    std::string path;
    const GroupPlan* group = nullptr;
    std::unique_ptr<DescriptorGroup> counters;  ///< with one target
    std::uint64_t imperfect = 0;                ///< intervals of the base, when it began
    bool lacks_names = false;       ///< what cgroups in it did may be given before or after it
    std::chrono::nanoseconds at{};  ///< when it began
    CgroupSums::Sum counted;        ///< by descriptors since then
  };

  void begin(SwitchRecording& recording, std::size_t slot);
  std::optional<Error> end(SwitchRecording& recording);
  bool read_at_rest(SwitchRecording& recording);
  bool read();
  std::optional<CheckedInterval> compare(SwitchRecording& recording);
  void inconclusive();
  void wait(std::chrono::nanoseconds least, int share);
  std::chrono::nanoseconds length() const;
  Error wrong(const std::string& path, const std::string& difference) const;

  perf::PerfKernel* kernel_;
  int cpu_;
  const GroupPlan time_only_;           ///< for a recording whose base has no events
  std::optional<std::size_t> busiest_;  ///< slot
  std::chrono::nanoseconds busiest_time_{};
  StuckClocks clocks_;
  std::optional<Counting> counting_;
  perf::GroupInterval interval_;  ///< the last one read
  std::chrono::nanoseconds due_at_;
  unsigned differences_ = 0;  ///< in a row
  PollReport::RecordChecks results_;
};

}  // namespace pex::collect
