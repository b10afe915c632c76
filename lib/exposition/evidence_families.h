#pragma once

#include <string_view>
#include <vector>

#include "collect/counting_plan.h"
#include "exposition/catalogue.h"

namespace pex::exposition {

/// How well a snapshot was counted: perf_group_*, perf_event_*. Groups that are there for others'
/// sake are left out, as is what CountingPlan::evidence does not ask for. What is appended to
/// `families` borrows from `plan` and `rows`.
void add_evidence(const collect::CountingPlan& plan, const RowLabels& rows,
                  std::vector<PublishedFamily>& families);

/// What there is of it, for the documents.
struct EvidenceEntry {
  FamilyEntry family;
  std::string_view only;  ///< of which groups, in Markdown; empty: of all
};
std::vector<EvidenceEntry> group_evidence();
std::vector<EvidenceEntry> event_evidence();

}  // namespace pex::exposition
