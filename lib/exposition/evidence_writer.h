#pragma once

#include <string>
#include <vector>

#include "collect/snapshot.h"
#include "exposition/metric_names.h"
#include "exposition/row_labels.h"

namespace pex::exposition {

/// The labels of the evidence of one scope, but for those of the rows; in the order of the plan.
struct EvidenceLabels {
  EvidenceLabels() = default;
  EvidenceLabels(Scope scope, const collect::ScopePlan& plan);

  std::vector<std::string> groups;   ///< `group="core",pmu="cpu_core"`
  std::vector<std::string> columns;  ///< `group="core",event="cycles"`, and those of the event
  std::vector<std::string> weights;  ///< `scope="cpu"`, and those of the column
};

/// How well a snapshot was counted, in the text format: perf_group_*, perf_event_*. Groups that are
/// there for others' sake are left out, as is what CountingPlan::evidence does not ask for.
class EvidenceWriter {
 public:
  EvidenceWriter() = default;
  explicit EvidenceWriter(const collect::CountingPlan& plan);

  /// Appends to `text`. The plan of `snapshot` is the one that this was made of.
  void write(const collect::Snapshot& snapshot, const RowLabels& rows, std::string& text) const;

 private:
  EvidenceLabels cpu_;
  EvidenceLabels cgroup_;
};

}  // namespace pex::exposition
