#include "plan/group_parts.h"

#include <algorithm>

namespace pex::plan {
namespace {

GroupPart& part_of(std::vector<GroupPart>& parts, const std::string& pmu) {
  const auto known = std::find_if(parts.begin(), parts.end(),
                                  [&](const GroupPart& part) { return part.pmu == pmu; });
  return known != parts.end() ? *known : parts.emplace_back(GroupPart{pmu, {}});
}

bool is_bound_to(const events::EventSpec& event, const std::string& pmu) {
  return std::any_of(event.instances.begin(), event.instances.end(),
                     [&](const events::EventInstance& instance) { return instance.pmu == pmu; });
}

bool covers_every_cpu(std::span<const events::EventSpec> events,
                      std::span<const std::string> core_pmus) {
  return !core_pmus.empty() &&
         std::all_of(core_pmus.begin(), core_pmus.end(), [&](const std::string& pmu) {
           return std::any_of(events.begin(), events.end(),
                              [&](const auto& event) { return is_bound_to(event, pmu); });
         });
}

}  // namespace

std::vector<GroupPart> parts_by_pmu(std::span<const events::EventSpec> events,
                                    std::span<const std::string> core_pmus) {
  const bool hybrid = covers_every_cpu(events, core_pmus);
  std::vector<GroupPart> parts;
  for (std::size_t event = 0; event < events.size(); ++event) {
    const std::vector<events::EventInstance>& instances = events[event].instances;
    for (std::size_t instance = 0; instance < instances.size(); ++instance) {
      const GroupPart::Member member{event, instance};
      if (!hybrid || !instances[instance].pmu.empty()) {
        part_of(parts, instances[instance].pmu).members.push_back(member);
        continue;
      }
      for (const std::string& pmu : core_pmus) part_of(parts, pmu).members.push_back(member);
    }
  }
  return parts;
}

}  // namespace pex::plan
