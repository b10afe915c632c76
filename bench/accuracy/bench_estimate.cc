// What an estimate costs for each event and poll, beside plain scaling of increments by time in the
// same run.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "estimate/event_model.h"
#include "estimate/group_estimator.h"

namespace pex::bench {
namespace {

using estimate::EventIncrement;
using estimate::EventModel;
using estimate::GroupEstimator;
using estimate::Interval;
using estimate::ModelUpdate;
using estimate::Reference;
using std::chrono::nanoseconds;

/// For each event and poll.
constexpr double kGoalNs = 60;
constexpr const char* kPerEvent = "per_event";

/// What a poll of one target costs is measured over as many targets as one CPU may have.
constexpr std::size_t kTargets = 100;

/// How the group fares between two polls.
struct Scenario {
  bool shares_pmu;
  bool has_reference;
};

/// What the kernel says of one target. Polls are a second apart; what happens in each is drawn once
/// and repeated.
class Kernel {
 public:
  Kernel(std::size_t events, Scenario scenario, std::uint64_t seed) : scenario_(scenario) {
    counts_.resize(events);
    std::mt19937_64 random(seed);
    for (Step& step : steps_) {
      step.running = scenario.shares_pmu ? 200'000'000 + random() % 100'000'000 : kSecond;
      step.reference = kSecond / 2 + random() % kSecond;
      const double share = static_cast<double>(step.running) / kSecond;
      step.sampled = static_cast<std::uint64_t>(share * static_cast<double>(step.reference));
      if (scenario.shares_pmu) step.sampled -= random() % (step.sampled / 4);
      step.counted = step.sampled + random() % (step.sampled / 8);
    }
  }

  Interval next() {
    const Step& step = steps_[poll_++ % steps_.size()];
    enabled_ += nanoseconds{kSecond};
    for (std::uint64_t& count : counts_) count = step.counted;
    Interval interval{nanoseconds{kSecond}, nanoseconds{step.running}, counts_};
    if (!scenario_.has_reference) return interval;
    reference_.sampled = step.sampled;
    reference_.always += step.reference;
    reference_.always_enabled = enabled_;
    interval.reference = reference_;
    return interval;
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  struct Step {
    std::uint64_t running, sampled, reference, counted;
  };

  Scenario scenario_;
  std::array<Step, 16> steps_;
  std::size_t poll_ = 0;
  nanoseconds enabled_{};
  std::vector<std::uint64_t> counts_;  ///< in the last poll
  Reference reference_;
};

std::vector<Kernel> kernels(std::size_t events, Scenario scenario) {
  std::vector<Kernel> all;
  for (std::size_t target = 0; target < kTargets; ++target) {
    all.emplace_back(events, scenario, target);
  }
  return all;
}

/// The floor: increments scaled by enabled / running, the fraction carried.
class PlainScaling {
 public:
  explicit PlainScaling(std::size_t events) : events_(events) {}

  void advance(const Interval& interval, std::span<std::uint64_t> increments) {
    const double enabled = static_cast<double>(interval.enabled.count());
    const double running = static_cast<double>(interval.running.count());
    if (running <= 0) return;
    const double scale = enabled / running;
    for (std::size_t event = 0; event < events_.size(); ++event) {
      Event& one = events_[event];
      const double scaled = static_cast<double>(interval.counts[event]) * scale + one.fraction;
      const double whole = std::floor(scaled);
      one.fraction = scaled - whole;
      increments[event] = static_cast<std::uint64_t>(whole);
    }
  }

 private:
  struct Event {
    double fraction = 0;
  };
  std::vector<Event> events_;
};

void count_events(benchmark::State& state, std::size_t events) {
  state.counters[kPerEvent] = benchmark::Counter(
      static_cast<double>(events * kTargets),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Only what the kernel would say, which is in all the others.
void nothing(benchmark::State& state, Scenario scenario) {
  const auto events = static_cast<std::size_t>(state.range(0));
  std::vector<Kernel> targets = kernels(events, scenario);
  for ([[maybe_unused]] const auto poll : state) {
    for (Kernel& target : targets) benchmark::DoNotOptimize(target.next());
  }
  count_events(state, events);
}

void plain_scaling(benchmark::State& state) {
  const auto events = static_cast<std::size_t>(state.range(0));
  std::vector<Kernel> targets = kernels(events, {.shares_pmu = true, .has_reference = false});
  std::vector<PlainScaling> groups(kTargets, PlainScaling{events});
  std::vector<std::uint64_t> increments(events);
  for ([[maybe_unused]] const auto poll : state) {
    for (std::size_t target = 0; target < kTargets; ++target) {
      groups[target].advance(targets[target].next(), increments);
      benchmark::DoNotOptimize(increments.data());
      benchmark::ClobberMemory();
    }
  }
  count_events(state, events);
}

/// As the program does: the targets of one CPU add to its model updates, from which the models
/// learn once in a poll.
void estimator(benchmark::State& state, Scenario scenario, std::size_t targets_of_a_model) {
  const auto events = static_cast<std::size_t>(state.range(0));
  std::vector<Kernel> targets = kernels(events, scenario);
  std::vector<GroupEstimator> groups(kTargets, GroupEstimator{events});
  std::vector<EventIncrement> increments(events);
  std::vector<EventModel> models(events);
  std::vector<ModelUpdate> updates(events);
  for ([[maybe_unused]] const auto poll : state) {
    for (std::size_t target = 0; target < kTargets; ++target) {
      groups[target].advance(targets[target].next(), models, increments, updates);
      benchmark::DoNotOptimize(increments.data());
      benchmark::ClobberMemory();
      if ((target + 1) % targets_of_a_model != 0) continue;
      for (std::size_t event = 0; event < events; ++event) models[event].learn(updates[event]);
      std::fill(updates.begin(), updates.end(), ModelUpdate{});
    }
  }
  count_events(state, events);
}

constexpr Scenario kAlone{.shares_pmu = false, .has_reference = true};
constexpr Scenario kByTime{.shares_pmu = true, .has_reference = false};
constexpr Scenario kByReference{.shares_pmu = true, .has_reference = true};

constexpr std::int64_t kGroupSizes[] = {4, 6};

void group_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t events : kGroupSizes) benchmark->Arg(events);
}

BENCHMARK_CAPTURE(nothing, by_time, kByTime)->Apply(group_sizes);
BENCHMARK_CAPTURE(nothing, by_reference, kByReference)->Apply(group_sizes);
BENCHMARK(plain_scaling)->Apply(group_sizes);
BENCHMARK_CAPTURE(estimator, exact, kAlone, kTargets)->Apply(group_sizes);
BENCHMARK_CAPTURE(estimator, by_time, kByTime, kTargets)->Apply(group_sizes);
BENCHMARK_CAPTURE(estimator, by_reference, kByReference, kTargets)->Apply(group_sizes);
BENCHMARK_CAPTURE(estimator, one_target, kByReference, 1)->Apply(group_sizes);

/// One line of the summary, and what it has to be freed of.
struct Row {
  const char* title;
  const char* benchmark;
  const char* nothing;
};
constexpr Row kFloor{"plain scaling by time (floor)", "plain_scaling", "nothing/by_time"};
constexpr Row kRows[] = {
    {"by time", "estimator/by_time", "nothing/by_time"},
    {"exact, with a reference", "estimator/exact", "nothing/by_reference"},
    {"by reference, learning", "estimator/by_reference", "nothing/by_reference"},
    {"by reference, learning from one target", "estimator/one_target", "nothing/by_reference"},
};

/// Prints each run, and remembers the medians.
class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const auto counter = run.counters.find(kPerEvent);
      if (run.aggregate_name != "median" || counter == run.counters.end()) continue;
      medians_[run.run_name.function_name + "/" + run.run_name.args] = 1e9 * counter->second.value;
    }
  }

  void print_summary() const {
    std::printf("\nns for each event and poll, medians, without the imitated kernel; goal: %.0f\n",
                kGoalNs);
    for (const std::int64_t events : kGroupSizes) {
      const double floor = cost(kFloor, events);
      std::printf("%lld events: %-40s %5.1f\n", static_cast<long long>(events), kFloor.title,
                  floor);
      for (const Row& row : kRows) {
        const double ns = cost(row, events);
        std::printf("%lld events: %-40s %5.1f  %4.1f x floor%s\n", static_cast<long long>(events),
                    row.title, ns, ns / floor, ns < kGoalNs ? "" : "  ABOVE THE GOAL");
      }
    }
  }

 private:
  double cost(const Row& row, std::int64_t events) const {
    return median(row.benchmark, events) - median(row.nothing, events);
  }
  /// Not a number when the benchmark was left out.
  double median(const std::string& name, std::int64_t events) const {
    const auto found = medians_.find(name + "/" + std::to_string(events));
    return found == medians_.end() ? std::nan("") : found->second;
  }

  std::map<std::string, double> medians_;
};

/// In turns, so that what else the machine does falls on all alike. What the user says comes later.
std::vector<char*> with_defaults(int argc, char** argv, std::vector<std::string>& defaults) {
  std::vector<char*> all{argv[0]};
  for (std::string& argument : defaults) all.push_back(argument.data());
  all.insert(all.end(), argv + 1, argv + argc);
  return all;
}

}  // namespace
}  // namespace pex::bench

int main(int argc, char** argv) {
  std::vector<std::string> defaults = {"--benchmark_repetitions=9", "--benchmark_min_time=0.1",
                                       "--benchmark_enable_random_interleaving=true",
                                       "--benchmark_display_aggregates_only=true"};
  std::vector<char*> arguments = pex::bench::with_defaults(argc, argv, defaults);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  pex::bench::Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_summary();
  return 0;
}
