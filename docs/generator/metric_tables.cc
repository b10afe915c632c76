#include <vector>

#include "exposition/evidence_families.h"
#include "exposition/self_families.h"
#include "markdown.h"
#include "sections.h"

namespace pex::docs {
namespace {

using exposition::EvidenceEntry;
using exposition::FamilyEntry;
using exposition::FamilyType;

/// As the text format has it, which knows no info.
std::string_view type_of(const FamilyEntry& family) {
  if (family.type == FamilyType::kHistogram) return "histogram";
  return family.type == FamilyType::kCounter ? "counter" : "gauge";
}

std::string meaning_of(const FamilyEntry& family) {
  std::string meaning{family.help};
  if (!family.details.empty()) meaning += " " + std::string(family.details);
  return meaning;
}

template <typename Rows>
std::string families(const Rows& rows) {
  std::string text = table_head({"name", "type", "labels", "meaning"});
  for (const FamilyEntry& row : rows) {
    text += table_row({code(row.name), type_of(row), row.labels, meaning_of(row)});
  }
  return text;
}

std::string evidence(const std::vector<EvidenceEntry>& rows) {
  std::string text = table_head({"name", "type", "labels", "only of", "meaning"});
  for (const auto& [family, only] : rows) {
    text +=
        table_row({code(family.name), type_of(family), family.labels, only, meaning_of(family)});
  }
  return text;
}

}  // namespace

std::string group_evidence_table() { return evidence(exposition::group_evidence()); }
std::string event_evidence_table() { return evidence(exposition::event_evidence()); }
std::string self_table() { return families(exposition::kSelfFamilies); }
std::string process_table() { return families(exposition::kProcessFamilies); }

}  // namespace pex::docs
