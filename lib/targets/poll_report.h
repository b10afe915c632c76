#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/use/uncounted_use.h"

namespace pex::collect {

/// What happened in one poll, on one CPU or, merged, on all: returned to the caller of the poll,
/// for the log and for the exporter's own metrics.
struct PollReport {
  /// What failed and why, without the place: the same on every CPU and in every cgroup.
  struct Cause {
    std::string what;  ///< for refusals the event
    int code = 0;      ///< errno
    auto operator<=>(const Cause&) const = default;
  };
  /// Errors in readings of one configured group, on all targets.
  struct GroupErrors {
    std::uint64_t anomalies = 0;      ///< totals of the kernel fell
    std::uint64_t mistimed = 0;       ///< time_running was wrong
    std::uint64_t pinned_errors = 0;  ///< pinned, and without a place on the PMU
    std::uint64_t read_failures = 0;
    std::uint64_t standstills = 0;  ///< of a CPU, reopened as the kernel did not count it
  };
  /// The subject of a failure, as far as it is known; also in its text.
  struct Subject {
    std::string group;   ///< of events, as it is counted; empty if unknown, like
    std::string event;   ///< as it was requested
    std::string cgroup;  ///< its path below the cgroup mount
    int cpu = -1;        ///< -1: unknown
  };
  struct Failure {
    Error first;  ///< ready to be logged
    std::uint64_t times = 0;
    Subject subject = {};  ///< of the first
  };

  /// The directories of the cgroup tree.
  struct CgroupDirectories {
    std::size_t followed = 0;       ///< known: changes in them are seen at once
    std::size_t unwatched = 0;      ///< known, but changes are found within a minute
    std::size_t beyond_limit = 0;   ///< unknown, with everything below them
    std::size_t path_too_long = 0;  ///< the same
  };

  /// The state at the end of the poll.
  struct State {
    std::chrono::nanoseconds duration{};  ///< from the first step of the poll to its snapshot
    std::size_t groups_off_pmu = 0;       ///< pinned, and without their place on the PMU
    std::size_t open_events = 0;
    std::size_t targets_rotated_manually = 0;  ///< whose groups are rotated manually (rotation.h)
    std::vector<int> late_cpus = {};           ///< whose totals are those of an earlier poll
    CgroupDirectories cgroup_directories = {};
    std::optional<cgroup::UncountedUse::Use> uncounted = {};  ///< nothing: not known
    std::size_t cpus_by_records = 0;      ///< that count cgroups by records (RecordSource)
    std::size_t cpus_by_descriptors = 0;  ///< and those that could not, or had too few cgroups
    std::vector<int> cpus_without_records = {};  ///< by descriptors, as records were tried and are
                                                 ///< not complete, wrong or refused
    std::string why_no_records = {};             ///< on the first of them
    std::size_t unnamed_cgroups = 0;  ///< in records of each CPU, and not known by name yet

    /// The CPU is offline: it counts cgroups in neither way.
    void forget_source();
    /// Adds the state of another CPU.
    void add(const State& part);
  };

  /// Records of switches between cgroups.
  struct SwitchRecords {
    std::uint64_t written = 0;
    std::uint64_t lost = 0;     ///< for lack of room, as the kernel reports
    std::uint64_t skipped = 0;  ///< neither written nor reported as lost

    SwitchRecords& operator+=(const SwitchRecords& more);
  };

  /// Comparisons of these records with descriptors (RecordCheck), by their result.
  struct RecordChecks {
    std::uint64_t equal = 0;
    std::uint64_t different = 0;
    std::uint64_t inconclusive = 0;

    RecordChecks& operator+=(const RecordChecks& more);
  };

  State now;
  // The events since the previous poll.
  std::size_t groups_opened = 0;
  std::size_t groups_closed = 0;
  std::size_t groups_read = 0;
  std::map<std::string, GroupErrors> errors;                   ///< by the name of the group
  std::map<Cause, std::uint64_t> refusals;                     ///< to open an event
  std::map<Cause, Failure> failures;                           ///< all failures, including those
  std::map<std::string_view, std::uint64_t> cgroups_left_out;  ///< by bound (budget.h)
  std::uint64_t cgroups_started = 0;  ///< counted for the first time, or again
  std::uint64_t cgroups_missed = 0;   ///< gone before all their counters were open
  SwitchRecords switch_records;
  RecordChecks record_checks;
  /// For which the threads that count were ready to run, and others had their CPUs.
  std::chrono::nanoseconds waited_for_cpu{};
  /// CPU time of cgroups whose names were not found in time: in no cgroup's counts.
  std::chrono::nanoseconds unnamed_time{};

  GroupErrors& of_group(const std::string& group) { return errors[group]; }
  void add_failure(const std::string& what, const Error& error) { add_failure(what, error, {}); }
  void add_failure(const std::string& what, const Error& error, const Subject& subject);
  void merge(const PollReport& part);
};

/// The consequences of a poll on one CPU or, merged, on all, for the targets of the next one.
struct PollFeedback {
  /// Cgroups that met a bound while they were opened, by path: errno.
  std::map<std::string, int> exhausted;
  /// Targets that were gone before all their counters were open: their series.
  std::set<std::uint64_t> unopened;
  /// Cgroups that the kernel has reported.
  std::vector<cgroup::NamedCgroup> named;
  /// Cgroups have run whose names are not known.
  bool lacks_names = false;

  void merge(const PollFeedback& part) {
    exhausted.insert(part.exhausted.begin(), part.exhausted.end());
    unopened.insert(part.unopened.begin(), part.unopened.end());
    named.insert(named.end(), part.named.begin(), part.named.end());
    lacks_names = lacks_names || part.lacks_names;
  }
};

}  // namespace pex::collect
