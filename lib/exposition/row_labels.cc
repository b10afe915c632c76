#include "exposition/row_labels.h"

#include <string_view>

#include "exposition/labels.h"

namespace pex::exposition {
namespace {

/// The labels of a host row, in the order of row_labels().
std::string host_labels(collect::Aggregation aggregation, const host::CpuPlace& place) {
  struct Row {
    std::string_view name;
    int host::CpuPlace::*number;
  };
  static constexpr Row kNumbers[] = {{"cpu", &host::CpuPlace::cpu},
                                     {"core", &host::CpuPlace::core},
                                     {"die", &host::CpuPlace::die},
                                     {"package", &host::CpuPlace::package},
                                     {"node", &host::CpuPlace::node}};
  std::string labels;
  for (const std::string_view name : row_labels(aggregation)) {
    for (const Row& row : kNumbers) {
      if (row.name != name) continue;
      labels = join_labels({labels, label(name, std::to_string(place.*row.number))});
    }
  }
  return labels;
}

}  // namespace

RowLabels::RowLabels(const collect::Snapshot& snapshot) {
  for (std::size_t i = 0; i < collect::kAggregations; ++i) {
    for (const collect::HostRow& row : snapshot.host_rows[i]) {
      host_[i].push_back(host_labels(static_cast<collect::Aggregation>(i), row.place));
    }
  }
  std::vector<std::string> identities;
  for (const collect::CgroupTarget& target : snapshot.targets->cgroups) {
    identities.push_back(identity_of(target));
  }
  for (const collect::CgroupRow& row : snapshot.cgroup_rows) {
    const std::string cpu = row.cpu ? label("cpu", std::to_string(*row.cpu)) : "";
    cgroups_.push_back(join_labels({identities[row.target], cpu}));
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
