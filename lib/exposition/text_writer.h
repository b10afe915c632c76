#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/snapshot.h"
#include "exposition/cgroup_info.h"
#include "exposition/evidence_writer.h"
#include "exposition/metric_names.h"
#include "exposition/row_labels.h"

namespace pex::exposition {

/// A snapshot in the Prometheus text format 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats). Values are exact: counts as integers,
/// clocks as seconds with up to nine decimals. A row without a value is left out; the times of its
/// groups are the evidence why. Keeps the escaped labels of the last plan and targets, so that
/// writing is copying; not thread-safe.
class TextWriter {
 public:
  /// Appends to `text`.
  void write(const collect::Snapshot& snapshot, std::string& text);

 private:
  void remember(const collect::Snapshot& snapshot);

  std::weak_ptr<const collect::TargetSet>
      targets_;  ///< not held: it keeps cgroups from being freed
  RowLabels rows_;
  std::weak_ptr<const collect::CountingPlan> plan_;  ///< that the families borrow from
  std::vector<EventFamily> cpu_families_;
  std::vector<EventFamily> cgroup_families_;
  CgroupInfo cgroup_info_;
  EvidenceWriter evidence_;
};

}  // namespace pex::exposition
