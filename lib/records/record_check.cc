#include "records/record_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "events/event_table.h"

namespace pex::collect {
namespace {

using std::chrono::nanoseconds;

/// Of readings, until the cgroup did not run during one.
constexpr int kAttempts = 3;

struct Tolerance {
  double events = 0;
  double share = 0;
};
/// Not all CPUs at the same time, as descriptors cost.
constexpr int kSecondsOfFirst = 10;

constexpr Tolerance kOfCounts{4, 0.002};
constexpr Tolerance kOfTimes{100e3, 0.1};  // in ns

bool is_clock(const perf::EventAttributes& event) {
  static const perf::EventAttributes kClocks[] = {events::generic_counter("cpu-clock").attributes,
                                                  events::generic_counter("task-clock").attributes};
  return std::any_of(std::begin(kClocks), std::end(kClocks), [&](const auto& clock) {
    return clock.type == event.type && clock.config == event.config;
  });
}

/// How many times as large as it may be the difference is.
double excess(double records, double descriptors, const Tolerance& tolerance) {
  return std::abs(records - descriptors) /
         (tolerance.events + tolerance.share * std::max(records, descriptors));
}

std::string describe(const std::string& what, std::uint64_t records, std::uint64_t descriptors) {
  return what + ": records " + std::to_string(records) + ", descriptors " +
         std::to_string(descriptors);
}

GroupPlan time_only() {
  GroupPlan plan;
  plan.name = "(check)";
  plan.events = {events::generic_counter("dummy")};
  return plan;
}

}  // namespace

std::optional<std::string> find_difference(const CheckedInterval& interval,
                                           const std::vector<perf::CounterSpec>& events) {
  std::optional<std::string> found;
  double worst = 1;
  const auto look_at = [&](const std::string& what, std::uint64_t records,
                           std::uint64_t descriptors, const Tolerance& tolerance) {
    const double by =
        excess(static_cast<double>(records), static_cast<double>(descriptors), tolerance);
    if (by <= worst) return;
    worst = by;
    found = describe(what, records, descriptors);
  };
  const CgroupSums::Sum& records = interval.records;
  const CgroupSums::Sum& descriptors = interval.descriptors;
  look_at("ns on the CPU", static_cast<std::uint64_t>(records.enabled.count()),
          static_cast<std::uint64_t>(descriptors.enabled.count()), kOfTimes);
  const std::size_t counts = std::min(records.counts.size(), descriptors.counts.size());
  for (std::size_t i = 0; i < counts; ++i) {
    // Some kernels do not count it by descriptors (plan/clock_trial.h).
    if (is_clock(events[i].attributes) && descriptors.counts[i] == 0) continue;
    look_at(events[i].name, records.counts[i], descriptors.counts[i],
            is_clock(events[i].attributes) ? kOfTimes : kOfCounts);
  }
  return found;
}

RecordCheck::RecordCheck(perf::PerfKernel& kernel, int cpu)
    : kernel_(&kernel),
      cpu_(cpu),
      time_only_(time_only()),
      due_at_(kernel.now() + std::chrono::seconds{cpu % kSecondsOfFirst}) {}

std::optional<Error> RecordCheck::poll(SwitchRecording& recording) {
  const std::optional<std::size_t> busiest = std::exchange(busiest_, {});
  busiest_time_ = {};
  if (counting_) return length() < kMinLength ? std::nullopt : end(recording);
  if (busiest && kernel_->now() >= due_at_) begin(recording, *busiest);
  return {};
}

nanoseconds RecordCheck::length() const { return kernel_->now() - counting_->at; }

/// Until comparing has taken no more than its share of the time.
void RecordCheck::wait(nanoseconds least, int share) {
  const nanoseconds rest = counting_ ? length() * (share - 1) : least;
  due_at_ = kernel_->now() + std::max(rest, least);
}

void RecordCheck::begin(SwitchRecording& recording, std::size_t slot) {
  const std::shared_ptr<const cgroup::Cgroup>& cgroup = recording.sums().cgroup_of(slot);
  const GroupPlan* const base = recording.base_plan();
  const GroupPlan& group = base == nullptr ? time_only_ : *base;
  auto counters = std::make_unique<DescriptorGroup>(*kernel_, cpu_, group.events.size(), clocks_);
  if (!counters->open(0, group, group.events, cgroup)) return inconclusive();
  counting_ = Counting{};  // not emplace(): clang++ 14 takes it for not constructible
  counting_->slot = slot;
  counting_->path = cgroup->path;
  counting_->group = &group;
  counting_->counters = std::move(counters);
  counting_->imperfect = recording.attribution().imperfect(SwitchRecording::kBase);
  counting_->at = kernel_->now();
  if (!read_at_rest(recording)) return inconclusive();
  counting_->counted = {{}, std::vector<std::uint64_t>(group.events.size())};
  counting_->lacks_names = recording.sums().awaiting_names() > 0;
  recording.sums().watch(slot, SwitchRecording::kBase);
}

/// Up to an instant at which the cgroup does not run: between two equal readings of its
/// descriptors, it did not. It has left the CPU by a switch, whose record is drained meanwhile.
bool RecordCheck::read_at_rest(SwitchRecording& recording) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!read()) return false;
    recording.drain();
    if (!read()) return false;
    if (interval_.enabled.count() == 0) return true;
  }
  return false;
}

bool RecordCheck::read() {
  if (!counting_->counters->read(0, interval_)) return false;
  CgroupSums::Sum& counted = counting_->counted;
  counted.enabled += interval_.enabled;
  counted.counts.resize(interval_.counts.size());
  for (std::size_t i = 0; i < counted.counts.size(); ++i) counted.counts[i] += interval_.counts[i];
  return true;
}

std::optional<Error> RecordCheck::end(SwitchRecording& recording) {
  const std::optional<CheckedInterval> interval = compare(recording);
  if (!interval) {
    inconclusive();
    return {};
  }
  const std::string path = counting_->path;
  const std::optional<std::string> difference =
      find_difference(*interval, counting_->group->events);
  const bool is_whole =
      !counting_->lacks_names &&
      recording.attribution().imperfect(SwitchRecording::kBase) == counting_->imperfect;
  if (difference && !is_whole) {
    inconclusive();
    return {};
  }
  if (difference) {
    ++results_.different;
    ++differences_;
    due_at_ = {};  // at once again
  } else {
    ++results_.equal;
    differences_ = 0;
    wait(kInterval, kShare);
  }
  counting_.reset();
  if (differences_ < kDifferencesToGiveUp) return {};
  return wrong(path, *difference);
}

/// Nothing if nothing can be concluded from it.
std::optional<CheckedInterval> RecordCheck::compare(SwitchRecording& recording) {
  if (!read_at_rest(recording) || counting_->counted.enabled.count() == 0) return {};
  recording.sums().give();
  if (recording.sums().awaiting_names() > 0) counting_->lacks_names = true;
  return CheckedInterval{recording.sums().watched(), counting_->counted};
}

void RecordCheck::inconclusive() {
  ++results_.inconclusive;
  wait(std::chrono::seconds{1}, kShareUntilConclusive);
  counting_.reset();
}

void RecordCheck::forget(std::size_t slot) {
  if (busiest_ == slot) busiest_.reset();
  if (counting_ && counting_->slot == slot) inconclusive();
}

void RecordCheck::abandon() {
  busiest_.reset();
  if (counting_) inconclusive();
}

Error RecordCheck::wrong(const std::string& path, const std::string& difference) const {
  return Error{0,
               "records of switches between cgroups on CPU " + std::to_string(cpu_) +
                   " differ from descriptors (cgroup '" + path + "', " + difference + ")",
               "report the kernel's version; set 'cgroups: {source: descriptors}' to not try "
               "records"};
}

}  // namespace pex::collect
