// What events become on this machine, for comparison with what others make of them.
//
//   print_attributes EVENT...
//
// One line for each counter, the event as it was spelled and its fields of perf_event_attr:
//   cycles:u type=0 config=0x0 config1=0x0 ... exclude_user=0 exclude_kernel=1 ...
// An event that cannot be asked for has the line "EVENT: why", and makes the exit status 1.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

#include "events/event_resolver.h"

namespace {

using pex::perf::EventAttributes;

void print(const std::string& spelling, const EventAttributes& attributes) {
  std::printf("%s type=%" PRIu32, spelling.c_str(), attributes.type);
  std::printf(" config=0x%" PRIx64 " config1=0x%" PRIx64, attributes.config, attributes.config1);
  std::printf(" config2=0x%" PRIx64 " config3=0x%" PRIx64, attributes.config2, attributes.config3);
  std::printf(" bp_type=%" PRIu32, attributes.breakpoint);
  std::printf(" exclude_user=%d exclude_kernel=%d exclude_hv=%d", attributes.exclude_user,
              attributes.exclude_kernel, attributes.exclude_hypervisor);
  std::printf(" exclude_idle=%d exclude_host=%d exclude_guest=%d\n", attributes.exclude_idle,
              attributes.exclude_host, attributes.exclude_guest);
}

bool fail(const std::string& spelling, const std::string& why) {
  std::printf("%s: %s\n", spelling.c_str(), why.c_str());
  return false;
}

bool print_event(const pex::events::EventResolver& resolver, const std::string& spelling) {
  const auto parsed = pex::events::parse_events(spelling);
  if (!parsed) return fail(spelling, parsed.error().what);
  for (const pex::events::ParsedEvent& event : parsed->events) {
    const auto specs = resolver.resolve(event);
    if (!specs) return fail(spelling, pex::describe(specs.error().error));
    for (const pex::events::EventSpec& spec : *specs) {
      for (const auto& instance : spec.instances) print(spelling, instance.attributes);
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto resolver = pex::events::EventResolver::create({});
  if (!resolver) {
    std::fprintf(stderr, "%s\n", pex::describe(resolver.error()).c_str());
    return 2;
  }
  bool all_resolved = true;
  for (int i = 1; i < argc; ++i) all_resolved &= print_event(*resolver, argv[i]);
  return all_resolved ? 0 : 1;
}
