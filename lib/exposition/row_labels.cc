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

std::string with_information(std::string labels, const collect::CgroupTarget& target) {
  for (const auto& [name, value] : target.description->information) {
    labels = join_labels({labels, label(name, value)});
  }
  return labels;
}

std::string labels_of_sum(const collect::SumPlan& sum, const collect::SumRow& row) {
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
  std::vector<std::string> identities;
  for (const collect::CgroupTarget& target : targets.cgroups) {
    identities.push_back(target.is_free() ? "" : identity_of(target));
    if (target.is_free() || !target.is_published) continue;
    information_.add(with_information(identities.back(), target), target.since);
  }
  for (const collect::CgroupRow& row : snapshot.cgroup_rows) {
    const std::string cpu = row.cpu ? label("cpu", std::to_string(*row.cpu)) : "";
    cgroups_.add(join_labels({identities[row.target], cpu}), targets.cgroups[row.target].since);
  }
  for (std::size_t number = 0; number < snapshot.sums.size(); ++number) {
    Rows& rows = sums_.emplace_back();
    for (const collect::SumRow& row : snapshot.sums[number].rows) {
      rows.add(labels_of_sum(snapshot.plan->sums[number], row), row.since);
    }
  }
}

std::string identity_of(const collect::CgroupTarget& target) {
  std::string labels = label("cgroup", target.path);
  for (const auto& [name, value] : target.description->identity) {
    labels = join_labels({labels, label(name, value)});
  }
  return labels;
}

}  // namespace pex::exposition
