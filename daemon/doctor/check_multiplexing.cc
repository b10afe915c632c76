#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/lookup.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cgroup/hierarchy.h"
#include "daemon/cli/words.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/rotation_trial.h"
#include "events/event_resolver.h"
#include "host/kernel_faults.h"
#include "plan/machine/free_counters.h"
#include "plan/reference_selector.h"

// Multiplexing of groups on a PMU, and how well multiplexed counts can be estimated.

namespace pex::daemon {
namespace {

using State = Finding::State;

/// By default the mux interval is one tick of the kernel: 1 to 10 ms (perf_event_mux_interval_ms,
/// Documentation/ABI/testing/sysfs-bus-event_source-devices).
constexpr std::uint64_t kMaxUsualInterval = 10;

/// Mux intervals that end exactly at a tick, and a nearby interval that has no small common
/// multiple with the tick. At one tick each ms there is none.
struct MuxIntervalEntry {
  std::uint64_t interval_ms;
  std::uint64_t better_ms;
};
constexpr MuxIntervalEntry kIntervalsInStep[] = {{4, 5}, {10, 7}};
constexpr std::uint64_t kBetterInterval = 5;

bool has_multiplexed_cgroup_groups(const CheckInputs& here) {
  if (!here.counts_cgroups()) return false;
  const auto& groups = here.planned->plan.counting.cgroup.groups;
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto& group) { return group.is_multiplexed(); });
}

std::string set_mux_interval(const CheckInputs& here, const std::string& pmu,
                             std::uint64_t interval_ms) {
  return "echo " + number(interval_ms) + " > " + here.options.roots.event_sources() + "/" + pmu +
         "/perf_event_mux_interval_ms";
}

/// One command for each core PMU whose mux interval is in step with the tick.
std::vector<std::string> ways_out_of_step(const CheckInputs& here) {
  std::vector<std::string> commands;
  for (const events::Pmu* pmu : here.resolver->pmus().core_pmus()) {
    const MuxIntervalEntry* in_step =
        lookup(kIntervalsInStep, &MuxIntervalEntry::interval_ms, pmu->mux_interval_ms);
    if (in_step) commands.push_back(set_mux_interval(here, pmu->name, in_step->better_ms));
  }
  return commands;
}

// Whether the kernel accounts times correctly, by a trial in the cgroup of this process.

constexpr const char* kCgroupTimes = "cgroup times";

Findings undetermined(const std::string& why) {
  return {unknown(kCgroupTimes, "could not be determined: " + why)};
}

/// Where the trial can run.
struct TrialPlace {
  UniqueFd directory;
  std::string path;
};

/// The cgroup of this process, unless it is the root cgroup, which has no file cgroup.events. A
/// container sees its own cgroup as "/" too.
std::optional<TrialPlace> own_cgroup(const CheckInputs& here) {
  const auto hierarchy = cgroup::find_hierarchy(here.options.roots);
  if (!hierarchy || !*hierarchy || !here.self.cgroup) return {};
  const std::string directory = (*hierarchy)->mount + *here.self.cgroup;
  std::error_code error;
  const bool is_root =
      *here.self.cgroup == "/" && !std::filesystem::exists(directory + "/cgroup.events", error);
  if (is_root) return {};
  UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return {};
  return TrialPlace{std::move(fd), *here.self.cgroup};
}

struct RotationFinding {
  daemon::RunningTimes times;
  Finding finding;
};
const RotationFinding kRotationFindings[] = {
    {daemon::RunningTimes::kRight,
     {State::kGood, kCgroupTimes, "multiplexed groups get their own running time", {}, {}}},
    {daemon::RunningTimes::kWrong,
     {State::kNote, kCgroupTimes,
      "this kernel accounts the running time of multiplexed cgroup groups to the wrong group",
      "none for this exporter, which adds a clock to each such group; programs that use "
      "the times of the kernel (perf stat --for-each-cgroup) scale by wrong times",
      std::string(host::kWrongRunningTime.fixed_in)}},
    {daemon::RunningTimes::kFewRotations,
     {State::kUnknown,
      kCgroupTimes,
      "could not be determined: the groups were not multiplexed during the trial",
      {},
      {}}},
    {daemon::RunningTimes::kCpuShared,
     {State::kUnknown,
      kCgroupTimes,
      "could not be determined: other processes used the CPU during the trial; try again "
      "at a lower load",
      {},
      {}}},
};

/// The result of a trial; if other work disturbed it, another one may do better.
struct TimesTrial {
  Findings findings;
  bool is_worth_another = false;
};

/// Runs in a thread that is bound to the CPU of `place`.
TimesTrial try_times(const CheckInputs& here, const events::Pmu& pmu, const perf::Place& place) {
  const auto free = plan::count_free_counters(here.kernel, *here.resolver, pmu, place.cpu);
  if (!free) return {undetermined("no hardware event opens on " + pmu.name)};
  const auto times = daemon::try_rotation(here.kernel, *free, place, daemon::kRotationTrial);
  if (!times) return {undetermined("could not " + without_remedy(times.error()))};
  const std::chrono::milliseconds mux_interval{pmu.mux_interval_ms.value_or(4)};
  const daemon::RunningTimes verdict = daemon::judge(*times, mux_interval, daemon::kRotationTrial);
  const bool is_known =
      verdict == daemon::RunningTimes::kRight || verdict == daemon::RunningTimes::kWrong;
  return {{lookup(kRotationFindings, &RotationFinding::times, verdict)->finding}, !is_known};
}

constexpr std::size_t kMaxTrials = 4;  ///< each takes about 250 ms of CPU time

bool counts_on(const events::Pmu& pmu, int cpu) {
  return pmu.cpus.empty() || std::find(pmu.cpus.begin(), pmu.cpus.end(), cpu) != pmu.cpus.end();
}

// The activity reference.

constexpr const char* kReference = "activity reference";

/// Why `counter` is no reference on this CPU: it does not open, or stands still, as in guests whose
/// host hides it; nothing if it is one.
std::optional<std::string> fault_of(const CheckInputs& here, const perf::CounterSpec& counter,
                                    int cpu) {
  const auto group = perf::CounterGroup::open(here.kernel, {&counter, 1}, {cpu, -1, {}}, {});
  if (!group) return could_not(group.error().error);
  perf::GroupReading reading;
  const bool moves =
      group->read(here.kernel, reading) && !reading.counts.empty() && reading.counts.front() > 0;
  return moves ? std::nullopt : std::optional<std::string>("it does not count");
}

}  // namespace

Findings check_mux_interval(const CheckInputs& here) {
  constexpr const char* kSubject = "mux interval";
  if (!here.resolver) return {};
  std::map<std::uint64_t, std::vector<std::string>> pmus_by_interval;
  std::vector<std::string> unknown_of;
  for (const events::Pmu& pmu : here.resolver->pmus().pmus()) {
    if (!pmu.mux_interval_ms && pmu.kind == events::PmuKind::kCore) unknown_of.push_back(pmu.name);
    if (pmu.mux_interval_ms.value_or(0) == 0) continue;  // it never multiplexes
    pmus_by_interval[*pmu.mux_interval_ms].push_back(pmu.name);
  }
  if (!unknown_of.empty()) {
    return {unknown(kSubject, "not known: " + join(unknown_of) +
                                  " has no file perf_event_mux_interval_ms that can be read")};
  }
  if (pmus_by_interval.empty()) return {good(kSubject, "no PMU multiplexes groups")};
  std::vector<std::string> intervals;
  intervals.reserve(pmus_by_interval.size());
  for (const auto& [interval, pmus] : pmus_by_interval) {
    intervals.push_back(number(interval) + " ms on " + join(pmus));
  }
  const std::string what = join(intervals, "; ");
  const auto& [longest, slow] = *pmus_by_interval.rbegin();
  if (longest > kMaxUsualInterval) {
    return {{State::kNote, kSubject, what,
             "groups on such a PMU are rotated only a few times between two polls, so estimates "
             "are less accurate",
             set_mux_interval(here, slow.front(), kBetterInterval)}};
  }
  if (!has_multiplexed_cgroup_groups(here)) return {good(kSubject, what)};
  const std::vector<std::string> commands = ways_out_of_step(here);
  if (commands.empty()) return {good(kSubject, what)};
  return {{State::kNote, kSubject, what,
           "the kernel rotates groups exactly at its tick: if the tasks of a cgroup wake at "
           "ticks, some of its groups may never be on the PMU, until the exporter rotates them "
           "itself at each poll",
           join(commands, "; ") + ", after each boot"}};
}

Findings check_cgroup_times(const CheckInputs& here) {
  if (!here.has_core_pmu() || !here.may_open()) return {};
  const std::optional<TrialPlace> own = own_cgroup(here);
  if (!own) {
    return undetermined(
        "requires a process in a cgroup other than the root, such as a service "
        "(systemd-run --pipe)");
  }
  const events::Pmu& pmu = *here.resolver->pmus().core_pmus().front();
  TimesTrial trial{undetermined("this process may run on no CPU of " + pmu.name), true};
  std::size_t trials = 0;
  for (std::size_t round = 0; round < kMaxTrials; ++round) {
    for (const int cpu : here.cpus) {
      if (!trial.is_worth_another || trials == kMaxTrials) return trial.findings;
      if (!counts_on(pmu, cpu)) continue;
      trials += here.self.run_bound_to(cpu, [&] {
        trial = try_times(here, pmu, {cpu, own->directory.get(), own->path});
      });
    }
  }
  return trial.findings;
}

Findings check_activity_reference(const CheckInputs& here) {
  if (!here.has_core_pmu() || !here.may_open()) return {};
  const auto counter = events::counter_on(*here.resolver, plan::kFreeReference, "");
  const std::optional<std::string> fault =
      counter ? fault_of(here, *counter, here.cpus.front()) : "this machine does not have it";
  if (!fault)
    return {good(kReference, std::string(plan::kFreeReference) + ", which takes no counter")};
  return {{State::kNote, kReference,
           std::string("none without a counter: ") + plan::kFreeReference + ": " + *fault,
           "multiplexed groups are scaled by cycles if no group gets less time on the PMU "
           "because of it, and by time otherwise, which is less accurate for intermittent work",
           "set 'estimator: reference' for groups that need the accuracy; or count fewer "
           "hardware events, so that no group is multiplexed"}};
}

}  // namespace pex::daemon
