#include <string>

#include "base/lookup.h"
#include "exposition/evidence_families.h"
#include "exposition/self_families.h"
#include "markdown.h"
#include "metric_texts.h"
#include "sections.h"

namespace pex::docs {
namespace {

using exposition::FamilyEntry;
using exposition::FamilyType;

/// As the text format has it, which knows no info.
std::string_view type_of(const FamilyEntry& family) {
  if (family.type == FamilyType::kHistogram) return "histogram";
  return family.type == FamilyType::kCounter ? "counter" : "gauge";
}

template <typename Texts>
MetricText text_of(const FamilyEntry& family, const Texts& texts) {
  const MetricText* const text = lookup(texts, &MetricText::name, family.name);
  return text == nullptr ? MetricText{} : *text;
}

std::string meaning_of(const FamilyEntry& family, std::string_view details) {
  return std::string(family.help) + (details.empty() ? "" : " ") + std::string(details);
}

template <typename Rows>
std::string families(const Rows& rows) {
  std::string table = table_head({"name", "type", "labels", "meaning"});
  for (const FamilyEntry& row : rows) {
    const MetricText text = text_of(row, kSelfTexts);
    table += table_row({code(row.name), type_of(row), text.labels, meaning_of(row, text.details)});
  }
  return table;
}

std::string evidence_head() { return table_head({"name", "type", "labels", "only of", "meaning"}); }

/// The rows of the families whose names begin so.
std::string evidence(std::string_view begin) {
  std::string rows;
  for (const FamilyEntry& row : exposition::evidence_families()) {
    if (!row.name.starts_with(begin)) continue;
    const MetricText text = text_of(row, kEvidenceTexts);
    rows += table_row(
        {code(row.name), type_of(row), text.labels, text.only, meaning_of(row, text.details)});
  }
  return rows;
}

/// A family for each family of events.
std::string evidence_of_events() {
  constexpr std::string_view kLabels = "those of the event's metric";
  return table_row({code("perf_<scope>_<event>_observed_total"), "counter", kLabels, kEstimated,
                    "Events that were counted, in the unit of the event's metric. The rest of "
                    "that metric is extrapolated."}) +
         table_row({code("perf_<scope>_<event>_variance_total"), "counter", kLabels,
                    "the same, with `evidence.variance`",
                    "Sum of the squared standard errors of the increments of the event's metric, "
                    "in its unit squared."});
}

}  // namespace

std::string group_evidence_table() { return evidence_head() + evidence("perf_group_"); }
std::string event_evidence_table() {
  return evidence_head() + evidence_of_events() + evidence("perf_event_");
}
std::string self_table() { return families(exposition::kSelfFamilies); }
std::string process_table() { return families(exposition::kProcessFamilies); }

}  // namespace pex::docs
