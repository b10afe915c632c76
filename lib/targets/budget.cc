#include "targets/budget.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>

#include "base/lookup.h"
#include "host/self_process.h"

namespace pex::collect {
namespace {

/// How many times `each` fits into what is left of `limit` after `used`.
std::size_t fits(std::size_t limit, std::size_t used, std::size_t each) {
  if (each == 0) return std::numeric_limits<std::size_t>::max();
  return limit <= used ? 0 : (limit - used) / each;
}

/// CPUs that can have a row: an offline one keeps its row.
std::size_t rows_of(const MachineCpus& cpus) {
  return std::max(cpus.places.size(), cpus.online.size());
}

std::size_t rows_of(const std::string& pmu, const MachineCpus& cpus) {
  return cpus.count_of(pmu) + (rows_of(cpus) - cpus.online.size());
}

/// The number of rows of a column, whose PMUs cover the same places, or each its own.
std::size_t rows_of(const PublishedEvent& column, const ScopePlan& scope, const MachineCpus& cpus) {
  std::size_t rows = 0;
  for (const PublishedEvent::Part& part : column.parts) {
    rows += rows_of(scope.groups[part.group].pmu, cpus);
  }
  return std::min(rows, rows_of(cpus));
}

/// An upper bound: if a group lacks CPUs its coverage is published, and not the values of its
/// columns.
std::size_t most_series_of(RowKind kind, const PublishedEvent& column, const ScopePlan& scope,
                           const Evidence& evidence) {
  const std::size_t other_parts = column.parts.size() - 1;  // each may lack some as well
  return series_of_column(kind, evidence, is_estimated(column, scope)) + other_parts;
}

/// Series of all groups and columns of a scope with a row for each of `cpus`; null: with one row.
std::size_t series_of_scope(RowKind kind, const ScopePlan& scope, const Evidence& evidence,
                            const MachineCpus* cpus) {
  std::size_t series = 0;
  for (const GroupPlan& group : scope.groups) {
    const std::size_t rows = cpus != nullptr ? rows_of(group.pmu, *cpus) : 1;
    series += series_of_group(kind, group, evidence, group.shares_pmu) * rows;
  }
  for (const PublishedEvent& column : scope.columns) {
    const std::size_t rows = cpus != nullptr ? rows_of(column, scope, *cpus) : 1;
    series += most_series_of(kind, column, scope, evidence) * rows;
  }
  return series;
}

/// Of one cgroup, its description included.
std::size_t series_of_cgroup(const CountingPlan& plan, const MachineCpus& cpus) {
  constexpr std::size_t kDescription = 1;
  if (!plan.publishes_cgroups) return 0;
  return kDescription + series_of_scope(RowKind::kCgroup, plan.cgroup, plan.evidence,
                                        plan.cgroup_per_cpu ? &cpus : nullptr);
}

/// Of one sum, with its number of cgroups. Where a group lacks CPUs, both the values and the
/// coverage are published.
std::size_t series_of_sum(const CountingPlan& plan) {
  constexpr std::size_t kCgroups = 1;
  std::size_t series = kCgroups;
  for (const GroupPlan& group : plan.cgroup.groups) {
    series += series_of_group(RowKind::kSum, group, plan.evidence, group.shares_pmu) +
              (group.is_published ? 1 : 0);
  }
  for (const PublishedEvent& column : plan.cgroup.columns) {
    series += series_of_column(RowKind::kSum, plan.evidence, is_estimated(column, plan.cgroup));
  }
  return series;
}

/// Of as many sums as there may be.
std::size_t series_of_sums(const CountingPlan& plan) {
  std::size_t sums = 0;
  for (const SumPlan& sum : plan.sums) {
    if (sum.is_series) continue;                     // they are fewer than those of the cgroups
    sums += sum.max + (sum.labels.empty() ? 0 : 1);  // the rest
  }
  return sums * series_of_sum(plan);
}

/// The weight of the reference for each column: one for all rows.
std::size_t weights_of(const ScopePlan& scope) {
  return static_cast<std::size_t>(
      std::count_if(scope.columns.begin(), scope.columns.end(), [&](const PublishedEvent& column) {
        return scope.groups[column.parts.front().group].auxiliary.reference.has_value();
      }));
}

}  // namespace

std::size_t Budget::open_events_for(std::optional<std::uint64_t> memory,
                                    std::optional<std::uint64_t> limit) {
  constexpr std::size_t kUnknown = 65'536;
  constexpr std::size_t kMax = 10'000'000;
  constexpr std::size_t kMin = 1024;
  constexpr std::uint64_t kPartOfMemory = 16;
  constexpr std::uint64_t kPartOfLimit = 4;
  if (!memory && !limit) return kUnknown;
  std::uint64_t events = kMax;
  if (memory) {
    events = std::min<std::uint64_t>(
        events, *memory / kPartOfMemory / (kKernelBytesOfACounter + kOwnBytesOfACounter));
  }
  if (limit) events = std::min(events, *limit / kPartOfLimit / kOwnBytesOfACounter);
  return std::max<std::size_t>(events, kMin);
}

std::size_t Budget::open_files() const {
  return max_open_files ? *max_open_files : host::raise_open_file_limit();
}

std::size_t client_files(std::size_t open_files) {
  constexpr std::size_t kMin = 96;
  constexpr std::size_t kMax = 640;  // http::Limits
  return std::clamp(open_files / 12, kMin, kMax);
}

std::size_t reserved_files(std::size_t open_files) {
  constexpr std::size_t kOwnFiles = 32;
  return kOwnFiles + client_files(open_files);
}

Need need_of(const CountingPlan& plan, const MachineCpus& cpus, const CounterCost& cost) {
  Need need;
  need.counters = cost;
  need.sum_series = series_of_sums(plan);
  need.fixed_series = series_of_scope(RowKind::kCpu, plan.cpu, plan.evidence, &cpus) +
                      weights_of(plan.cpu) + weights_of(plan.cgroup) + need.sum_series;
  if (plan.cgroup.empty()) return need;
  need.counts_cgroups = true;
  need.cgroup_series = series_of_cgroup(plan, cpus);
  return need;
}

std::size_t series_room(const Budget& budget, const Need& need) {
  return fits(budget.max_series, need.fixed_series, need.cgroup_series);
}

Capacity cgroup_capacity(const Budget& budget, const Need& need) {
  const std::size_t open_files = need.cgroup_files() == 0 ? 0 : budget.open_files();
  const Capacity bounds[] = {
      {budget.max_cgroups, kCgroupBounds[0].name},
      {fits(budget.max_open_events, need.counters.cpus, need.counters.cgroup),
       kCgroupBounds[1].name},
      {series_room(budget, need), kCgroupBounds[2].name},
      {fits(open_files, reserved_files(open_files) + need.counters.cpus, need.cgroup_files()),
       kCgroupBounds[3].name},
  };
  Capacity tightest =
      *std::min_element(std::begin(bounds), std::end(bounds),
                        [](const auto& a, const auto& b) { return a.cgroups < b.cgroups; });
  tightest.open_files = open_files;
  return tightest;
}

CgroupBound bound_of(std::string_view name) {
  const CgroupBound* const bound = lookup(kCgroupBounds, &CgroupBound::name, name);
  return bound == nullptr ? CgroupBound{} : *bound;
}

std::string_view bound_met_by(int code) {
  struct Row {
    int code;
    std::string_view bound;
  };
  static constexpr Row kBounds[] = {
      {EMFILE, "open_files"}, {ENFILE, "open_files"}, {ENOMEM, "memory"}};
  const Row* const met = lookup(kBounds, &Row::code, code);
  return met == nullptr ? std::string_view() : met->bound;
}

Error too_many_cgroups(const Budget& budget, const Need& need, const Capacity& capacity,
                       std::size_t matching) {
  struct Row {
    std::string_view bound;
    const char* what;
    std::size_t allowed;  ///< 0: unknown
    std::size_t used;
    std::size_t each;
    Remedy remedy;
  };
  const Row rows[] = {
      {"max", "cgroups", budget.max_cgroups, 0, 1, "raise cgroups.max"},
      {"max_open_events", "open events", budget.max_open_events, need.counters.cpus,
       need.counters.cgroup, "raise limits.max_open_events"},
      {"max_series", "series", budget.max_series, need.fixed_series, need.cgroup_series,
       "raise limits.max_series"},
      {"open_files", "file descriptors", capacity.open_files,
       reserved_files(capacity.open_files) + need.counters.cpus, need.cgroup_files(),
       "raise " + ProgramTerm::kOpenFileLimit + ", or ulimit -n"},
      {"memory", "memory", 0, 0, 0, "free some"},
  };
  static_assert(std::size(rows) == std::size(kCgroupBounds));
  const auto number = [](std::size_t n) { return std::to_string(n); };
  const Row& row = *lookup(rows, &Row::bound, capacity.bound);
  std::string text =
      "counting " + number(capacity.cgroups) + " of " + number(matching) + " matching cgroups";
  const std::size_t needed = row.used + matching * row.each;
  if (row.bound == kCgroupBounds[0].name) {
    text += ": cgroups.max is " + number(row.allowed);
  } else if (needed > row.allowed && row.allowed > 0) {
    text += ": all of them need " + number(needed) + " " + row.what + ", and the limit is " +
            number(row.allowed);
  } else {  // the budget allowed them
    text += std::string(": the kernel gives no more ") + row.what;
  }
  return Error{0, text, row.remedy + ", or select fewer in cgroups.include"};
}

std::vector<Error> excess_of_cpu_groups(const Budget& budget, const Need& need) {
  struct Row {
    const char* what;
    std::size_t needed;
    std::size_t bound;
    Remedy remedy;
  };
  const std::size_t without_sums = need.fixed_series - need.sum_series;
  const std::size_t open_files = budget.open_files();
  const Row rows[] = {
      {"open events", need.counters.cpus, budget.max_open_events,
       "raise limits.max_open_events, or count fewer events"},
      {"series", without_sums, budget.max_series, "raise limits.max_series, or count fewer events"},
      {"open files", need.counters.cpus + reserved_files(open_files), open_files,
       "raise " + ProgramTerm::kOpenFileLimit + ", or count fewer events"},
  };
  std::vector<Error> excess;
  for (const Row& row : rows) {
    if (row.needed <= row.bound) continue;
    excess.push_back({0,
                      "the groups of scope cpu need " + std::to_string(row.needed) + " " +
                          row.what + ", and " + std::to_string(row.bound) + " are allowed",
                      row.remedy});
  }
  if (without_sums <= budget.max_series && need.fixed_series > budget.max_series) {
    excess.push_back({0,
                      "the sums of cgroups need " + std::to_string(need.sum_series) +
                          " series, as many as their 'max' allows, and the groups of scope cpu " +
                          std::to_string(without_sums) + "; " + std::to_string(budget.max_series) +
                          " are allowed",
                      "raise limits.max_series, or lower 'max' in cgroups.sums"});
  }
  return excess;
}

Result<> check_cpu_groups(const Budget& budget, const Need& need) {
  const std::vector<Error> excess = excess_of_cpu_groups(budget, need);
  return excess.empty() ? Result<>() : Result<>(excess.front());
}

}  // namespace pex::collect
