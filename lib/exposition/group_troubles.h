#pragma once

#include <map>
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
std::vector<FamilyEntry> trouble_families();

/// What was wrong with the readings of each group, as counters of a registry: of the configured
/// groups and their pieces by the name of the group, and of the groups that are there for the
/// others' sake in a family of the exporter.
class GroupTroubles {
 public:
  /// `registry` outlives it.
  explicit GroupTroubles(prometheus::Registry& registry);

  /// Adds what `report` tells. Groups that a plan has and the plan before had not start at 0, so
  /// that the first increase is seen as one; those that it has no more are forgotten.
  void add(const collect::PollReport& report,
           const std::shared_ptr<const collect::CountingPlan>& plan);

 private:
  using Family = prometheus::Family<prometheus::Counter>;
  using Counters = std::vector<prometheus::Counter*>;  ///< one for each kind
  void follow(const collect::CountingPlan& plan);
  Family& family_of(const std::string& group, std::size_t kind);
  Counters& counters_of(const std::string& group);

  std::vector<Family*> families_;  ///< of published groups, one for each kind
  Family* auxiliary_;              ///< of all kinds and groups that are not published
  std::map<std::string, Counters> groups_;
  std::weak_ptr<const collect::CountingPlan> plan_;  ///< whose groups are all known
};

}  // namespace pex::exposition
