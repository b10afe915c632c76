#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/counting_plan.h"
#include "collect/poll_report.h"
#include "exposition/family.h"

namespace prometheus {
class Counter;
class Registry;
template <typename Metric>
class Family;
}  // namespace prometheus

namespace pex::exposition {

/// What there is of these, for the documents.
std::vector<FamilyRow> trouble_families();

/// What was wrong with the readings of each configured group, as counters of a registry.
class GroupTroubles {
 public:
  /// `registry` outlives it.
  explicit GroupTroubles(prometheus::Registry& registry);

  /// Adds what `report` tells. Published groups of a plan other than the last start at 0, so that
  /// the first increase is seen as one.
  void add(const collect::PollReport& report,
           const std::shared_ptr<const collect::CountingPlan>& plan);

 private:
  void add(const std::string& group, const collect::PollReport::GroupTrouble& trouble);
  void start(const collect::CountingPlan& plan);

  std::vector<prometheus::Family<prometheus::Counter>*> families_;  ///< one for each kind
  std::weak_ptr<const collect::CountingPlan> plan_;                 ///< whose groups are all known
};

}  // namespace pex::exposition
