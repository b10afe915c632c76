#include "bench/ring/recording_reader.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "host/self_process.h"

namespace pex::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr std::chrono::seconds kPollInterval{1};

constexpr std::uint64_t kCgroupSwitches = 11;  // PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13
constexpr std::size_t kSwitches = 1;           // the index of context-switches

const struct {
  const char* name;
  std::uint64_t config;
} kEvents[] = {{"task-clock", PERF_COUNT_SW_TASK_CLOCK},
               {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
               {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
               {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
               {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
               {"cgroup-switches", kCgroupSwitches}};

double cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

collect::GroupPlan software_group() {
  collect::GroupPlan group;
  group.name = "software";
  for (const auto& [name, config] : kEvents) {
    group.events.push_back({name, {.type = PERF_TYPE_SOFTWARE, .config = config}});
  }
  return group;
}

/// One of two that the PMU has no room for together.
collect::GroupPlan group_in_turns(const char* name, std::size_t events) {
  collect::GroupPlan group = software_group();
  group.name = name;
  group.shares_pmu = true;
  group.events.resize(events);
  return group;
}
constexpr std::size_t kEventsOfCrowded = 3;
constexpr std::size_t kLeader = 1;

/// Without its directory: nothing is opened in it.
std::shared_ptr<const cgroup::Cgroup> cgroup_at(const std::string& mount, const std::string& path) {
  struct ::stat status {};
  ::stat((mount + path).c_str(), &status);
  return std::make_shared<const cgroup::Cgroup>(cgroup::Cgroup{path, status.st_ino, {}});
}

std::vector<std::shared_ptr<const cgroup::Cgroup>> counted(const SwitchCgroups& cgroups,
                                                           bool with_ancestors) {
  std::vector<std::string> paths = cgroups.the_two();
  const std::string directory = cgroups.directories().front();
  const std::string mount = directory.substr(0, directory.size() - paths.front().size());
  const std::vector<std::string> above = cgroups.ancestors();
  if (with_ancestors) paths.insert(paths.end(), above.begin(), above.end());
  std::vector<std::shared_ptr<const cgroup::Cgroup>> all;
  all.reserve(paths.size());
  for (const std::string& path : paths) all.push_back(cgroup_at(mount, path));
  return all;
}

std::shared_ptr<const cgroup::CgroupNames> names_of(
    const std::vector<std::shared_ptr<const cgroup::Cgroup>>& cgroups) {
  cgroup::CgroupNames::Map names;
  for (const auto& cgroup : cgroups) names.emplace(cgroup->id, cgroup->path);
  return std::make_shared<const cgroup::CgroupNames>(
      cgroup::CgroupNames{}.replaced_by(std::move(names)));
}

}  // namespace

RecordingReader::RecordingReader(int cpu, std::size_t ring_bytes, const SwitchCgroups& cgroups,
                                 const Options& options)
    : ring_bytes_(ring_bytes),
      kernel_(kLeader + kEventsOfCrowded),
      cgroups_(counted(cgroups, options.with_ancestors)),
      names_(names_of(cgroups_)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  plan_.cgroup.groups.push_back(software_group());
  if (options.in_turns) {
    plan_.cgroup.groups.push_back(group_in_turns("one", kEventsOfCrowded - 1));
    plan_.cgroup.groups.push_back(group_in_turns("two", kEventsOfCrowded));
  }
  thread_ = std::thread{[this, cpu] { run(cpu); }};
}

RecordingReader::~RecordingReader() { (void)stop(); }

Result<RecordingReader::Outcome> RecordingReader::stop() {
  const std::uint64_t once = 1;
  (void)!::write(stop_.get(), &once, sizeof once);
  if (thread_.joinable()) thread_.join();
  if (error_) return *error_;
  return outcome_;
}

void RecordingReader::run(int cpu) {
  if (const Result<> opened = open(cpu); !opened) {
    error_ = opened.error();
    return;
  }
  const auto start = Clock::now();
  const double cpu_start = cpu_time();
  serve();
  outcome_.cpu_ns = cpu_time() - cpu_start;
  outcome_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome_.records = recording_->attribution().statistics();
  outcome_.unreadable = recording_->unreadable();
  for (const Target target : the_two_) outcome_.switches += switches_[target];
  recording_.reset();
}

Result<> RecordingReader::open(int cpu) {
  if (!host::bind_thread_to(cpu)) return Error{0, "bind a thread to a CPU", {}};
  auto recording =
      collect::SwitchRecording::open(kernel_, cpu, {ring_bytes_, ring_bytes_}, plan_, std::nullopt);
  if (!recording) return recording.error();
  recording_ = std::move(*recording);
  for (const collect::GroupPlan& plan : plan_.cgroup.groups) {
    const auto group = recording_->open_group(plan, plan.events.size());
    if (!group) return group.error().error;
    if (&plan == &plan_.cgroup.groups.front()) group_ = *group;
  }
  for (const auto& cgroup : cgroups_) {
    const Target target = recording_->sums().open(cgroup, group_);
    switches_.resize(std::max<std::size_t>(switches_.size(), target + 1));
    if (the_two_.size() < 2) the_two_.push_back(target);
  }
  return {};
}

/// Is woken up by the ring, at the end of a turn and for each poll, as the worker is, and by
/// nothing else: in a CPU that was idle a wake-up takes as long as hundreds of records.
void RecordingReader::serve() {
  poll();
  poll();  // finds that not all groups fit
  auto due = Clock::now() + kPollInterval;
  for (;;) {
    std::chrono::nanoseconds wait = due - Clock::now();
    const auto end_of_turn = recording_->end_of_turn();
    if (end_of_turn) wait = std::min(wait, *end_of_turn - kernel_.now());
    wait = std::max(wait, std::chrono::nanoseconds{0});
    const timespec time{wait / seconds{1}, (wait % seconds{1}).count()};
    pollfd awaited[] = {{recording_->descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    const int ready = ::ppoll(awaited, 2, &time, nullptr);
    if (awaited[1].revents != 0) break;
    if (ready > 0) ++outcome_.drains;
    if (ready == 0 && end_of_turn && kernel_.now() >= *end_of_turn) ++outcome_.turns;
    recording_->between_polls();
    if (Clock::now() < due) continue;
    poll();
    due += kPollInterval;
  }
  poll();
}

void RecordingReader::poll() {
  recording_->poll(names_);
  collect::CgroupSums& sums = recording_->sums();
  sums.take_changed(changed_);
  for (const Target target : changed_) {
    sums.read(target, group_, reading_);
    switches_[target] = reading_.counts[kSwitches];
  }
}

}  // namespace pex::bench
