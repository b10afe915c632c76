#pragma once

#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <vector>

#include "exposition/family.h"
#include "targets/counting_plan.h"
#include "targets/poll_report.h"

namespace pex::exposition {

/// The families of configured groups, for the documents.
std::vector<FamilyEntry> group_error_families();

/// Errors in the readings of each group, added up over all polls. Configured groups and their
/// pieces are published by their names, auxiliary groups in a family of the exporter.
class GroupErrors {
 public:
  /// Adds the errors in `report`. Groups that are new in `plan` start at 0, so that the first
  /// increase is visible; those that are no longer in it are dropped.
  void add(const collect::PollReport& report,
           const std::shared_ptr<const collect::CountingPlan>& plan);

  /// Appends the family of the auxiliary groups, and then those of the configured ones, in the
  /// order of the plan.
  void collect(std::vector<prometheus::MetricFamily>& families) const;

 private:
  struct Group {
    std::string name;
    collect::PollReport::GroupErrors total;
  };
  void follow(const collect::CountingPlan& plan);
  Group& find_or_add(const std::string& name);

  std::vector<Group> groups_;
  std::shared_ptr<const collect::CountingPlan> plan_;  ///< with the groups in groups_
};

}  // namespace pex::exposition
