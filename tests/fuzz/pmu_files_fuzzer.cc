#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "events/event_resolver.h"
#include "events/event_syntax.h"
#include "events/pmu.h"
#include "events/pmu_format.h"
#include "fuzz/file_tree.h"
#include "fuzz/fuzzing.h"
#include "plan/machine/machine_description.h"

namespace {

using pex::events::EventResolver;
using pex::events::FormatField;
using pex::events::Pmu;
using pex::events::PmuNamedEvent;
using pex::fuzz::require;

constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

void check_format(const FormatField& field) {
  require(field.word < pex::events::kConfigWords.size());
  require(!field.ranges.empty() && field.width() <= 64);
  for (const FormatField::BitRange& range : field.ranges) {
    require(range.first <= range.last && range.last < 64);
  }
  require(static_cast<unsigned>(std::popcount(field.spread(kAllBits))) == field.width());
  require(field.spread(0) == 0);
}

void check_resolved(const EventResolver& resolver, const std::string& text) {
  const auto parsed = pex::events::parse_events(text);
  if (!parsed) return;
  for (const pex::events::ParsedEvent& event : parsed->events) {
    const auto specs = resolver.resolve(event);
    if (!specs) {
      require(!specs.error().error.attempted.empty());
      continue;
    }
    require(!specs->empty());
    for (const pex::events::EventSpec& spec : *specs) {
      require(!spec.instances.empty() && !spec.identity.metric.empty());
      require(std::isfinite(spec.identity.scale) && spec.identity.scale > 0);
    }
  }
}

void check_event(const EventResolver& resolver, const std::string& pmu,
                 const std::pair<const std::string, PmuNamedEvent>& event) {
  require(std::isfinite(event.second.scale) && event.second.scale >= 0);
  require(!event.second.terms.empty());
  check_resolved(resolver, pmu + "/" + event.first + "/");
  check_resolved(resolver, pmu + "/" + event.second.terms + "/");
  check_resolved(resolver, event.first);
}

void check_pmu(const EventResolver& resolver, const Pmu& pmu) {
  const auto matching = resolver.pmus().matching(pmu.name);
  require(std::find(matching.begin(), matching.end(), &pmu) != matching.end());
  require(resolver.pmus().find(pmu.name) == &pmu);
  require(std::is_sorted(pmu.cpus.begin(), pmu.cpus.end()));
  for (const auto& [name, field] : pmu.formats) check_format(field);
  for (const auto& event : pmu.events) check_event(resolver, pmu.name, event);
  (void)pex::events::read_pmu_cpus(resolver.roots(), pmu.name);
}

}  // namespace

/// Files of PMUs with any content give PMUs that attributes can be made of, or are left out.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const pex::fuzz::FileTree tree{pex::fuzz::text_of(data, size)};

  const auto resolver = EventResolver::create(tree.roots());
  if (!resolver) return 0;

  for (const Pmu& pmu : resolver->pmus().pmus()) check_pmu(*resolver, pmu);
  for (const char* const event : {"cycles", "r01c2", "LLC-load-misses", "cpu/cycles/u"}) {
    check_resolved(*resolver, event);
  }
  (void)pex::plan::describe_machine(tree.roots());
  return 0;
}
