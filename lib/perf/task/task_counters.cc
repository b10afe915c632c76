#include "perf/task/task_counters.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "base/directory.h"
#include "base/text.h"
#include "perf/open_remedy.h"

namespace pex::perf {
namespace {

constexpr int kTries = 10;
constexpr std::size_t kMaxThreads = 4'194'304;  // PID_MAX_LIMIT (include/linux/threads.h)

/// With its cause and remedy.
Error process_error(int code, std::string attempted) {
  CounterRequest request;
  request.pid = 0;
  return open_error(code, std::move(attempted), request);
}

/// In rising order.
Result<std::vector<int>> list_threads(const host::HostRoots& roots, int pid) {
  const Result<std::vector<std::string>> names = list_directory(roots.threads(pid), kMaxThreads);
  if (!names) {
    const int code = names.error().code == ENOENT ? ESRCH : names.error().code;
    return process_error(code, "list the threads of process " + std::to_string(pid));
  }
  std::vector<int> threads;
  for (const std::string& name : *names) {
    const std::optional<std::uint64_t> thread = parse_unsigned(name);
    if (thread && *thread <= std::numeric_limits<int>::max()) {
      threads.push_back(static_cast<int>(*thread));
    }
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::size_t in_second_only(const std::vector<int>& first, const std::vector<int>& second) {
  std::vector<int> others;
  std::set_difference(second.begin(), second.end(), first.begin(), first.end(),
                      std::back_inserter(others));
  return others.size();
}

std::span<const int> cpus_of(const TaskGroup& group) {
  static constexpr int kAny[] = {-1};
  return group.cpus.empty() ? std::span(kAny) : std::span(group.cpus);
}

void add(const GroupReading& part, GroupReading& sum) {
  sum.time_enabled += part.time_enabled;
  sum.time_running += part.time_running;
  for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += part.counts[i];
}

/// The kernel refuses to add up a group while a thread that inherited it starts or ends (ECHILD).
/// That takes microseconds, unless the thread is kept off its CPU just then: so it is waited for, a
/// quarter of a second in all.
Result<> read_part(PerfKernel& kernel, const CounterGroup& part, GroupReading& reading) {
  std::chrono::microseconds pause{0};
  for (int tries = 1;; ++tries) {
    Result<> done = part.read(kernel, reading);
    const bool is_passing = !done && (done.error().code == ECHILD || done.error().code == EINTR);
    if (!is_passing || tries == kTries) return done;
    std::this_thread::sleep_for(pause);
    pause = pause * 2 + std::chrono::microseconds{500};
  }
}

}  // namespace

bool is_inherited(const TaskGroup& group) {
  return std::all_of(group.events.begin(), group.events.end(),
                     [](const CounterSpec& event) { return event.attributes.probe.empty(); });
}

TaskCounters TaskCounters::of_own_thread(PerfKernel& kernel, std::span<const TaskGroup> groups,
                                         Inherit inherit) {
  TaskCounters counters;
  counters.groups_.resize(groups.size());
  Place thread{.cpu = -1, .cgroup_path = {}, .pid = 0};
  thread.inherit = inherit == Inherit::kYes;
  counters.open_in(kernel, groups, thread);
  return counters;
}

Result<TaskCounters> TaskCounters::of_process(PerfKernel& kernel, const host::HostRoots& roots,
                                              int pid, std::span<const TaskGroup> groups) {
  Result<std::vector<int>> threads = list_threads(roots, pid);
  for (int tries = 1;; ++tries) {
    if (!threads) return threads.error();
    TaskCounters counters;
    counters.groups_.resize(groups.size());
    for (const int thread : *threads) {
      counters.open_in(kernel, groups,
                       {.cpu = -1, .cgroup_path = {}, .pid = thread, .inherit = true});
    }
    counters.refuse_ended();
    Result<std::vector<int>> after = list_threads(roots, pid);
    if (!after) return counters;  // it has ended meanwhile
    counters.uncertain_threads_ = in_second_only(*threads, *after);
    if (counters.uncertain_threads_ == 0 || tries == kTries) return counters;
    threads = std::move(after);
  }
}

TaskCounters TaskCounters::of_command(PerfKernel& kernel, const Command& command,
                                      std::span<const TaskGroup> groups) {
  TaskCounters counters;
  counters.groups_.resize(groups.size());
  counters.open_in(kernel, groups,
                   {.cpu = -1,
                    .cgroup_path = {},
                    .pid = command.pid(),
                    .inherit = true,
                    .enable_on_exec = true});
  counters.refuse_ended();
  return counters;
}

/// A thread that has ended meanwhile has nothing to count. A group that is refused in one thread is
/// closed in all: its sum would be too small.
void TaskCounters::open_in(PerfKernel& kernel, std::span<const TaskGroup> groups,
                           const Place& thread) {
  bool is_there = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Opened& opened = groups_[i];
    for (const int cpu : cpus_of(groups[i])) {
      if (opened.refusal) break;
      Place place = thread;
      place.cpu = cpu;
      place.inherit = thread.inherit && is_inherited(groups[i]);
      Result<CounterGroup, OpenFailure> part =
          CounterGroup::open_disabled(kernel, groups[i].events, place, groups[i].mode);
      is_there = is_there || part || part.error().error.code != ESRCH;
      if (part) {
        opened.parts.push_back(std::move(*part));
      } else if (part.error().error.code != ESRCH) {
        opened.refusal = std::move(part.error());
        opened.parts.clear();
      }
    }
  }
  threads_ += is_there ? 1 : 0;
}

/// If there is no thread any more, that is why nothing is counted.
void TaskCounters::refuse_ended() {
  for (Opened& group : groups_) {
    if (!group.parts.empty() || group.refusal) continue;
    group.refusal = OpenFailure{0, process_error(ESRCH, "open the counters of the process")};
  }
}

const OpenFailure* TaskCounters::refusal(std::size_t group) const {
  const std::optional<OpenFailure>& refusal = groups_[group].refusal;
  return refusal ? &*refusal : nullptr;
}

Result<> TaskCounters::each_part(PerfKernel& kernel, Switch turn) const {
  for (const Opened& group : groups_) {
    for (const CounterGroup& part : group.parts) {
      if (Result<> turned = (part.*turn)(kernel); !turned) return turned;
    }
  }
  return {};
}

Result<> TaskCounters::read(PerfKernel& kernel, std::size_t group, GroupReading& sum) const {
  const std::vector<CounterGroup>& parts = groups_[group].parts;
  sum = {};
  if (!parts.empty()) sum.counts.resize(parts.front().size());
  GroupReading reading;
  for (const CounterGroup& part : parts) {
    if (Result<> done = read_part(kernel, part, reading); !done) return done;
    if (reading.state == GroupReading::State::kCounting) {
      add(reading, sum);
    } else {
      sum.state = GroupReading::State::kOffPmu;
      (void)part.enable(kernel);  // refused: no change
    }
  }
  return {};
}

}  // namespace pex::perf
