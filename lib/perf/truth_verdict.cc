#include "perf/truth_verdict.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace pex::perf {
namespace {

using While = Observation::While;

struct Meaning {
  std::uint32_t type;
  std::uint64_t config;
  Quantity quantity;
};
constexpr Meaning kMeanings[] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, Quantity::kCycles},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, Quantity::kInstructions},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, Quantity::kReferences},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, Quantity::kMisses},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, Quantity::kBranches},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, Quantity::kMisses},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, Quantity::kPageFaults},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, Quantity::kPageFaults},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, Quantity::kContextSwitches},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, Quantity::kMigrations},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, Quantity::kTaskTime},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, Quantity::kClock},
};

/// In the order of Truth.
constexpr std::string_view kNames[] = {"",
                                       "",
                                       "stuck",
                                       "too_small",
                                       "off_by_factor",
                                       "erratic",
                                       "jumps",
                                       "moves_while_idle",
                                       "counts_other_cpus",
                                       "above_references"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Truth::kAboveReferences) + 1);

double error_of(const Observation& one) {
  const bool is_low = one.counted < one.known.least;
  return static_cast<double>(one.counted) /
         static_cast<double>(std::max<std::uint64_t>(is_low ? one.known.least : one.known.most, 1));
}

/// All `wrong` are, while the thread worked alone.
Truth kind_of_lie(Quantity quantity, const std::vector<Observation>& wrong) {
  constexpr double kNextToNothing = 0.01;
  constexpr double kImpossible = 1000;
  constexpr double kSame = 1.2;
  std::vector<double> errors;
  for (const Observation& one : wrong) errors.push_back(error_of(one));
  const auto [least, most] = std::minmax_element(errors.begin(), errors.end());
  if (*most <= 0) return Truth::kStuck;
  if (*least > kImpossible) return Truth::kJumps;
  if (quantity == Quantity::kMisses) return Truth::kAboveReferences;
  if (*most < kNextToNothing) return Truth::kTooSmall;
  return *most < kSame * *least ? Truth::kOffByFactor : Truth::kErratic;
}

std::string evidence_of(Truth truth, const Observation& one) {
  const bool is_low = one.counted < one.known.least;
  return "it counted " + std::to_string(one.counted) + " where " +
         (is_low ? "at least " : "at most ") +
         std::to_string(is_low ? one.known.least : one.known.most) + " happened (" +
         std::string(name_of(truth)) + ")";
}

}  // namespace

std::optional<Quantity> quantity_of(const EventAttributes& event) {
  if (event.exclude_user || event.exclude_host) return {};
  for (const Meaning& row : kMeanings) {
    if (row.type == event.type && row.config == (event.config & kEventOfConfig))
      return row.quantity;
  }
  return {};
}

std::string_view name_of(Truth truth) { return kNames[static_cast<std::size_t>(truth)]; }

bool is_right(const Observation& one) {
  constexpr std::uint64_t kFew = 4;
  const Bounds wide = {one.known.least - one.known.least / 10,
                       one.known.most + std::min(one.known.most / 5 + kFew, ~one.known.most)};
  return wide.contain(one.counted);
}

Verdict judge(Quantity quantity, std::span<const Observation> observations) {
  Verdict verdict;
  for (const While when : {While::kWorking, While::kIdle, While::kOthersWork}) {
    std::vector<Observation> wrong;
    bool is_ever_right = false;
    for (const Observation& one : observations) {
      if (one.when != when) continue;
      is_right(one) ? void(is_ever_right = true) : wrong.push_back(one);
    }
    if (is_ever_right) verdict.truth = Truth::kTrue;
    if (is_ever_right || wrong.size() < kRepetitions) continue;
    const Truth lie = when == While::kIdle         ? Truth::kMovesWhileIdle
                      : when == While::kOthersWork ? Truth::kCountsOtherCpus
                                                   : kind_of_lie(quantity, wrong);
    return {lie, evidence_of(lie, wrong.front())};
  }
  return verdict;
}

}  // namespace pex::perf
