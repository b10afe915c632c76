#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/web_protections.h"
#include "base/boot_clock.h"
#include "count/snapshot.h"
#include "history/activity.h"
#include "host/self_process.h"
#include "plan/plan.h"
#include "targets/poll_report.h"

namespace pex::daemon {

/// The configuration in force, and the result of the last load.
struct ConfigurationLoad {
  std::string file;  ///< empty: the embedded default
  BootClock::time_point in_force_since;
  BootClock::time_point last_tried;
  std::vector<std::string> errors;  ///< of the last load; none if it succeeded
};

/// The web configuration in force, which differs from the file after a failed load.
struct WebConfigurationLoad {
  ConfigurationLoad load;
  std::vector<access::ProtectionState> protections;  ///< in force
  std::vector<std::string> downgrades;               ///< caused by the load in force
};

/// What the status shows as the program has it. Polls are counted from the start, over all reloads.
struct ProgramState {
  std::string version;
  BootClock::time_point now;
  BootClock::time_point started;
  std::chrono::nanoseconds interval{};
  std::uint64_t polls = 0;
  std::uint64_t overruns = 0;
  std::uint64_t cgroups_missed = 0;
  std::vector<std::string> warnings = {};
  ConfigurationLoad configuration = {};
  std::optional<WebConfigurationLoad> web_configuration = {};  ///< nothing without such a file
  std::string telemetry_path;
};

/// What the status is made from.
struct StatusInputs {
  ProgramState program;
  const plan::Plan& plan;
  const collect::Snapshot* snapshot = nullptr;  ///< null before the first poll
  collect::PollReport::State last_poll = {};
  const history::Activity& activity;
  std::optional<host::SelfProcess> process = {};
};

/// The content of the status, without its presentation. Unknown values are nothing, never 0. Texts
/// are as the kernel and the operator gave them: any bytes.
struct Status : ProgramState {
  struct Event {
    std::string name;    ///< "cycles"
    std::string metric;  ///< "perf_cpu_cycles_total"
  };

  /// Where a group counts.
  struct Targets {
    std::size_t rows = 0;     ///< parts of the machine, or existing cgroups
    std::size_t wanted = 0;   ///< (CPU) or (cgroup, CPU) pairs
    std::size_t counted = 0;  ///< those whose group is open
  };

  /// One opened group in one scope: a configured group, or a part of it.
  struct Group {
    std::string name;  ///< "core/2" for the second piece of one that was split
    Scope scope = {};
    std::optional<Aggregation> aggregation;  ///< of scope cpu
    std::string pmu;                         ///< that it is bound to; empty: none
    std::vector<Event> events;
    std::optional<Targets> targets;  ///< nothing before the first poll
    bool shares_pmu = false;         ///< can lose the PMU; groups that cannot count always
    bool is_pinned = false;
    std::optional<collect::GroupTimes> times;  ///< of all existing rows
    std::optional<double> recent_running_ratio;

    std::optional<double> coverage_ratio() const;
    std::optional<double> running_ratio() const;
  };

  /// Events that are not counted, with one common reason.
  struct NotCounted {
    std::vector<std::string> events;
    std::vector<std::string> groups;  ///< configured groups that they belong to
    int code = 0;                     ///< errno, or 0
    std::string reason;
    std::string remedy;  ///< empty when there is nothing to advise
  };

  /// A group that is left out because of its `when`.
  struct LeftOutGroup {
    std::string name;
    std::string reason;
  };

  struct Pmu {
    std::string name;
    std::vector<int> cpus;  ///< those where it is read
  };

  struct Machine {
    std::vector<int> online_cpus;
    std::vector<Pmu> pmus;                ///< that groups are bound to
    std::vector<int> late_cpus = {};      ///< whose totals are those of an earlier poll
    std::vector<int> left_out_cpus = {};  ///< by the configuration
  };

  /// The rate of one event, recently.
  struct Rate {
    Event event;
    Unit unit = Unit::kEvents;
    history::Role role = history::Role::kOther;
    std::optional<double> per_second;  ///< in that unit
  };

  /// A cgroup or sum, of those with the highest rates.
  struct Busy {
    std::vector<cgroup::Label> labels;  ///< of a sum: that its cgroups have in common
    std::vector<Rate> rates;            ///< first that of the event they are ranked by
    std::optional<double> instructions_per_cycle;
    history::Activity::Points points;  ///< of the event they are ranked by, as Use::ages
  };
  struct BusyCgroup : Busy {
    std::string path;
    bool is_gone = false;  ///< its series linger
  };
  struct BusySum : Busy {
    std::size_t members = 0;  ///< cgroups
  };

  struct HostRate {
    Rate rate;
    history::Activity::Points points;  ///< as Use::ages
  };

  /// One configured sum over cgroups (collect::SumPlan): a sum for each combination of values.
  struct Sum {
    struct Numbers {
      std::size_t sums = 0;
      std::size_t is_new = 0;   ///< of those: still published as 0, so that no rate is known
      std::size_t members = 0;  ///< cgroups
      std::size_t members_left_out = 0;
    };

    std::string name;
    std::vector<std::string> labels;
    std::size_t max = 0;
    std::optional<Numbers> numbers;          ///< nothing before the first poll
    std::optional<history::Role> ranked_by;  ///< nothing when no sum can be compared
    std::size_t busy = 0;                    ///< those with a rate above 0
    std::size_t idle = 0;                    ///< those whose rate is 0
    std::vector<BusySum> busiest;            ///< at most kMaxBusySums; none is idle
  };

  /// "recent" as in Activity.
  struct Use {
    history::Activity::Seconds recent{};
    history::Activity::Seconds span{};
    std::vector<history::Activity::Seconds> ages;
    std::vector<HostRate> host;
    std::optional<double> host_instructions_per_cycle;
    std::optional<history::Role> ranked_by;  ///< nothing when no cgroup can be compared
    std::size_t busy_cgroups = 0;            ///< those with a rate above 0
    std::size_t idle_cgroups = 0;            ///< those whose rate is 0
    std::vector<BusyCgroup> cgroups;         ///< the busiest, at most kMaxBusy; none is idle
  };

  /// CPU time in no counted cgroup.
  struct Uncounted {
    struct Part {
      std::string path;
      cgroup::UncountedUse::Rate rate;
      std::string reason;
    };
    std::optional<cgroup::UncountedUse::Rate> rate;  ///< nothing before the second poll
    std::vector<Part> largest;
  };

  struct Cgroups {
    std::size_t counted = 0;
    std::size_t idle = 0;  ///< their counters are closed
    std::size_t waiting = 0;
    std::size_t lingering = 0;
    std::size_t left_out = 0;
    std::size_t unreadable = 0;
    collect::PollReport::CgroupDirectories directories = {};
    std::optional<Uncounted> uncounted = {};  ///< nothing: not known

    std::size_t cpus_by_records = 0;
    std::size_t cpus_by_descriptors = 0;
    std::vector<int> cpus_without_records = {};  ///< of PollReport, like
    std::string why_no_records = {};

    std::string left_out_by;                  ///< name of the limit; empty: none
    std::string_view left_out_setting;        ///< that raises it; empty: none
    std::vector<std::string> left_out_paths;  ///< of DiscoveryResult
  };

  struct Limits {
    std::optional<std::uint64_t> open_files;
    std::optional<std::uint64_t> max_open_files;
    std::optional<std::size_t> open_events;  ///< nothing before the first poll
    std::size_t max_open_events = 0;
    std::optional<std::size_t> series;  ///< nothing before the first poll
    std::size_t max_series = 0;
    std::size_t max_cgroups = 0;
  };

  struct Poll {
    std::chrono::nanoseconds duration{};
    BootClock::time_point taken;
    std::size_t groups_off_pmu = 0;
    std::size_t targets_rotated_manually = 0;  ///< whose groups the exporter rotates itself
  };

  static constexpr std::size_t kMaxBusy = 20;
  static constexpr std::size_t kMaxBusySums = 10;  ///< of each configured one

  std::optional<Poll> last_poll;       ///< nothing before the first
  std::optional<Machine> machine;      ///< nothing before the first
  std::vector<std::string> reference;  ///< what counts are scaled by; empty: time alone
  std::vector<Group> groups;
  std::vector<NotCounted> not_counted;
  std::vector<LeftOutGroup> left_out_groups;
  Use use;
  std::vector<Sum> sums;
  std::optional<Cgroups> cgroups;  ///< nothing before the first poll
  Limits limits;
};

Status make_status(const StatusInputs& inputs);

}  // namespace pex::daemon
