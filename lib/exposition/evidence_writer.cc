#include "exposition/evidence_writer.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "exposition/labels.h"
#include "exposition/text_format.h"

namespace pex::exposition {
namespace {

using collect::GroupTimes;

std::string labels_of_group(const collect::GroupPlan& group) {
  const std::string pmu = group.pmu.empty() ? "" : label("pmu", group.pmu);
  return join_labels({label("group", group.name), pmu});
}

std::string labels_of_column(const collect::Column& column, const collect::ScopePlan& plan) {
  return join_labels({label("group", plan.groups[column.parts.front().group].name),
                      label("event", column.event.name), labels_of_event(column.event)});
}

/// One scope of a snapshot.
struct ScopeView {
  const collect::ScopePlan& plan;
  std::span<const collect::GroupTable> tables;
  const EvidenceLabels& labels;
  const RowLabels& rows;
  Scope scope;

  const RowLabels::Rows& rows_of(collect::Aggregation aggregation) const {
    return rows.of(scope, aggregation);
  }
};

/// A family with a sample for each row of each group.
struct GroupFamily {
  std::string_view name;
  std::string_view help;
  std::string_view type;
  bool (*has)(const collect::GroupPlan&, const collect::Evidence&);
  bool (*has_row)(const collect::GroupRow&);
  void (*append)(std::string& text, const collect::GroupRow& row);
};

template <std::chrono::nanoseconds GroupTimes::*time>
void append_time(std::string& text, const collect::GroupRow& row) {
  append_seconds(text, static_cast<std::uint64_t>((row.times.*time).count()));
}

template <double GroupTimes::*count>
void append_count(std::string& text, const collect::GroupRow& row) {
  append_double(text, std::floor(row.times.*count));
}

void append_coverage(std::string& text, const collect::GroupRow& row) {
  append_double(text, static_cast<double>(row.counted_on) / static_cast<double>(row.wanted_on));
}

bool has_times(const collect::GroupRow& row) { return row.has_times; }

bool always(const collect::GroupPlan&, const collect::Evidence&) { return true; }
bool off_pmu(const collect::GroupPlan& group, const collect::Evidence&) { return group.shares_pmu; }
bool has_reference(const collect::GroupPlan& group, const collect::Evidence& evidence) {
  return evidence.reference && group.witnesses.reference.has_value();
}

constexpr GroupFamily kGroupFamilies[] = {
    {"perf_group_enabled_seconds_total",
     "Time for which a group of events wanted the PMU; for a cgroup only while its tasks ran.",
     "counter", always, has_times, append_time<&GroupTimes::enabled>},
    {"perf_group_running_seconds_total",
     "Time for which a group of events had the PMU; counts for the rest of the time enabled are "
     "estimates.",
     "counter", always, has_times, append_time<&GroupTimes::running>},
    {"perf_group_imputed_seconds_total",
     "Time enabled of polls in which a group never had the PMU, for which its recent rates were "
     "taken; at most 60 s in a row, but where the exporter itself lets groups take turns.",
     "counter", off_pmu, has_times, append_time<&GroupTimes::imputed>},
    {"perf_group_unmeasured_seconds_total",
     "Time enabled that is in no count at all: without the PMU for too long, or a pinned group "
     "without its place.",
     "counter", off_pmu, has_times, append_time<&GroupTimes::unmeasured>},
    {"perf_group_reference_total", "Events of the activity reference while the group was enabled.",
     "counter", has_reference, has_times, append_count<&GroupTimes::reference>},
    {"perf_group_reference_sampled_total",
     "Events of the activity reference while the group had the PMU.", "counter", has_reference,
     has_times, append_count<&GroupTimes::reference_sampled>},
    {"perf_group_coverage_ratio",
     "Part of the CPUs of a row on which a group is counted, where that is not all of them; its "
     "values are not published meanwhile, as they would lack the rest.",
     "gauge", always, collect::lacks_coverage, append_coverage},
};

void write_rows(LateFamily& samples, const GroupFamily& family, const ScopeView& scope,
                std::size_t group) {
  const RowLabels::Rows& rows = scope.rows_of(scope.plan.groups[group].aggregation);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const collect::GroupRow& of_row = scope.tables[group].rows[row];
    if (!family.has_row(of_row)) continue;
    std::string& text = samples.start(scope.labels.groups[group], rows[row]);
    family.append(text, of_row);
    text += '\n';
  }
}

void write_family(std::string& text, const GroupFamily& family, const collect::Evidence& evidence,
                  std::span<const ScopeView> scopes) {
  LateFamily samples{text, family.name, family.help, family.type};
  for (const ScopeView& scope : scopes) {
    for (std::size_t group = 0; group < scope.plan.groups.size(); ++group) {
      const collect::GroupPlan& plan = scope.plan.groups[group];
      if (plan.is_published && family.has(plan, evidence)) {
        write_rows(samples, family, scope, group);
      }
    }
  }
}

/// A family with a sample for each row of each column that is estimated, beside its value.
struct ColumnFamily {
  std::string_view name;
  std::string_view help;
  bool (*has)(const collect::Evidence&);
  void (*append)(std::string& text, const collect::EventTotal& total, double scale);
};
constexpr ColumnFamily kColumnFamilies[] = {
    {"perf_event_observed_total",
     "Events that were really counted, in the unit of the event's own metric; the rest of that is "
     "extrapolated.",
     [](const collect::Evidence&) { return true; },
     [](std::string& text, const collect::EventTotal& total, double scale) {
       append_value(text, total.observed, scale);
     }},
    {"perf_event_variance_total",
     "Sum of the squared standard errors of the event's increments, in the unit of its metric "
     "squared.",
     [](const collect::Evidence& evidence) { return evidence.variance; },
     [](std::string& text, const collect::EventTotal& total, double scale) {
       append_double(text, total.variance * scale * scale);
     }},
};

void write_rows(LateFamily& samples, const ColumnFamily& family, const ScopeView& scope,
                std::size_t index) {
  const collect::Column& column = scope.plan.columns[index];
  const RowLabels::Rows& rows = scope.rows_of(column.aggregation);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::optional<collect::EventTotal> total = collect::value_of(column, scope.tables, row);
    if (!total) continue;
    std::string& text = samples.start(scope.labels.columns[index], rows[row]);
    family.append(text, *total, column.event.scale);
    text += '\n';
  }
}

void write_family(std::string& text, const ColumnFamily& family,
                  std::span<const ScopeView> scopes) {
  LateFamily samples{text, family.name, family.help};
  for (const ScopeView& scope : scopes) {
    for (std::size_t column = 0; column < scope.plan.columns.size(); ++column) {
      if (!collect::is_estimated(scope.plan.columns[column], scope.plan)) continue;
      write_rows(samples, family, scope, column);
    }
  }
}

/// One of each column, whatever its rows.
void write_reference_weights(std::string& text, std::span<const ScopeView> scopes) {
  LateFamily samples{text, "perf_event_reference_weight_ratio",
                     "How far an event follows the activity reference, as learned: 1 like the "
                     "reference, 0 like time.",
                     "gauge"};
  for (const ScopeView& scope : scopes) {
    for (std::size_t column = 0; column < scope.plan.columns.size(); ++column) {
      const collect::EventAt& part = scope.plan.columns[column].parts.front();
      const std::optional<double> weight = scope.tables[part.group].reference_weights[part.event];
      if (!weight) continue;
      append_double(samples.start(scope.labels.weights[column], ""), *weight);
      text += '\n';
    }
  }
}

}  // namespace

EvidenceLabels::EvidenceLabels(Scope scope, const collect::ScopePlan& plan) {
  for (const collect::GroupPlan& group : plan.groups) groups.push_back(labels_of_group(group));
  for (const collect::Column& column : plan.columns) {
    columns.push_back(labels_of_column(column, plan));
    weights.push_back(join_labels({label("scope", name_of(scope)), columns.back()}));
  }
}

EvidenceWriter::EvidenceWriter(const collect::CountingPlan& plan)
    : cpu_(Scope::kCpu, plan.cpu), cgroup_(Scope::kCgroup, plan.cgroup) {}

void EvidenceWriter::write(const collect::Snapshot& snapshot, const RowLabels& rows,
                           std::string& text) const {
  const collect::CountingPlan& plan = *snapshot.plan;
  const ScopeView scopes[] = {{plan.cpu, snapshot.cpu, cpu_, rows, Scope::kCpu},
                              {plan.cgroup, snapshot.cgroup, cgroup_, rows, Scope::kCgroup}};
  for (const GroupFamily& family : kGroupFamilies) {
    write_family(text, family, plan.evidence, scopes);
  }
  for (const ColumnFamily& family : kColumnFamilies) {
    if (family.has(plan.evidence)) write_family(text, family, scopes);
  }
  write_reference_weights(text, scopes);
}

}  // namespace pex::exposition
