#pragma once

#include <string_view>
#include <vector>

#include "count/snapshot.h"
#include "exposition/catalogue.h"

namespace pex::exposition {

/// The evidence of a snapshot: perf_group_*, perf_*_observed_*, perf_*_variance_*,
/// perf_event_reference_weight_ratio. Without auxiliary groups, and without
/// what CountingPlan::evidence does not request. Appended families borrow from the plan of
/// `snapshot` and from `rows`.
void add_evidence(const collect::Snapshot& snapshot, const RowLabels& rows,
                  std::vector<PublishedFamily>& families);

/// Those with names of their own; the others have that of a family of events in their name.
std::vector<FamilyEntry> evidence_families();

}  // namespace pex::exposition
