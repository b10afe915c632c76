// What holds whatever is counted: each test is one sentence of the contract in group_estimator.h.

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <random>

#include "estimate/group_estimator.h"
#include "polled_group.h"
#include "rotation.h"
#include "support/test_headers.h"
#include "support/time_budget.h"

namespace pex::estimate {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHalfOfAll = std::uint64_t{1} << 63;

// --- any input --------------------------------------------------------------------------------

/// A word of the kernel's, out of the whole range, with its corners more often.
rc::Gen<std::uint64_t> any_word() {
  return rc::gen::oneOf(rc::gen::element<std::uint64_t>(0, 1, kHalfOfAll - 1, kHalfOfAll,
                                                        kHalfOfAll + 1, kMaxCount - 1, kMaxCount),
                        rc::gen::inRange<std::uint64_t>(0, 1000),
                        rc::gen::arbitrary<std::uint64_t>(),
                        rc::gen::inRange<std::uint64_t>(0, 100'000'000'000),
                        rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 1000),
                                     [](std::uint64_t below) { return kMaxCount - below; }));
}

/// How a total moves from one poll to the next.
struct Motion {
  bool goes_on;
  std::uint64_t by;

  std::uint64_t from(std::uint64_t total) const { return goes_on ? total + by : by; }
};

std::ostream& operator<<(std::ostream& out, const Motion& motion) {
  return out << (motion.goes_on ? "+ " : "= ") << motion.by;
}

/// Most go on from where they were, as only then anything is estimated.
rc::Gen<Motion> any_motion() {
  const auto on = [](std::uint64_t by) { return Motion{true, by}; };
  const auto to = [](std::uint64_t value) { return Motion{false, value}; };
  return rc::gen::weightedOneOf<Motion>(
      {{6, rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 3'000'000'000), on)},
       {2, rc::gen::map(any_word(), on)},
       {2, rc::gen::just(on(0))},
       {1, rc::gen::map(any_word(), to)},
       {1, rc::gen::element(to(0), on(kHalfOfAll))}});
}

constexpr std::size_t kEvents = 2;
enum Word { kEnabled, kRunning, kClock, kSampled, kAlways, kAlwaysEnabled, kCount };
constexpr std::size_t kWords = kCount + kEvents;

/// One poll of a kernel that may say anything.
struct HostilePoll {
  std::array<Motion, kWords> motions;
  bool opened_anew;
  bool has_reference;
  bool has_clock;
};

std::ostream& operator<<(std::ostream& out, const HostilePoll& poll) {
  if (poll.opened_anew) out << "opened anew, ";
  if (!poll.has_reference) out << "no reference, ";
  if (!poll.has_clock) out << "no clock, ";
  for (const Motion& motion : poll.motions) out << motion << "; ";
  return out;
}

rc::Gen<HostilePoll> any_poll() {
  const auto seldom = rc::gen::map(rc::gen::inRange(0, 10), [](int draw) { return draw == 0; });
  const auto mostly = rc::gen::map(rc::gen::inRange(0, 10), [](int draw) { return draw > 1; });
  return rc::gen::construct<HostilePoll>(
      rc::gen::container<std::array<Motion, kWords>>(any_motion()), seldom, mostly, mostly);
}

rc::Gen<std::vector<HostilePoll>> any_polls() {
  return rc::gen::container<std::vector<HostilePoll>>(any_poll());
}

/// A group that is polled on it.
class HostileKernel {
 public:
  void poll(const HostilePoll& poll) {
    if (poll.opened_anew) group.restart();
    for (std::size_t word = 0; word < kWords; ++word) {
      words_[word] = poll.motions[word].from(words_[word]);
    }
    totals_.enabled = time(kEnabled);
    totals_.running = time(kRunning);
    totals_.counts.assign(words_.begin() + kCount, words_.end());
    totals_.reference.reset();
    totals_.clock.reset();
    if (poll.has_clock) totals_.clock = time(kClock);
    if (poll.has_reference) {
      totals_.reference = {words_[kSampled], words_[kAlways], time(kAlwaysEnabled)};
    }
    group.poll(totals_);
  }
  const KernelTotals& totals() const { return totals_; }

  PolledGroup group{kEvents};

 private:
  nanoseconds time(Word word) const { return nanoseconds{static_cast<std::int64_t>(words_[word])}; }

  std::array<std::uint64_t, kWords> words_{};
  KernelTotals totals_{.counts = {0, 0}};
};

/// By how much a total of the kernel grew; 0 when it fell.
std::uint64_t growth(std::uint64_t from, std::uint64_t to) {
  return to - from < kHalfOfAll ? to - from : 0;
}

std::uint64_t word(nanoseconds time) { return static_cast<std::uint64_t>(time.count()); }

void check_times(const GroupIncrement& increment) {
  RC_ASSERT(increment.enabled >= 0ns);
  RC_ASSERT(increment.running >= 0ns);
  RC_ASSERT(increment.running <= increment.enabled);
  RC_ASSERT(increment.imputed >= 0ns);
  RC_ASSERT(increment.unmeasured >= 0ns);
  RC_ASSERT(std::isfinite(increment.reference));
  RC_ASSERT(increment.reference >= increment.reference_sampled);
  RC_ASSERT(increment.reference_sampled >= 0);
}

void check_event(const EventIncrement& event, Coverage coverage) {
  RC_ASSERT(event.extrapolated <= kHalfOfAll);
  RC_ASSERT(std::isfinite(event.variance));
  RC_ASSERT(event.variance >= 0);
  if (coverage == Coverage::kScaled) return;
  RC_ASSERT(event.extrapolated == 0u);
  RC_ASSERT(event.variance == 0);
}

void check_model(const EventModel& model) {
  RC_ASSERT(model.reference_weight() >= 0);
  RC_ASSERT(model.reference_weight() <= 1);
  RC_ASSERT(std::isfinite(model.reference_rate()));
  RC_ASSERT(model.reference_rate() >= 0);
}

// No undefined arithmetic (the sanitizers look), nothing that would make a total fall, overflow
// or not be finite.
RC_GTEST_PROP(InvariantsTest, IncrementsAreFiniteAndNeverNegativeForAnyInput, ()) {
  HostileKernel kernel;
  const PolledGroup& group = kernel.group;

  for (const HostilePoll& poll : *any_polls()) {
    kernel.poll(poll);

    check_times(group.last);
    for (const EventIncrement& event : group.increments) check_event(event, group.last.coverage);
    for (const EventModel& model : group.models) check_model(model);
  }
}

RC_GTEST_PROP(InvariantsTest, ObservedAndEnabledAreTheKernelsForAnyInput, ()) {
  HostileKernel kernel;
  const PolledGroup& group = kernel.group;
  KernelTotals before{.counts = {0, 0}};

  for (const HostilePoll& poll : *any_polls()) {
    if (poll.opened_anew) before = {.counts = {0, 0}};
    kernel.poll(poll);
    const KernelTotals& now = kernel.totals();

    RC_ASSERT(word(group.last.enabled) == growth(word(before.enabled), word(now.enabled)));
    const bool is_lost = group.last.anomaly && group.last.coverage == Coverage::kNone &&
                         group.last.unmeasured == group.last.enabled;
    for (std::size_t event = 0; event < kEvents; ++event) {
      const std::uint64_t counted = growth(before.counts[event], now.counts[event]);
      const std::uint64_t observed = group.increments[event].observed;
      RC_ASSERT(observed == counted || (is_lost && observed == 0u));
    }
    before = now;
  }
}

// Time is accounted for once: the rest is what counts were scaled up for.
RC_GTEST_PROP(InvariantsTest, RunningImputedAndUnmeasuredAreNoMoreThanEnabledForAnyInput, ()) {
  HostileKernel kernel;
  const PolledGroup& group = kernel.group;
  long double rest = 0;
  long double enabled = 0;

  for (const HostilePoll& poll : *any_polls()) {
    kernel.poll(poll);
    const GroupIncrement& last = group.last;
    const auto ns = [](nanoseconds time) { return static_cast<long double>(time.count()); };
    enabled += ns(last.enabled);
    rest += ns(last.enabled) - ns(last.running) - ns(last.imputed) - ns(last.unmeasured);

    RC_ASSERT(rest >= -1e-15L * enabled);
  }
}

RC_GTEST_PROP(InvariantsTest, NothingIsAddedWhenNothingMovesForAnyInput, ()) {
  HostileKernel kernel;
  PolledGroup& group = kernel.group;
  for (const HostilePoll& poll : *any_polls()) kernel.poll(poll);

  for (int i = 0; i < 3; ++i) {
    group.poll(kernel.totals());
    RC_ASSERT(group.last.enabled == 0ns);
    for (const EventIncrement& event : group.increments) {
      RC_ASSERT(event.observed + event.extrapolated == 0u);
      RC_ASSERT(event.variance == 0);
    }
  }
}

// --- what the PMU saw whole -------------------------------------------------------------------

/// Up to 4 s, and up to 4 events and 4 of the reference for each ns of the windows.
Passing any_passing(double least_share) {
  const auto enabled = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000);
  const auto least = static_cast<std::int64_t>(least_share * static_cast<double>(enabled));
  const auto running = *rc::gen::inRange<std::int64_t>(least, enabled + 1);
  const auto most = static_cast<std::uint64_t>(running) * 4;
  const auto sampled = *rc::gen::inRange<std::uint64_t>(0, most + 1);
  return {.enabled = nanoseconds{enabled},
          .running = nanoseconds{running},
          .events = *rc::gen::inRange<std::uint64_t>(0, most + 1),
          .sampled = sampled,
          .reference = sampled + *rc::gen::inRange<std::uint64_t>(0, 16'000'000'000)};
}

RC_GTEST_PROP(InvariantsTest, TheValueIsTheRawCountWhileTheGroupAlwaysHasThePmu, ()) {
  PolledGroup group{kEvents};
  if (*rc::gen::arbitrary<bool>()) group.with_reference();
  if (*rc::gen::arbitrary<bool>()) group.with_clock();
  const int polls = *rc::gen::inRange(0, 20);

  for (int poll = 0; poll < polls; ++poll) {
    Passing passing = any_passing(/*least_share=*/1);
    passing.reference = passing.sampled;
    group.pass(passing);
    if (group.kernel.reference) {  // read a moment later
      const auto later = *rc::gen::inRange<std::uint64_t>(0, 10'000'000);
      group.kernel.reference->always += later;
      group.kernel.reference->always_enabled += nanoseconds{later};
    }
    group.poll();

    RC_ASSERT(group.last.coverage == Coverage::kComplete);
    RC_ASSERT(group.value == group.kernel.counts[0]);
    RC_ASSERT(group.extrapolated == 0u);
    RC_ASSERT(group.variance == 0);
    RC_ASSERT(group.running == group.enabled);
  }
}

RC_GTEST_PROP(InvariantsTest, TheVarianceStandsStillAndTheValueGrowsByTheCountInAnIntervalSeenWhole,
              ()) {
  PolledGroup group;
  group.with_reference();
  const int polls = *rc::gen::inRange(1, 10);
  for (int poll = 0; poll < polls; ++poll) group.poll_after(any_passing(/*least_share=*/0.1));
  RC_PRE(group.last.coverage != Coverage::kNone);

  group.poll_after(any_passing(/*least_share=*/1));

  RC_ASSERT(group.last.coverage == Coverage::kComplete);
  RC_ASSERT(group.increments[0].extrapolated == 0u);
  RC_ASSERT(group.increments[0].variance == 0);
}

// --- a constant rate --------------------------------------------------------------------------

/// Everything that happens in 1000 equal steps.
constexpr Passing kStep{
    .enabled = 12ms, .running = 3ms, .events = 10, .sampled = 70, .reference = 280};

std::uint64_t value_in_polls(int polls, bool has_reference, int lost_after) {
  PolledGroup group;
  if (has_reference) group.with_reference();
  for (int poll = 0; poll < polls; ++poll) {
    for (int step = 1000 * poll / polls; step < 1000 * (poll + 1) / polls; ++step) {
      group.pass(kStep);
    }
    const bool is_last = poll + 1 == polls;
    if (lost_after == 0 || poll % lost_after == 0 || is_last) group.poll();
  }
  EXPECT_EQ(group.enabled, 12s) << "in " << polls << " polls";
  EXPECT_EQ(group.running, 3s) << "in " << polls << " polls";
  return group.value;
}

TEST(InvariantsTest, AConstantRateGivesTheSameInAnyNumberOfPollsOfWhichAnyAreLost) {
  for (const bool has_reference : {false, true}) {
    for (const auto& [polls, lost_after] :
         {std::pair{1, 0}, {3, 0}, {10, 0}, {1000, 0}, {1000, 2}, {1000, 7}, {1000, 100}}) {
      EXPECT_NEAR(static_cast<double>(value_in_polls(polls, has_reference, lost_after)), 40'000, 1)
          << polls << " polls, all but one of " << lost_after << " lost"
          << (has_reference ? ", with a reference" : "");
    }
  }
}

RC_GTEST_PROP(InvariantsTest, AConstantRateGivesTheSameForAnyWindows, ()) {
  PolledGroup group;
  if (*rc::gen::arbitrary<bool>()) group.with_reference();
  const auto rate = *rc::gen::inRange<std::uint64_t>(0, 9);
  const auto activity = *rc::gen::inRange<std::uint64_t>(1, 9);
  const auto polls = *rc::gen::container<std::vector<Passing>>(
      rc::gen::exec([] { return any_passing(/*least_share=*/0); }));
  std::uint64_t truth = 0;

  group.poll_after({.enabled = 1s,
                    .running = 1s,
                    .events = rate * 1'000'000'000,
                    .sampled = activity * 1'000'000'000,
                    .reference = activity * 1'000'000'000});
  for (Passing passing : polls) {
    passing.events = rate * word(passing.running);
    passing.sampled = activity * word(passing.running);
    passing.reference = activity * word(passing.enabled);
    group.poll_after(passing);
    truth += rate * word(passing.enabled);
  }

  const double expected = static_cast<double>(truth + rate * 1'000'000'000);
  RC_ASSERT(std::abs(static_cast<double>(group.value) - expected) <= 1 + 1e-14 * expected);
}

TEST(InvariantsTest, FractionsOfAnEventAreCarried) {
  PolledGroup group;
  for (int poll = 0; poll < 30'000; ++poll) {
    group.poll_after({.enabled = 4ms, .running = 3ms, .events = 1});
  }
  EXPECT_NEAR(static_cast<double>(group.value), 40'000, 1);
}

// --- units ------------------------------------------------------------------------------------

/// Polls with events and a reference that have some to do with each other.
std::vector<Passing> any_load() {
  std::mt19937_64 random{*rc::gen::arbitrary<std::uint64_t>()};
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  std::vector<Passing> load(static_cast<std::size_t>(*rc::gen::inRange(1, 200)));
  for (Passing& passing : load) {
    const std::uint64_t running = up_to(500'000'000);
    const std::uint64_t sampled = running * up_to(16) / 16;
    passing = {.enabled = 1s,
               .running = nanoseconds{running},
               .events = running / 1000 * up_to(2) + sampled / 1000 * up_to(8),
               .sampled = sampled,
               .reference = sampled + up_to(500'000'000)};
  }
  return load;
}

RC_GTEST_PROP(InvariantsTest, TheUnitOfTheReferenceDoesNotMatter, ()) {
  PolledGroup group;
  PolledGroup by_eighths;
  group.with_reference();
  by_eighths.with_reference();

  for (Passing passing : any_load()) {
    group.poll_after(passing);
    passing.sampled *= 8;
    passing.reference *= 8;
    by_eighths.poll_after(passing);

    RC_ASSERT(by_eighths.value == group.value);
    RC_ASSERT(by_eighths.variance == group.variance);
    RC_ASSERT(by_eighths.models[0].reference_weight() == group.models[0].reference_weight());
  }
}

RC_GTEST_PROP(InvariantsTest, FiveTimesTheCountsGiveFiveTimesTheValue, ()) {
  PolledGroup group;
  PolledGroup fivefold;
  if (*rc::gen::arbitrary<bool>()) {
    group.with_reference();
    fivefold.with_reference();
  }

  for (Passing passing : any_load()) {
    group.poll_after(passing);
    passing.events *= 5;
    fivefold.poll_after(passing);

    const auto expected = 5 * static_cast<double>(group.value);
    RC_ASSERT(std::abs(static_cast<double>(fivefold.value) - expected) <= 5 + 1e-9 * expected);
    RC_ASSERT(std::abs(fivefold.variance - 25 * group.variance) <= 1e-6 * fivefold.variance + 1e-6);
  }
}

// --- starvation -------------------------------------------------------------------------------

RC_GTEST_PROP(InvariantsTest, ExactlyAMinuteWithoutThePmuIsFilledAndTheRestIsUnmeasured, ()) {
  const bool has_reference = *rc::gen::arbitrary<bool>();
  const auto starved = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(1, 40'000'000'000));
  PolledGroup group;
  if (has_reference) group.with_reference();
  group.poll_after(
      {.enabled = 1s, .running = 500ms, .events = 500, .sampled = 2'000, .reference = 4'000});
  nanoseconds total{};

  for (const std::int64_t time : starved) {
    const nanoseconds before = total;
    const std::uint64_t extrapolated = group.extrapolated;
    total += nanoseconds{time};
    group.poll_after({.enabled = nanoseconds{time},
                      .reference = 4 * static_cast<std::uint64_t>(time) / 1'000'000});

    RC_ASSERT(group.imputed == std::min<nanoseconds>(total, 60s));
    RC_ASSERT(group.unmeasured == std::max<nanoseconds>(total - 60s, 0s));
    if (before < 60s) continue;
    RC_ASSERT(group.last.coverage == Coverage::kNone);
    RC_ASSERT(group.extrapolated == extrapolated);
  }

  const double expected = 1e-6 * static_cast<double>(std::min<nanoseconds>(total, 60s).count());
  const double rounded = 2 + static_cast<double>(has_reference ? starved.size() : 0);
  RC_ASSERT(std::abs(static_cast<double>(group.value) - 1000 - expected) <= rounded);
}

TEST(InvariantsTest, AMinuteIsCountedAgainAfterTheGroupHadThePmu) {
  PolledGroup group;
  for (int turn = 0; turn < 2; ++turn) {
    group.poll_after({.enabled = 2s, .running = 1s, .events = 1000});
    group.poll_after({.enabled = 50s});
    group.poll_after({.enabled = 50s});
  }
  EXPECT_EQ(group.imputed, 120s);
  EXPECT_EQ(group.unmeasured, 80s);
  EXPECT_NEAR(static_cast<double>(group.value), 124'000, 1);
}

// --- rotation ---------------------------------------------------------------------------------

/// The mean error of runs of 30 s, relative to the truth, and in units of what it is by chance: 17
/// % in each 16 ms of rotation for the phases below.
template <typename Workload>
double bias_by_chance(bool has_reference, Workload workload) {
  double error = 0;
  double truth = 0;
  double rotations = 0;
  test::run_rounds(300, [&](unsigned run) {
    Rotation rotation{4, has_reference, run};
    for (int poll = 0; poll < 30; ++poll) rotation.pass_and_poll(1s, workload);
    error += rotation.error();
    truth += rotation.truth;
    rotations += 30'000.0 / 16;
  });
  return error / truth / (0.17 / std::sqrt(rotations));
}

TEST(InvariantsTest, TheEstimateIsUnbiasedUnderARandomPhaseOfRotation) {
  const auto phases = [is_busy = false](std::mt19937_64& random) mutable {
    if (random() % 50 == 0) is_busy = !is_busy;  // phases of 50 ms on average
    const double noise = std::uniform_real_distribution{0.5, 1.5}(random);
    return Activity{is_busy ? 2e6 : 1e6, noise * (is_busy ? 2e5 : 1e5)};
  };
  EXPECT_LT(std::abs(bias_by_chance(/*has_reference=*/true, BusyAndIdle{})), 4);
  EXPECT_LT(std::abs(bias_by_chance(/*has_reference=*/true, phases)), 4);
  EXPECT_LT(std::abs(bias_by_chance(/*has_reference=*/false, phases)), 4);
}

// --- totals and parts -------------------------------------------------------------------------

RC_GTEST_PROP(InvariantsTest, EnabledAndRunningAreTheKernels, ()) {
  PolledGroup group;
  if (*rc::gen::arbitrary<bool>()) group.with_reference();
  const int polls = *rc::gen::inRange(0, 50);

  for (int poll = 0; poll < polls; ++poll) group.poll_after(any_passing(/*least_share=*/0));

  RC_ASSERT(group.enabled == group.kernel.enabled);
  RC_ASSERT(group.running == group.kernel.running);
}

RC_GTEST_PROP(InvariantsTest, TheEstimateLiesBetweenTheLeastAndTheMostThatItsPartsAreScaledTo, ()) {
  PolledGroup group;
  const int polls = *rc::gen::inRange(1, 50);
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double lower = 0;
  double upper = 0;

  for (int poll = 0; poll < polls; ++poll) {
    const Passing passing = any_passing(/*least_share=*/0);
    RC_PRE(passing.running > 0ns);
    group.poll_after(passing);

    const auto running = static_cast<double>(passing.running.count());
    const double rate = static_cast<double>(passing.events) / running;
    least = std::min(least, rate);
    most = std::max(most, rate);
    const double unseen = static_cast<double>(passing.enabled.count()) - running;
    lower += static_cast<double>(passing.events) + least * unseen;
    upper += static_cast<double>(passing.events) + most * unseen;
    const auto value = static_cast<double>(group.value);
    RC_ASSERT(value >= lower * (1 - 1e-12) - 1);
    RC_ASSERT(value <= upper * (1 + 1e-12) + 1);
  }
}

// Events of one group do not meddle with each other: each is as if it were alone.
RC_GTEST_PROP(InvariantsTest, AnEventGetsTheSameInAGroupAsAlone, ()) {
  PolledGroup alone;
  PolledGroup second{2};
  alone.with_reference();
  second.with_reference();

  for (const Passing& passing : any_load()) {
    alone.poll_after(passing);
    second.pass(passing);
    second.kernel.counts[0] += *rc::gen::inRange<std::uint64_t>(0, 1000);
    second.poll();

    RC_ASSERT(second.increments[1].observed == alone.increments[0].observed);
    RC_ASSERT(second.increments[1].extrapolated == alone.increments[0].extrapolated);
    RC_ASSERT(second.increments[1].variance == alone.increments[0].variance);
  }
}

/// The reference of CPU 0 in full, of CPU 1 half of it, and so on.
void pass_on_cpu(KernelTotals& totals, std::size_t cpu, const Passing& passing,
                 std::uint64_t rate) {
  totals.enabled += passing.enabled;
  totals.running += passing.running / (cpu + 1);
  totals.counts[0] += rate * (passing.sampled / (cpu + 1));
  totals.reference->sampled += passing.sampled / (cpu + 1);
  totals.reference->always += passing.reference;
  totals.reference->always_enabled += passing.enabled;
}

// Workers keep updates of their own while they count; the models are shared.
RC_GTEST_PROP(InvariantsTest, CpusAddUpToTheWholeWhenTheirEventFollowsTheReference, ()) {
  constexpr std::size_t kCpus = 4;
  const auto rate = *rc::gen::inRange<std::uint64_t>(1, 1000);
  std::vector<GroupEstimator> cpus(kCpus, GroupEstimator{1});
  std::vector<KernelTotals> totals(kCpus,
                                   KernelTotals{.counts = {0}, .reference = ReferenceTotals{}});
  std::vector<PassedTotals> passed(kCpus, PassedTotals{1});
  std::array<EventModel, 1> model;
  double sum = 0;
  double truth = 0;

  int polls = 0;
  for (const Passing& passing : any_load()) {
    const bool is_settled = ++polls > 20;  // until then nothing, or little, is known of the weight
    std::array<ModelUpdate, 1> all;
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
      pass_on_cpu(totals[cpu], cpu, passing, rate);
      std::array<EventIncrement, 1> increment;
      std::array<ModelUpdate, 1> updates;
      cpus[cpu].advance(passed[cpu].advance(totals[cpu]), model, increment, updates);
      all[0].add(updates[0]);
      if (!is_settled) continue;
      sum += static_cast<double>(increment[0].observed + increment[0].extrapolated);
      truth += static_cast<double>(rate * passing.reference);
    }
    model[0].learn(all[0]);
  }

  RC_ASSERT(std::abs(sum - truth) <= 1e-3 * truth + kCpus);
}

}  // namespace
}  // namespace pex::estimate
