#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <utility>

#include "events/event_draft.h"
#include "events/event_names.h"
#include "events/symbol_offset.h"
#include "host/tracing.h"

// What is counted where code or data is reached: tracepoints, breakpoints, probes.

namespace pex::events {
namespace {

std::vector<Draft> one_draft(std::string metric, std::string help,
                             const perf::EventAttributes& attributes) {
  EventIdentity identity;
  identity.metric = std::move(metric);
  identity.help = std::move(help);
  return {Draft{{identity, {{"", attributes}}}, ModifierSupport::kUserKernel}};
}

struct Access {
  bool read, write, execute;
  std::uint32_t flags;
  std::string_view letters;
  std::string_view help;  ///< what the address follows
};
constexpr Access kAccesses[] = {
    {true, false, false, HW_BREAKPOINT_R, "r", "Reads of "},
    {false, true, false, HW_BREAKPOINT_W, "w", "Writes to "},
    {true, true, false, HW_BREAKPOINT_RW, "rw", "Reads of and writes to "},
    {false, false, true, HW_BREAKPOINT_X, "x", "Executions of the instruction at "},
};
constexpr std::uint64_t kUsualLength = 4;

const Access* find_access(const Breakpoint& event) {
  for (const Access& row : kAccesses) {
    if (event.read == row.read && event.write == row.write && event.execute == row.execute) {
      return &row;
    }
  }
  return nullptr;
}

/// One of the two PMUs of probes.
struct ProbeKind {
  std::string_view pmu;
  std::string_view at_return;  ///< word for a probe at the return of a function
  std::string_view option;     ///< of the kernel's configuration
};
constexpr ProbeKind kKernelProbe{"kprobe", "kretprobe", "CONFIG_KPROBE_EVENTS"};
constexpr ProbeKind kUserProbe{"uprobe", "uretprobe", "CONFIG_UPROBE_EVENTS"};

/// Type and the bit for a return, which are the kernel's to choose.
Result<perf::EventAttributes, Unresolved> probe_attributes(const Machine& machine,
                                                           const ProbeKind& kind, bool at_return,
                                                           TextOffset at) {
  const std::string name(kind.pmu);
  const Pmu* pmu = machine.pmus.find(name);
  if (pmu == nullptr) {
    return not_here(at, ENOENT, "this machine has no PMU '" + name + "'",
                    "use a kernel that is built with " + std::string(kind.option));
  }
  perf::EventAttributes attributes;
  attributes.type = pmu->type;
  if (!at_return) return attributes;
  const auto format = pmu->formats.find("retprobe");
  if (format == pmu->formats.end() || format->second.word != 0) {
    return not_here(at, ENOENT, "the PMU '" + name + "' of this machine knows no returns", {});
  }
  attributes.config = format->second.spread(1);
  return attributes;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string with_offset(const Probe& probe) {
  if (probe.symbol.empty()) return hexadecimal(probe.offset);
  return probe.symbol + (probe.offset != 0 ? "+" + hexadecimal(probe.offset) : "");
}

std::string help_of(const Probe& probe) {
  const std::string place = with_offset(probe) + (probe.in_kernel ? "" : " in " + probe.file);
  return (probe.at_return ? "Returns from " : "Hits of ") + place + ".";
}

}  // namespace

Drafts draft(const Machine& machine, const Tracepoint& event, TextOffset at) {
  const std::string name = event.system + ":" + event.name;
  const Result<std::uint64_t> id = host::tracepoint_id(machine.roots, event.system, event.name);
  if (!id) return Unresolved{false, at, id.error()};
  perf::EventAttributes attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = *id;
  return one_draft(metric_word(name), "Hits of the tracepoint " + name + ".", attributes);
}

Drafts draft(const Machine&, const Breakpoint& event, TextOffset at) {
  const Access* access = find_access(event);
  if (access == nullptr) {
    return mistake(at, "a breakpoint is for execution or for data, not for both",
                   "write ':r', ':w', ':rw' or ':x'");
  }
  perf::EventAttributes attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.breakpoint = access->flags;
  attributes.config1 = event.address;
  attributes.config2 = event.length;

  const std::string address = hexadecimal(event.address);
  const bool tells_length = !event.execute && event.length != kUsualLength;
  const std::string length = std::to_string(event.length);
  const std::string bytes = event.execute ? "" : "the " + length + " bytes at ";
  return one_draft(
      "mem_" + address + (tells_length ? "_" + length : "") + "_" + std::string(access->letters),
      std::string(access->help) + bytes + address + ".", attributes);
}

Drafts draft(const Machine& machine, const Probe& event, TextOffset at) {
  const ProbeKind& kind = event.in_kernel ? kKernelProbe : kUserProbe;
  Result<perf::EventAttributes, Unresolved> attributes =
      probe_attributes(machine, kind, event.at_return, at);
  if (!attributes) return attributes.error();
  attributes->probe = event.in_kernel ? event.symbol : event.file;
  attributes->config2 = event.offset;
  if (!event.in_kernel && !event.symbol.empty()) {
    const Result<std::uint64_t> begin = symbol_offset(event.file, event.symbol);
    if (!begin) return Unresolved{false, at, begin.error()};
    attributes->config2 += *begin;
  }
  const std::string place =
      (event.in_kernel ? "" : file_name(event.file) + "_") + with_offset(event);
  return one_draft(
      metric_word(std::string(event.at_return ? kind.at_return : kind.pmu) + "_" + place),
      help_of(event), *attributes);
}

}  // namespace pex::events
