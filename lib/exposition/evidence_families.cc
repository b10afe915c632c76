#include "exposition/evidence_families.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "exposition/labels.h"
#include "exposition/metric_names.h"

namespace pex::exposition {
namespace {

using collect::GroupTimes;
using Tables = std::span<const collect::GroupTable>;

const collect::GroupRow& row_of(const SampleRun& run, Tables tables, std::size_t row) {
  return tables[run.table].rows[row];
}

template <std::chrono::nanoseconds GroupTimes::*time>
Number time_of(const SampleRun& run, Tables tables, std::size_t row) {
  const collect::GroupRow& of = row_of(run, tables, row);
  return of.has_times ? nanoseconds(static_cast<std::uint64_t>((of.times.*time).count()))
                      : Number{};
}

template <double GroupTimes::*count>
Number count_of(const SampleRun& run, Tables tables, std::size_t row) {
  const collect::GroupRow& of = row_of(run, tables, row);
  return of.has_times ? real(std::floor(of.times.*count)) : Number{};
}

Number coverage_of(const SampleRun& run, Tables tables, std::size_t row) {
  const collect::GroupRow& of = row_of(run, tables, row);
  if (!collect::lacks_coverage(of)) return {};
  return real(static_cast<double>(of.counted_on) / static_cast<double>(of.wanted_on));
}

Number observed_of(const SampleRun& run, Tables tables, std::size_t row) {
  const auto total = collect::value_of(*run.column, tables, row);
  return total ? scaled(total->observed, run.column->event.scale) : Number{};
}

Number variance_of(const SampleRun& run, Tables tables, std::size_t row) {
  const auto total = collect::value_of(*run.column, tables, row);
  const double scale = run.column->event.scale;
  return total ? real(total->variance * scale * scale) : Number{};
}

/// One of each column, whatever its rows.
Number weight_of(const SampleRun& run, Tables tables, std::size_t) {
  const collect::EventAt& part = run.column->parts.front();
  const std::optional<double> weight = tables[part.group].reference_weights[part.event];
  return weight ? real(*weight) : Number{};
}

using collect::GroupTable;
bool always(const collect::GroupPlan&, const GroupTable&, const collect::Evidence&) { return true; }
bool is_estimated(const collect::GroupPlan&, const GroupTable& table, const collect::Evidence&) {
  return table.is_estimated;
}
bool has_reference(const collect::GroupPlan& group, const GroupTable&,
                   const collect::Evidence& evidence) {
  return evidence.reference && group.auxiliary.reference.has_value();
}

/// A family with a sample for each row of each group.
struct GroupFamily {
  FamilyEntry family;
  bool (*has)(const collect::GroupPlan&, const GroupTable&, const collect::Evidence&);
  SampleRun::Read read;
  bool is_always = false;  ///< also where `evidence.cgroups` leaves out the others
};
constexpr GroupFamily kGroupFamilies[] = {
    {{"perf_group_enabled_seconds_total", FamilyType::kCounter,
      "Time for which a group of events was enabled."},
     always,
     read_rows<time_of<&GroupTimes::enabled>>},
    {{"perf_group_running_seconds_total", FamilyType::kCounter,
      "Time for which a group of events was on the PMU."},
     always,
     read_rows<time_of<&GroupTimes::running>>},
    {{"perf_group_imputed_seconds_total", FamilyType::kCounter,
      "Enabled time of polls for which recent rates of a group were used."},
     is_estimated,
     read_rows<time_of<&GroupTimes::imputed>>},
    {{"perf_group_unmeasured_seconds_total", FamilyType::kCounter,
      "Enabled time that no count covers."},
     is_estimated,
     read_rows<time_of<&GroupTimes::unmeasured>>},
    {{"perf_group_reference_total", FamilyType::kCounter,
      "Events of the activity reference while the group was enabled."},
     has_reference,
     read_rows<count_of<&GroupTimes::reference>>},
    {{"perf_group_reference_sampled_total", FamilyType::kCounter,
      "Events of the activity reference while the group was on the PMU."},
     has_reference,
     read_rows<count_of<&GroupTimes::reference_sampled>>},
    {{"perf_group_coverage_ratio", FamilyType::kGauge,
      "Fraction of the CPUs of a series on which its group is counted."},
     always,
     read_rows<coverage_of>,
     true},
};

/// What is published of each estimated column in addition to its value, in a family for each family
/// of events.
struct Part {
  bool collect::Evidence::*asked_for;  ///< null: always
  SampleRun::Read read;
  std::string (*name_of)(std::string_view family);
  std::string_view help;  ///< before and after the name of the family of events
  std::string_view rest;
};
constexpr Part kParts[] = {
    {nullptr, read_rows<observed_of>, observed_family_name, "The part of ",
     " that was counted; the rest is extrapolated."},
    {&collect::Evidence::variance, read_rows<variance_of>, variance_family_name,
     "Sum of the squared standard errors of the increments of ", "."},
};

constexpr FamilyEntry kWeights = {"perf_event_reference_weight_ratio", FamilyType::kGauge,
                                  "Learned weight of the activity reference in an event's "
                                  "estimate: 1 scales by the reference, 0 scales by time."};

FamilyHead head_of(const FamilyEntry& row) {
  return {std::string(row.name), std::string(row.help), row.type};
}

std::string labels_of_group(const ScopeView& view, const collect::GroupPlan& group,
                            const collect::CountingPlan& plan) {
  const std::string pmu = group.pmu.empty() ? "" : label("pmu", group.pmu);
  const bool is_of_sum = view.sum && !plan.sums[*view.sum].is_series;
  const std::string sum = is_of_sum ? label("sum", plan.sums[*view.sum].name) : "";
  return join_labels({sum, label("group", group.name), pmu});
}

std::string_view group_of(const collect::PublishedEvent& column, const collect::ScopePlan& plan) {
  return plan.groups[column.parts.front().group].name;
}

void add_runs(const GroupFamily& family, const ScopeView& view, const collect::CountingPlan& plan,
              const RowLabels& rows, std::vector<SampleRun>& runs) {
  for (std::size_t table = 0; table < view.plan.groups.size(); ++table) {
    const collect::GroupPlan& group = view.plan.groups[table];
    if (!group.is_published || !family.has(group, view.tables[table], plan.evidence)) continue;
    runs.push_back({.scope = view.scope,
                    .sum = view.sum,
                    .group = collect::configured_name(group),
                    .before = labels_of_group(view, group, plan),
                    .rows = &view.rows(rows, group.aggregation),
                    .read = family.read,
                    .table = table});
  }
}

PublishedFamily family_of(const Part& part, const EventFamily& events, const ScopeView& view,
                          const RowLabels& rows) {
  PublishedFamily published;
  published.head = {part.name_of(events.name),
                    std::string(part.help) + events.name + std::string(part.rest),
                    FamilyType::kCounter};
  for (const EventFamily::Member& member : events.columns) {
    const collect::PublishedEvent& column = *member.column;
    if (!collect::is_estimated(column, view.tables)) continue;
    published.runs.push_back({.scope = view.scope,
                              .sum = view.sum,
                              .group = collect::configured_name(group_of(column, view.plan)),
                              .behind = member.labels,
                              .rows = &view.rows(rows, column.aggregation),
                              .read = part.read,
                              .column = &column});
  }
  return published;
}

void add_weights(const ScopeView& view, const RowLabels& rows, std::vector<SampleRun>& runs) {
  for (const collect::PublishedEvent& column : view.plan.columns) {
    const std::string_view group = group_of(column, view.plan);
    runs.push_back(
        {.scope = view.scope,
         .group = collect::configured_name(group),
         .before = join_labels({label("scope", name_of(view.scope)), label("group", group),
                                label("event", column.event.name), labels_of_event(column.event)}),
         .rows = &rows.unnamed(),
         .read = read_rows<weight_of>,
         .column = &column});
  }
}

bool has_evidence(const ScopeView& view, const collect::CountingPlan& plan) {
  const bool is_of_sum = view.sum && !plan.sums[*view.sum].is_series;
  const collect::RowKind kind = is_of_sum                   ? collect::RowKind::kSum
                                : view.scope == Scope::kCpu ? collect::RowKind::kCpu
                                                            : collect::RowKind::kCgroup;
  return collect::has_evidence(kind, plan.evidence);
}

}  // namespace

void add_evidence(const collect::Snapshot& snapshot, const RowLabels& rows,
                  std::vector<PublishedFamily>& families) {
  const collect::CountingPlan& plan = *snapshot.plan;
  const std::vector<ScopeView> scopes = {{Scope::kCpu, plan.cpu, snapshot.cpu, {}},
                                         {Scope::kCgroup, plan.cgroup, snapshot.cgroup, {}}};
  const std::vector<ScopeView> published_rows = published_views(snapshot);
  for (const GroupFamily& family : kGroupFamilies) {
    PublishedFamily published{head_of(family.family), {}};
    for (const ScopeView& view : published_rows) {
      if (!family.is_always && !has_evidence(view, plan)) continue;
      add_runs(family, view, plan, rows, published.runs);
    }
    families.push_back(std::move(published));
  }
  for (const Part& part : kParts) {
    if (part.asked_for != nullptr && !(plan.evidence.*part.asked_for)) continue;
    for (const ScopeView& view : published_rows) {
      if (!has_evidence(view, plan)) continue;
      for (const EventFamily& events : families_of(view, plan)) {
        PublishedFamily published = family_of(part, events, view, rows);
        if (!published.runs.empty()) add_family(std::move(published), families);
      }
    }
  }
  PublishedFamily weights{head_of(kWeights), {}};
  for (const ScopeView& view : scopes) add_weights(view, rows, weights.runs);
  families.push_back(std::move(weights));
}

std::vector<FamilyEntry> evidence_families() {
  std::vector<FamilyEntry> families;
  for (const GroupFamily& each : kGroupFamilies) families.push_back(each.family);
  families.push_back(kWeights);
  return families;
}

}  // namespace pex::exposition
