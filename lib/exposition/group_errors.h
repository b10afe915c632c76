#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <memory>
#include <string>

#include "targets/counting_plan.h"
#include "targets/poll_report.h"

namespace pex::exposition {

/// Errors in the readings of each group, added up over all polls.
class GroupErrors {
 public:
  /// Adds the errors in `report`. Groups that are not in `plan` are dropped.
  void add(const collect::PollReport& report,
           const std::shared_ptr<const collect::CountingPlan>& plan);

  /// A sample for each error that has happened: most never do, and each group could have all.
  prometheus::MetricFamily collect() const;

 private:
  void forget_all_but(const collect::CountingPlan& plan);

  std::map<std::string, collect::PollReport::GroupErrors> totals_;  ///< by the name of the group
  std::shared_ptr<const collect::CountingPlan> plan_;               ///< of the last report
};

}  // namespace pex::exposition
