#include "perf/truth_check.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "host/self_process.h"

namespace pex::perf {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using While = Observation::While;

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMaxTries = 2 * kRepetitions;
constexpr nanoseconds kMaxElapsedTime = milliseconds{500};
constexpr nanoseconds kRotation = milliseconds{4};  ///< until a group may have the PMU
constexpr std::uint64_t kIterations = 100'000;
constexpr std::uint64_t kLittle = 4 * kIterations;  ///< of any event, in a thread that sleeps

/// One check, on its thread.
class TruthCheck {
 public:
  TruthCheck(PerfKernel& kernel, CheckedEvents& checked)
      : kernel_(kernel), checked_(checked), found_(checked.events.size()) {}

  void run() {
    bool is_first = true;
    for (const int cpu : checked_.cpus) {
      if (is_over()) break;
      if (!do_work({.cpu = cpu})) continue;  // the exporter may not run there
      for (const Group& group : groups()) {
        if (is_first) {
          observe(group, {.cpu = cpu, .cgroup_path = {}, .pid = 0});
        } else if (is_software(group) || found_[group.front()].truth == Truth::kUnknown) {
          continue;
        }
        observe(group, {.cpu = cpu, .cgroup_path = {}});
      }
      is_first = false;
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].truth != Truth::kUnknown) checked_.verdicts[i] = std::move(found_[i]);
    }
  }

 private:
  using Group = std::vector<std::size_t>;  ///< of events
  using Seen = std::vector<Observation>;
  struct Interval {
    WorkDone done;
    Bounds time;  ///< ns
    std::vector<std::uint64_t> counts;
  };

  const EventAttributes& attributes(std::size_t event) const {
    return checked_.events[event].attributes;
  }
  bool is_software(const Group& group) const {
    return attributes(group.front()).type == PERF_TYPE_SOFTWARE;
  }

  /// Pairs of hardware events, as a PMU may have few free counters: cycles and instructions,
  /// references to caches and misses, branches and misses. One group of all software events.
  std::vector<Group> groups() const {
    std::vector<Group> groups(4);
    for (std::size_t i = 0; i < checked_.events.size(); ++i) {
      groups[is_software({i}) ? 3 : (attributes(i).config & kEventOfConfig) / 2].push_back(i);
    }
    std::erase_if(groups, [](const Group& group) { return group.empty(); });
    return groups;
  }

  /// In user mode only: no interrupt adds to the work of the loop then.
  Result<CounterGroup, OpenFailure> open(const Group& group, const Place& place) {
    std::vector<CounterSpec> counters;
    for (const std::size_t event : group) {
      counters.push_back(checked_.events[event]);
      counters.back().attributes.exclude_kernel |= !is_software(group);
    }
    return CounterGroup::open(kernel_, counters, place, {});
  }

  void observe(const Group& group, const Place& place) {
    const auto counters = open(group, place);
    if (!counters) return;
    const int other_cpu = another_than(place.cpu);
    std::vector<Seen> seen(group.size());
    if (is_software(group)) {
      const KnownWork work = {.cpu = place.cpu,
                              .iterations = kIterations,
                              .pages = 64,
                              .sleeps = 8,
                              .other_cpu = other_cpu};
      repeat(*counters, group, place, While::kWorking, work, seen);
    } else {
      repeat(*counters, group, place, While::kWorking,
             {.cpu = place.cpu, .iterations = kIterations}, seen);
    }
    if (!is_software(group) && place.pid == 0) {
      const KnownWork rest = {.cpu = place.cpu, .sleeps = 1, .sleep = milliseconds{1}};
      repeat(*counters, group, place, While::kIdle, rest, seen);
      // More than it takes to start another thread.
      const KnownWork both = {
          .cpu = place.cpu, .iterations = 2 * kIterations, .busy_cpu = other_cpu};
      if (other_cpu >= 0) repeat(*counters, group, place, While::kOthersWork, both, seen);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      Verdict verdict = judge(*quantity_of(attributes(group[i])), seen[i]);
      if (is_lie(verdict.truth)) verdict.evidence += ' ' + describe(place);
      Verdict& found = found_[group[i]];
      if (!is_lie(found.truth) && verdict.truth != Truth::kUnknown) found = std::move(verdict);
    }
  }

  /// Until each event was right, or was wrong often enough.
  void repeat(const CounterGroup& counters, const Group& group, const Place& place, While when,
              const KnownWork& work, std::vector<Seen>& seen) {
    std::size_t wrong = 0;
    for (std::size_t tries = 0; tries < kMaxTries && wrong < kRepetitions && !is_over(); ++tries) {
      const std::optional<Interval> interval = count(counters, group, work);
      if (!interval) {
        (void)do_work({.cpu = place.cpu, .sleeps = 1, .sleep = kRotation});
        continue;
      }
      bool are_right = true;
      for (std::size_t i = 0; i < group.size(); ++i) {
        const Bounds known =
            when == While::kIdle ? Bounds{0, kLittle} : bounds_of(group, i, place, *interval);
        seen[i].push_back({when, known, interval->counts[i]});
        are_right = are_right && is_right(seen[i].back());
      }
      if (are_right) return;
      ++wrong;
    }
  }

  /// Nothing unless the group had the PMU all the time.
  std::optional<Interval> count(const CounterGroup& counters, const Group& group,
                                const KnownWork& work) {
    Interval interval;
    GroupReading before, after;
    const nanoseconds begun = kernel_.now();
    if (!counters.read(kernel_, before)) return {};
    const nanoseconds begun_latest = kernel_.now();
    const std::optional<WorkDone> done = do_work(work);
    const nanoseconds ended = kernel_.now();
    if (!done || !counters.read(kernel_, after)) return {};
    const nanoseconds enabled = after.time_enabled - before.time_enabled;
    const nanoseconds running = after.time_running - before.time_running;
    // Software events need no PMU; on the other CPU the thread is not counted, and enabled.
    const nanoseconds needed = is_software(group) ? nanoseconds{1} : enabled - enabled / 100;
    const bool is_counted = enabled.count() > 0 && running >= needed;
    if (!is_counted || before.counts.size() != after.counts.size()) return {};
    interval.done = *done;
    interval.time = {static_cast<std::uint64_t>((ended - begun_latest).count()),
                     static_cast<std::uint64_t>((kernel_.now() - begun).count())};
    // A counter that is narrower than the kernel believes jumps each time that it is set.
    const auto possible = static_cast<std::uint64_t>(after.time_enabled.count()) *
                          kMaxCyclesPerNanosecond * kMaxInstructionsPerCycle;
    for (std::size_t i = 0; i < after.counts.size(); ++i) {
      const bool has_jumped = after.counts[i] > possible;
      interval.counts.push_back(after.counts[i] - (has_jumped ? 0 : before.counts[i]));
    }
    return interval;
  }

  /// Others may have worked on the CPU as well, if the thread left it meanwhile.
  Bounds bounds_of(const Group& group, std::size_t member, const Place& place,
                   const Interval& seen) const {
    const WorkDone& done = seen.done;
    const bool of_task = place.pid == 0;
    // At each switch between cgroups that are counted, the clock of a CPU stands still
    // (docs/metrics.md).
    const Bounds clock = {seen.time.least / 4, seen.time.most};
    std::uint64_t misses = kAny;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const bool is_miss = quantity_of(attributes(group[i])) == Quantity::kMisses;
      if (!is_miss) misses = most_misses(seen.counts[i]);
    }
    const Bounds known[] = {
        // in the order of Quantity
        done.instructions,
        done.branches,
        {done.instructions.least / kMaxInstructionsPerCycle,
         seen.time.most * kMaxCyclesPerNanosecond},
        {0, kAny},
        {0, misses},
        {done.faults, done.faults},
        done.switches,
        {done.migrations, done.migrations},
        {of_task ? static_cast<std::uint64_t>(done.cpu_time.count()) * 3 / 4 : clock.least,
         clock.most},
        {of_task ? 0 : clock.least, clock.most}};
    const Quantity quantity = *quantity_of(attributes(group[member]));
    Bounds bounds = known[static_cast<std::size_t>(quantity)];
    const bool is_shared = !of_task && done.switches.most > 0 && quantity < Quantity::kTaskTime;
    if (is_shared) bounds.most = kAny;
    return bounds;
  }

  /// -1: there is none.
  int another_than(int cpu) const {
    const std::vector<int>& cpus = checked_.cpus;
    if (cpus.front() != cpu) return cpus.front();
    return cpus.size() > 1 ? cpus[1] : -1;
  }

  std::optional<WorkDone> do_work(const KnownWork& work) {
    std::optional<WorkDone> done = kernel_.work(work);
    if (done) spent_ = done->thread_time;
    return done;
  }

  bool is_over() const {
    return spent_ > kMaxCheckTime || kernel_.now() - begun_ > kMaxElapsedTime;
  }

  PerfKernel& kernel_;
  CheckedEvents& checked_;
  std::vector<Verdict> found_;  ///< by event
  const nanoseconds begun_ = kernel_.now();
  nanoseconds spent_{};  ///< CPU time
};

}  // namespace

void check_truth(PerfKernel& kernel, CheckedEvents& checked) {
  try {
    std::thread([&] {
      host::block_signals();
      TruthCheck{kernel, checked}.run();
    }).join();
  } catch (const std::system_error&) {  // no thread: nothing is known
  }
}

}  // namespace pex::perf
