#include "daemon/service/capability_needs.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "events/event_syntax.h"
#include "host/kernel_version.h"
#include "host/permissions.h"
#include "plan/load_plan.h"

namespace pex::daemon {
namespace {

using Needs = CapabilityNeeds;

bool has(const Needs& needs, unsigned capability) {
  return (needs.permitted >> capability & 1) != 0;
}

struct KeptEntry {
  unsigned bit;
  bool (*is_kept)(const Needs&);
};
constexpr KeptEntry kKept[] = {
    {CAP_PERFMON, [](const Needs&) { return true; }},
    {CAP_SYS_ADMIN,
     [](const Needs& needs) {
       return needs.counts_as_admin || !needs.is_root || !has(needs, CAP_PERFMON);
     }},
    // Cgroups, certificates and tracefs that belong to other users.
    {CAP_DAC_READ_SEARCH, [](const Needs&) { return true; }},
    {CAP_DAC_OVERRIDE,
     [](const Needs& needs) {
       return needs.makes_socket_files || !has(needs, CAP_DAC_READ_SEARCH);
     }},
    {CAP_NET_BIND_SERVICE, [](const Needs& needs) { return needs.listens_on_ports; }},
    // Buffers of records that are larger than what all may lock.
    {CAP_IPC_LOCK, [](const Needs&) { return true; }},
    {CAP_SYS_PTRACE, [](const Needs& needs) { return needs.looks_at_processes; }},
};

/// Addresses of the kernel are those of the upper half, on every architecture of 64 bits.
constexpr std::uint64_t kFirstKernelAddress = std::uint64_t{1} << 63;

bool needs_admin(const events::ParsedEvent& event) {
  if (const auto* probe = std::get_if<events::Probe>(&event.kind)) return !probe->in_kernel;
  const auto* breakpoint = std::get_if<events::Breakpoint>(&event.kind);
  return breakpoint != nullptr && breakpoint->address >= kFirstKernelAddress;
}

bool needs_admin(const config::EventEntry& entry) {
  const auto parsed = events::parse_events(entry.spelling);
  return parsed && std::any_of(parsed->events.begin(), parsed->events.end(),
                               [](const events::ParsedEvent& event) { return needs_admin(event); });
}

bool machine_asks_for_admin(const host::HostRoots& roots) {
  const auto level = host::read_sysctl(roots, "kernel/perf_event_paranoid");
  const auto version = host::parse_kernel_version(host::kernel_release());
  return (level && *level > host::kHighestUpstreamParanoid) ||
         (version && *version < host::kPerfmonSince);
}

bool is_socket_file(std::string_view address) { return address.starts_with("unix:"); }

}  // namespace

bool needs_admin(const config::Config& config) {
  return std::any_of(config.groups.begin(), config.groups.end(), [](const config::Group& group) {
    return std::any_of(group.events.begin(), group.events.end(),
                       [](const config::EventEntry& entry) { return needs_admin(entry); });
  });
}

CapabilityNeeds capability_needs(const Options& options) {
  std::vector<std::string> addresses = options.listen_addresses;
  if (!options.health_address.empty()) addresses.push_back(options.health_address);
  const auto files = std::count_if(addresses.begin(), addresses.end(), is_socket_file);
  const Result<config::Loaded> loaded = plan::load_config(options.config_file);
  CapabilityNeeds needs;
  needs.is_root = ::geteuid() == 0;
  needs.permitted = host::own_permissions().permitted.value_or(host::CapabilitySet{}).bits;
  needs.makes_socket_files = files > 0;
  needs.looks_at_processes = options.doctor;
  needs.listens_on_ports = static_cast<std::size_t>(files) < addresses.size();
  needs.counts_as_admin = machine_asks_for_admin(options.roots) ||
                          needs_admin(loaded ? loaded->config : config::Config{});
  return needs;
}

std::uint64_t capabilities_kept(const CapabilityNeeds& needs) {
  std::uint64_t kept = 0;
  for (const KeptEntry& row : kKept) {
    if (row.is_kept(needs)) kept |= std::uint64_t{1} << row.bit;
  }
  return kept;
}

}  // namespace pex::daemon
