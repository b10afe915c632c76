#include "plan/series_claims.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "exposition/metric_names.h"

namespace pex::plan {
namespace {

/// Families of the exporter itself, which no event may use: perf_group_..., perf_event_..., and
/// perf_cgroup_info, which OpenMetrics calls perf_cgroup.
constexpr std::string_view kOwnPrefixes[] = {"perf_group_", "perf_event_"};
constexpr std::string_view kOwnFamilies[] = {"perf_cgroup_total", "perf_cgroup_info_total",
                                             "perf_machine_total", "perf_machine_info_total"};

bool is_own(const std::string& family) {
  return std::any_of(std::begin(kOwnPrefixes), std::end(kOwnPrefixes),
                     [&](std::string_view prefix) { return family.starts_with(prefix); }) ||
         std::find(std::begin(kOwnFamilies), std::end(kOwnFamilies), family) !=
             std::end(kOwnFamilies);
}

/// The families that OpenMetrics cannot publish next to `family`. It calls the family "a_total" a,
/// and its samples a_total and a_created; no other family may be called so ("a_total_total",
/// "a_created_total").
std::vector<std::string> confusable(const std::string& family) {
  constexpr std::string_view kTotal = "_total";
  constexpr std::string_view kCreated = "_created";
  const std::string base = family.substr(0, family.size() - kTotal.size());
  std::vector<std::string> others = {family + std::string(kTotal),
                                     base + std::string(kCreated) + std::string(kTotal)};
  if (base.ends_with(kTotal)) others.push_back(base);
  if (base.ends_with(kCreated)) {
    others.push_back(base.substr(0, base.size() - kCreated.size()) + std::string(kTotal));
  }
  return others;
}

bool is_part_of(const std::string& part, const std::string& family) {
  return part == exposition::observed_family_name(family) ||
         part == exposition::variance_family_name(family);
}

std::string place_of(const yaml::Position& at) {
  return at.key + " in line " + std::to_string(at.line);
}

}  // namespace

/// Two events of one family with the same labels would be two samples of one series.
Result<> SeriesClaims::claim(Scope scope, const events::EventIdentity& event,
                             const yaml::Position& at) {
  const std::string family = exposition::family_name(scope, event);
  if (is_own(family)) {
    return Error{
        0, "'" + event.name + "' would be a second " + family + "; the first is the exporter's",
        "give it another name"};
  }
  const auto [first, is_new] = series_.try_emplace({family, event.labels}, at);
  if (!is_new) {
    return Error{0,
                 "'" + event.name + "' would be a second " + family + "; the first is " +
                     place_of(first->second),
                 "remove one of them, or count it in a separate group with a 'name'"};
  }
  if (const Result<> claimed = claim_family(scope, event, family, at); !claimed) return claimed;
  // The sum over PMUs of a kind, and one of them: a query over both would count it twice.
  const auto mixed = std::find_if(series_.begin(), series_.end(), [&](const auto& other) {
    return other.first.first == family && other.first.second.empty() != event.labels.empty();
  });
  if (mixed == series_.end()) return {};
  return Error{0,
               "'" + event.name + "' would be in " + family + " next to " +
                   place_of(mixed->second) + ", and one of them is a part of the other",
               "give it another name"};
}

/// A family belongs to one scope, and its name must not be OpenMetrics' name for a sample of
/// another one.
Result<> SeriesClaims::claim_family(Scope scope, const events::EventIdentity& event,
                                    const std::string& family, const yaml::Position& at) {
  const auto [mine, is_new] = families_.try_emplace(family, std::pair{scope, at});
  const auto& [first_scope, first_at] = mine->second;
  if (first_scope != scope) {
    return Error{0,
                 "'" + event.name + "' would be in " + family + " with what is counted by " +
                     std::string(name_of(first_scope)) + " as " + place_of(first_at),
                 "give it another name"};
  }
  if (!is_new) return {};
  const auto whole = std::find_if(families_.begin(), families_.end(), [&](const auto& other) {
    return is_part_of(family, other.first) || is_part_of(other.first, family);
  });
  if (whole != families_.end()) {
    return Error{0,
                 "'" + event.name + "' would be " + family + " next to " + whole->first + ", " +
                     place_of(whole->second.second) +
                     "; the exporter publishes evidence of one under the name of the other",
                 "give it another name"};
  }
  const std::vector<std::string> others = confusable(family);
  const auto taken = std::find_if(others.begin(), others.end(), [&](const std::string& other) {
    return families_.contains(other);
  });
  if (taken == others.end()) return {};
  return Error{0,
               "'" + event.name + "' would be " + family + " next to " + *taken + ", " +
                   place_of(families_.at(*taken).second) +
                   "; OpenMetrics gives a sample of one the name of the other",
               "give it another name"};
}

}  // namespace pex::plan
