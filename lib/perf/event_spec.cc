#include "perf/event_spec.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <optional>

#include "base/parse.h"

namespace pex::perf {
namespace {

std::string metric_name(std::string_view event) {
  std::string metric;
  for (const char c : event) {
    if (c == '-') {
      metric += '_';
    } else {
      metric += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return metric;
}

/// A named event before its modifiers.
struct Named {
  EventSpec spec;
  Filter filter = Filter::kHonoured;
};

std::optional<Named> find_event(std::string_view name) {
  for (const EventRow& row : generic_events()) {
    if (name.empty() || (name != row.name && name != row.alias)) continue;
    return Named{{std::string(row.name),
                  {row.type, row.config},
                  std::string(row.metric),
                  row.unit,
                  std::string(row.help)},
                 row.filter};
  }
  for (const CacheEvent& event : cache_events()) {
    if (name != event.name) continue;
    return Named{{event.name,
                  {PERF_TYPE_HW_CACHE, event.config},
                  metric_name(event.name),
                  Unit::kEvents,
                  event.help}};
  }
  return {};
}

Error unknown_event(std::string_view name) {
  std::vector<std::string> names = known_events();
  for (const EventRow& row : generic_events()) {
    if (!row.alias.empty()) names.emplace_back(row.alias);
  }
  const std::optional<std::string> meant = nearest(name, names);
  return Error{0, "there is no event '" + std::string(name) + "'",
               meant ? "did you mean '" + *meant + "'?" : "see 'perf_event_exporter list'"};
}

/// Restricts `named` to the mode that `modifiers` ask for.
Result<EventSpec> with_modifiers(Named named, std::string_view modifiers) {
  EventSpec& spec = named.spec;
  const std::string what = "'" + spec.name + ":" + std::string(modifiers) + "'";
  const bool user = modifiers.find('u') != std::string_view::npos;
  const bool kernel = modifiers.find('k') != std::string_view::npos;
  if (modifiers.empty() || modifiers.size() > 2 ||
      modifiers.find_first_not_of("uk") != std::string_view::npos ||
      std::count(modifiers.begin(), modifiers.end(), modifiers.front()) > 1) {
    return Error{0, what + " has modifiers that are not known", "write ':u', ':k' or ':uk'"};
  }
  if (named.filter == Filter::kIgnored) {
    return Error{0, what + ": the kernel ignores modifiers of this event",
                 "write '" + spec.name + "'"};
  }
  if (named.filter == Filter::kAlwaysKernel && !kernel) {
    return Error{0, what + " would always be 0: it happens in the kernel alone",
                 "write '" + spec.name + "'"};
  }
  spec.attributes.exclude_user = !user;
  spec.attributes.exclude_kernel = !kernel;
  spec.attributes.exclude_hypervisor = true;
  spec.name += user && kernel ? ":uk" : user ? ":u" : ":k";
  spec.metric += user && kernel ? "_user_kernel" : user ? "_user" : "_kernel";
  spec.help.pop_back();
  spec.help += user && kernel ? ", without the hypervisor."
               : user         ? ", in user mode."
                              : ", in the kernel.";
  return spec;
}

}  // namespace

Result<EventSpec> parse_event(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::optional<Named> named = find_event(name);
  if (!named) return unknown_event(name);
  if (colon == std::string_view::npos) return named->spec;
  return with_modifiers(std::move(*named), text.substr(colon + 1));
}

std::vector<std::string> known_events() {
  std::vector<std::string> names;
  for (const EventRow& row : generic_events()) names.emplace_back(row.name);
  for (const CacheEvent& event : cache_events()) names.push_back(event.name);
  return names;
}

}  // namespace pex::perf
