#include "bench/switch/planned_variants.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bench/bpf/bpf_counters.h"
#include "bench/switch/bpf_check.h"
#include "bench/switch/counter_set.h"

namespace pex::bench {
namespace {

using Opened = Result<std::unique_ptr<OpenCounters>>;

class OpenBpf final : public OpenCounters {
 public:
  explicit OpenBpf(BpfCounters counters) : counters_(std::move(counters)) {}

  std::size_t descriptors() const override { return counters_.descriptors(); }

 private:
  BpfCounters counters_;
};

void report_left_out(const Choice& choice, const Error& error) {
  std::printf("left out: %s, %zu cgroups, %zu events: %s\n", title_of(choice).c_str(),
              choice.cgroups, choice.events, describe(error).c_str());
}

Variant without_counters(const Choice& choice) {
  return {choice, []() -> Opened { return std::make_unique<OpenCounters>(); }};
}

/// Nothing if the limit of open files does not allow it.
Result<std::optional<Variant>> plan_daemon(const Choice& choice, const Matrix& matrix,
                                           const Scene& scene) {
  const std::string text = choice.cgroups == 0 ? configuration_of_cpus(choice, matrix)
                                               : configuration(choice, matrix, scene.cgroups);
  Result<CounterSet> set = CounterSet::plan(text, choice.cgroups + choice.ancestors, scene.roots);
  if (!set) return set.error();
  if (const Result<> allowed = set->check_limit(); !allowed) {
    report_left_out(choice, allowed.error());
    return std::optional<Variant>{};
  }
  const auto shared = std::make_shared<CounterSet>(std::move(*set));
  return std::optional{Variant{choice, [shared] { return shared->open(); }}};
}

Result<BpfCounters> open_bpf(const Choice& choice, const Matrix& matrix, const Scene& scene) {
  const Result<std::vector<perf::CounterSpec>> events =
      plan_events(configuration_of_cpus(choice, matrix), Scope::kCpu, scene.roots);
  if (!events) return events.error();
  return BpfCounters::open(scene.roots, *events, choice.cgroups - kFewestCgroups);
}

Variant plan_bpf(const Choice& choice, const Matrix& matrix, const Scene& scene) {
  return {choice, [choice, &matrix, &scene]() -> Opened {
            Result<BpfCounters> counters = open_bpf(choice, matrix, scene);
            if (!counters) return counters.error();
            return std::unique_ptr<OpenCounters>{std::make_unique<OpenBpf>(std::move(*counters))};
          }};
}

std::optional<std::size_t> index_of_switches(const Choice& choice, const Matrix& matrix) {
  const auto end = matrix.events.begin() + static_cast<std::ptrdiff_t>(choice.events);
  const auto found = std::find(matrix.events.begin(), end, "context-switches");
  if (found == end) return std::nullopt;
  return static_cast<std::size_t>(found - matrix.events.begin());
}

/// Opens it, and checks what it counts. False: it is of no use, and the reason has been printed.
Result<bool> try_bpf(const Choice& choice, const Matrix& matrix, const Scene& scene) {
  Result<BpfCounters> counters = open_bpf(choice, matrix, scene);
  if (!counters) {
    report_left_out(choice, counters.error());
    return false;
  }
  const Result<BpfCheck> check = check_bpf(*counters, index_of_switches(choice, matrix), scene.cpu,
                                           scene.game, scene.cgroups, scene.stop);
  if (!check) return check.error();
  std::printf(
      "BPF %s: its sums of all cgroups differ by %.2f %% from what the CPU's events count, its "
      "context\nswitches of the two players by %.2f %% from the round trips; allowed are %.0f "
      "%%.\n",
      check->is_right() ? "counts right" : "is left out, as it counts wrong",
      100 * check->deviation, 100 * check->switches_deviation.value_or(0),
      100 * BpfCheck::kTolerance);
  return check->is_right();
}

}  // namespace

Result<std::vector<Variant>> plan_variants(const Matrix& matrix, const Scene& scene) {
  std::vector<Variant> variants;
  std::optional<bool> can_use_bpf;
  const std::vector<Choice> choices = choices_of(matrix);
  for (const Choice& choice : choices) {
    if (choice.way == Way::kNothing) {
      variants.push_back(without_counters(choice));
    } else if (choice.way == Way::kBpf) {
      if (!can_use_bpf) {
        const Result<bool> tried = try_bpf(choices.back(), matrix, scene);
        if (!tried) return tried.error();
        can_use_bpf = *tried;
      }
      if (*can_use_bpf) variants.push_back(plan_bpf(choice, matrix, scene));
    } else {
      Result<std::optional<Variant>> variant = plan_daemon(choice, matrix, scene);
      if (!variant) return variant.error();
      if (*variant) variants.push_back(std::move(**variant));
    }
  }
  return variants;
}

}  // namespace pex::bench
