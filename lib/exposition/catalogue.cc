#include "exposition/catalogue.h"

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
                 std::span<Number> numbers) {
  if (run.column->parts.size() > 1) return read_rows<total_of>(run, tables, numbers);
  const collect::EventAt& part = run.column->parts.front();
  const collect::GroupTable& table = tables[part.group];
  const double scale = run.column->event.scale;
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const bool is_known = table.rows[row].value == collect::GroupRow::Value::kKnown;
    numbers[row] = is_known ? scaled(table.total(row, part.event).value, scale) : Number{};
  }
}

Number one(const SampleRun&, std::span<const collect::GroupTable>, std::size_t) { return whole(1); }

void add_events(Scope scope, const collect::CountingPlan& plan, const RowLabels& rows,
                std::vector<PublishedFamily>& families) {
  const std::vector<collect::GroupPlan>& groups =
      (scope == Scope::kCpu ? plan.cpu : plan.cgroup).groups;
  for (EventFamily& family : families_of(scope, plan)) {
    PublishedFamily published{{family.name, family.help, FamilyType::kCounter}, {}};
    for (EventFamily::Member& member : family.columns) {
      const collect::GroupPlan& group = groups[member.column->parts.front().group];
      published.runs.push_back({.scope = scope,
                                .group = collect::configured_name(group),
                                .behind = std::move(member.labels),
                                .rows = &rows.of(scope, member.column->aggregation),
                                .read = read_totals,
                                .column = member.column});
    }
    families.push_back(std::move(published));
  }
}

PublishedFamily cgroup_info(const RowLabels& rows) {
  return {{"perf_cgroup_info", "Always 1. The labels describe the cgroup.", FamilyType::kInfo},
          {{.scope = Scope::kCgroup, .rows = &rows.information(), .read = read_rows<one>}}};
}

}  // namespace

Catalogue::Catalogue(const collect::Snapshot& snapshot) : plan_(snapshot.plan), rows_(snapshot) {
  add_events(Scope::kCpu, *plan_, rows_, families_);
  add_events(Scope::kCgroup, *plan_, rows_, families_);
  families_.push_back(cgroup_info(rows_));
  add_evidence(*plan_, rows_, families_);
}

void read(const SampleRun& run, const collect::Snapshot& snapshot, std::vector<Number>& numbers) {
  const std::vector<collect::GroupTable>& tables =
      run.scope == Scope::kCpu ? snapshot.cpu : snapshot.cgroup;
  numbers.resize(run.rows->size());
  run.read(run, tables, numbers);
}

}  // namespace pex::exposition
