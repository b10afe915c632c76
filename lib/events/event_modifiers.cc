#include "events/event_modifiers.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pex::events {
namespace {

/// The effect of a choice of modifiers on the name of a metric and its help.
struct ModifierEntry {
  bool (*chosen)(const Modifiers&);
  std::string_view metric;
  std::string_view help;
};

template <bool user, bool kernel, bool hypervisor>
bool modes(const Modifiers& m) {
  return m.user == user && m.kernel == kernel && m.hypervisor == hypervisor;
}
bool host(const Modifiers& m) { return m.host; }
bool guest(const Modifiers& m) { return m.guest; }
bool not_idle(const Modifiers& m) { return m.not_idle; }

/// In the order in which they are added.
constexpr ModifierEntry kModifierWords[] = {
    {modes<true, false, false>, "_user", ", in user mode"},
    {modes<false, true, false>, "_kernel", ", in the kernel"},
    {modes<false, false, true>, "_hypervisor", ", in the hypervisor"},
    {modes<true, true, false>, "_user_kernel", ", without the hypervisor"},
    {modes<true, false, true>, "_user_hypervisor", ", without the kernel"},
    {modes<false, true, true>, "_kernel_hypervisor", ", without user mode"},
    {host, "_host", ", outside of virtual machines"},
    {guest, "_guest", ", inside of virtual machines"},
    {not_idle, "_not_idle", ", while not idle"},
};

bool any(const Modifiers& m) { return m != Modifiers{}; }
bool some_mode(const Modifiers& m) { return m.user || m.kernel || m.hypervisor; }
bool without_kernel(const Modifiers& m) { return some_mode(m) && !m.kernel; }
bool hypervisor_alone(const Modifiers& m) { return modes<false, false, true>(m); }
bool beyond_modes(const Modifiers& m) { return m.host || m.guest || m.not_idle; }

struct Refusal {
  ModifierSupport support;
  bool (*applies)(const Modifiers&);
  std::string_view why;
};
constexpr std::string_view kOnlyUserAndKernel = ": the kernel ignores H, G and I of this event";
constexpr Refusal kRefusals[] = {
    {ModifierSupport::kCoreOfX86, hypervisor_alone,
     " would always be 0: an x86 CPU counts in user mode and in the kernel"},
    {ModifierSupport::kCoreOfX86, not_idle, ": an x86 CPU counts while idle, too"},
    {ModifierSupport::kIgnored, any, ": the kernel ignores modifiers of this event"},
    {ModifierSupport::kWholePmu, any, ": the PMU counts for all modes"},
    {ModifierSupport::kAlwaysKernel, without_kernel,
     " would always be 0: it happens in the kernel alone"},
    {ModifierSupport::kAlwaysKernel, beyond_modes, kOnlyUserAndKernel},
    {ModifierSupport::kTracepoint, without_kernel,
     ": without k, no hit of a tracepoint is counted, or each one if it is of a system call"},
    {ModifierSupport::kTracepoint, beyond_modes, kOnlyUserAndKernel},
    {ModifierSupport::kUserKernel, hypervisor_alone,
     " would always be 0: it never happens in the hypervisor"},
    {ModifierSupport::kUserKernel, beyond_modes, kOnlyUserAndKernel},
};

/// From sysfs and not from the build, as the sysfs may be that of another machine: no other
/// architecture's core PMU has both of these formats.
bool is_of_x86(const Pmu& core) {
  return core.formats.contains("umask") && core.formats.contains("inv");
}

void set_flags(const Modifiers& modifiers, perf::EventAttributes& attributes) {
  if (some_mode(modifiers)) {
    attributes.exclude_user = !modifiers.user;
    attributes.exclude_kernel = !modifiers.kernel;
    attributes.exclude_hypervisor = !modifiers.hypervisor;
  }
  attributes.exclude_host = modifiers.guest;
  attributes.exclude_guest = modifiers.host;
  attributes.exclude_idle = modifiers.not_idle;
}

}  // namespace

Modifiers effective(Modifiers modifiers) {
  Modifiers kept;
  if (!(modifiers.user && modifiers.kernel && modifiers.hypervisor)) {
    kept.user = modifiers.user;
    kept.kernel = modifiers.kernel;
    kept.hypervisor = modifiers.hypervisor;
  }
  kept.host = modifiers.host && !modifiers.guest;
  kept.guest = modifiers.guest && !modifiers.host;
  kept.not_idle = modifiers.not_idle;
  return kept;
}

ModifierSupport on_machine(const PmuCatalogue& pmus, ModifierSupport support) {
  const std::vector<const Pmu*> cores = pmus.core_pmus();
  const bool is_x86 =
      std::any_of(cores.begin(), cores.end(), [](const Pmu* core) { return is_of_x86(*core); });
  return is_x86 && support == ModifierSupport::kAll ? ModifierSupport::kCoreOfX86 : support;
}

std::optional<std::string_view> refusal_of(const Modifiers& effective, ModifierSupport support) {
  for (const Refusal& row : kRefusals) {
    if (row.support == support && row.applies(effective)) return row.why;
  }
  return {};
}

void apply(const Modifiers& effective, EventSpec& spec) {
  for (EventInstance& instance : spec.instances) set_flags(effective, instance.attributes);
  std::string& help = spec.identity.help;
  help.pop_back();
  for (const ModifierEntry& row : kModifierWords) {
    if (!row.chosen(effective)) continue;
    spec.identity.metric += row.metric;
    help += row.help;
  }
  help += '.';
}

}  // namespace pex::events
