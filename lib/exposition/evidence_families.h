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

/// A family of the evidence, for the documents.
struct EvidenceEntry {
  FamilyEntry family;
  std::string_view only;  ///< the groups that have it, in Markdown; empty: all
};
std::vector<EvidenceEntry> group_evidence();
std::vector<EvidenceEntry> event_evidence();

}  // namespace pex::exposition
