#include "exposition/row_labels.h"

#include <string_view>

#include "exposition/labels.h"

namespace pex::exposition {
namespace {

/// The labels of a host row, in the order of labels_of().
std::string host_labels(Aggregation aggregation, const host::CpuPlace& place) {
  std::string labels;
  for (const std::string_view name : labels_of(aggregation)) {
    for (const host::CpuPlacePart& part : host::kCpuPlaceParts) {
      if (part.label != name) continue;
      labels = join_labels({labels, label(name, std::to_string(place.*part.number))});
    }
  }
  return labels;
}

std::string labels_of_sum(const collect::SumPlan& sum, const collect::SumRow& row) {
  if (row.of_series) return identity_of(row.values.front(), *row.of_series);
  std::string labels;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    labels = join_labels({labels, label(sum.labels[i], row.values[i])});
  }
  return labels;
}

}  // namespace

void Rows::add(std::string_view labels, Clock::time_point since) {
  (text_ += labels) += kClosing;
  ends_.push_back(text_.size());
  since_.push_back(since);
}

RowLabels::RowLabels(const collect::Snapshot& snapshot) {
  const collect::TargetSet& targets = *snapshot.targets;
  unnamed_.add("", targets.since);
  for (std::size_t i = 0; i < kAggregations; ++i) {
    for (const collect::HostRow& row : snapshot.host_rows[i]) {
      host_[i].add(host_labels(static_cast<Aggregation>(i), row.place), targets.since);
    }
  }
  const std::vector<collect::SumPlan>& sums = snapshot.plan->sums;
  const bool is_folded = !sums.empty() && sums.back().is_series;
  const auto is_shared = [&](const collect::CgroupTarget& target) {
    return is_folded && target.description->of_series;
  };
  std::vector<std::string> identities;
  for (const collect::CgroupTarget& target : targets.cgroups) {
    const bool is_named = !target.is_free() && !is_shared(target);
    identities.push_back(is_named ? identity_of(target.path, *target.description) : "");
    if (!is_named || !target.is_published) continue;
    information_.add(with_labels(identities.back(), target.description->information), target.since);
  }
  for (const collect::CgroupRow& row : snapshot.cgroup_rows) {
    if (is_shared(targets.cgroups[row.target])) {
      cgroups_.add_hidden();
      continue;
    }
    const std::string cpu = row.cpu ? label("cpu", std::to_string(*row.cpu)) : "";
    cgroups_.add(join_labels({identities[row.target], cpu}), targets.cgroups[row.target].since);
  }
  for (std::size_t number = 0; number < snapshot.sums.size(); ++number) {
    Rows& rows = sums_.emplace_back();
    for (const collect::SumRow& row : snapshot.sums[number].rows) {
      const std::string labels = labels_of_sum(sums[number], row);
      rows.add(labels, row.since);
      if (row.of_series)
        information_.add(with_labels(labels, row.of_series->information), row.since);
    }
  }
}

std::string identity_of(std::string_view path, const cgroup::Description& description) {
  return with_labels(label("cgroup", path), description.identity);
}

}  // namespace pex::exposition
