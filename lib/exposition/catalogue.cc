#include "exposition/catalogue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "exposition/evidence_families.h"
#include "exposition/labels.h"
#include "exposition/metric_names.h"

namespace pex::exposition {
namespace {

Number total_of(const SampleRun& run, std::span<const collect::GroupTable> tables,
                std::size_t row) {
  const auto total = collect::value_of(*run.column, tables, row);
  return total ? scaled(total->value, run.column->event.scale) : Number{};
}

/// Nearly all columns have one part, and up to a hundred thousand numbers are read.
void read_totals(const SampleRun& run, std::span<const collect::GroupTable> tables,
                 std::size_t first, std::span<Number> numbers) {
  if (run.column->parts.size() > 1) return read_rows<total_of>(run, tables, first, numbers);
  const collect::EventAt& part = run.column->parts.front();
  const collect::GroupTable& table = tables[part.group];
  const double scale = run.column->event.scale;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t row = first + i;
    const bool is_known = table.rows[row].value == collect::GroupRow::Value::kKnown;
    numbers[i] = is_known ? scaled(table.total(row, part.event).value, scale) : Number{};
  }
}

Number one(const SampleRun&, std::span<const collect::GroupTable>, std::size_t) { return whole(1); }

void add_events(const ScopeView& view, const RowLabels& rows, const collect::CountingPlan& plan,
                std::vector<PublishedFamily>& families) {
  for (EventFamily& family : families_of(view, plan)) {
    PublishedFamily published{{family.name, family.help, FamilyType::kCounter}, {}};
    for (EventFamily::Member& member : family.columns) {
      const collect::GroupPlan& group = view.plan.groups[member.column->parts.front().group];
      published.runs.push_back({.scope = view.scope,
                                .sum = view.sum,
                                .group = collect::configured_name(group),
                                .behind = std::move(member.labels),
                                .rows = &view.rows(rows, member.column->aggregation),
                                .read = read_totals,
                                .column = member.column});
    }
    add_family(std::move(published), families);
  }
}

PublishedFamily cgroups_of_sum(const collect::SumPlan& sum, std::size_t number,
                               const RowLabels& rows) {
  const std::string by = sum.labels.empty() ? "" : ", " + row_text(sum);
  return {{cgroups_family_name(sum), "Cgroups that are counted and in the sum now" + by + ".",
           FamilyType::kGauge},
          {{.scope = Scope::kCgroup, .sum = number, .rows = &rows.of_sum(number)}}};
}

PublishedFamily cgroup_info(const RowLabels& rows) {
  return {
      {"perf_cgroup_info", "Constant 1, with labels that describe the cgroup.", FamilyType::kInfo},
      {{.scope = Scope::kCgroup, .rows = &rows.information(), .read = read_rows<one>}}};
}

/// When the last of its groups began.
Rows::Clock::time_point start_of(const SampleRun& run, const collect::GroupStarts& all) {
  const auto& starts = run.scope == Scope::kCpu ? all.cpu : all.cgroup;
  if (run.group.empty() || starts.empty()) return {};
  if (run.column == nullptr) return starts[run.table];
  Rows::Clock::time_point last{};
  for (const collect::EventAt& part : run.column->parts) last = std::max(last, starts[part.group]);
  return last;
}

}  // namespace

void add_family(PublishedFamily family, std::vector<PublishedFamily>& families) {
  const auto known = std::find_if(families.begin(), families.end(), [&](const auto& each) {
    return each.head.name == family.head.name;
  });
  if (known == families.end()) return families.push_back(std::move(family));
  std::move(family.runs.begin(), family.runs.end(), std::back_inserter(known->runs));
}

std::vector<ScopeView> published_views(const collect::Snapshot& snapshot) {
  const collect::CountingPlan& plan = *snapshot.plan;
  std::vector<ScopeView> views = {{Scope::kCpu, plan.cpu, snapshot.cpu, {}}};
  if (plan.publishes_cgroups) views.push_back({Scope::kCgroup, plan.cgroup, snapshot.cgroup, {}});
  for (std::size_t sum = 0; sum < plan.sums.size(); ++sum) {
    views.push_back({Scope::kCgroup, plan.cgroup, snapshot.sums[sum].groups, sum});
  }
  return views;
}

std::vector<EventFamily> families_of(const ScopeView& view, const collect::CountingPlan& plan) {
  return view.sum ? families_of(plan.sums[*view.sum], plan) : families_of(view.scope, plan);
}

Catalogue::Catalogue(const collect::Snapshot& snapshot) : plan_(snapshot.plan), rows_(snapshot) {
  for (const ScopeView& view : published_views(snapshot)) {
    add_events(view, rows_, *plan_, families_);
    if (view.scope == Scope::kCpu) continue;
    if (!view.sum) families_.push_back(cgroup_info(rows_));
    if (!view.sum || plan_->sums[*view.sum].is_series) continue;
    families_.push_back(cgroups_of_sum(plan_->sums[*view.sum], *view.sum, rows_));
  }
  add_evidence(snapshot, rows_, families_);
  for (PublishedFamily& family : families_) {
    for (SampleRun& run : family.runs) run.since = start_of(run, snapshot.starts);
  }
}

Catalogue::Changes Catalogue::changes(const SampleRun& run) const {
  if (run.rows == &rows_.information()) return Changes::kNone;
  const bool is_of_cgroups = run.rows == &rows_.of(Scope::kCgroup, Aggregation::kHost);
  return is_of_cgroups ? Changes::kOfCgroups : Changes::kAny;
}

void read(const SampleRun& run, const collect::Snapshot& snapshot, std::vector<Number>& numbers) {
  const collect::RowRange all{0, run.rows->size()};
  read(run, snapshot, {&all, 1}, numbers);
}

void read(const SampleRun& run, const collect::Snapshot& snapshot,
          std::span<const collect::RowRange> rows, std::vector<Number>& numbers) {
  numbers.resize(run.rows->size());
  const std::span<const std::size_t> hidden = run.rows->hidden();
  for (const auto& [first, end] : rows) {
    const std::span<Number> of_rows = std::span(numbers).subspan(first, end - first);
    if (!run.sum) {
      run.read(run, run.scope == Scope::kCpu ? snapshot.cpu : snapshot.cgroup, first, of_rows);
    } else if (run.read != nullptr) {
      run.read(run, snapshot.sums[*run.sum].groups, first, of_rows);
    } else {
      for (std::size_t row = first; row < end; ++row) {
        numbers[row] = whole(snapshot.sums[*run.sum].rows[row].cgroups);
      }
    }
    const auto hides = std::lower_bound(hidden.begin(), hidden.end(), first);
    for (auto row = hides; row != hidden.end() && *row < end; ++row) numbers[*row] = {};
  }
}

}  // namespace pex::exposition
