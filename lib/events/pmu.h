#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/pmu_format.h"
#include "host/roots.h"

namespace pex::events {

/// One event that a PMU defines: the file events/NAME and those next to it
/// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
struct PmuNamedEvent {
  std::string terms;  ///< "event=0xcd,umask=0x1,ldlat=3"; a value '?' must be given by the user
  double scale = 1;   ///< NAME.scale: one count is worth this many units; 0: it has no such number
  std::string unit;   ///< NAME.unit: "Joules", "MiB"; or empty
  bool is_snapshot = false;  ///< NAME.snapshot is 1: a level such as a temperature, not a count
};

enum class PmuKind {
  kCore,  ///< of a CPU: one that counts the generic hardware events, whatever it is called
  /// Read on the CPUs of the file `cpumask`: every PMU that has one. Mostly for a part of the
  /// package, but also for a core, as with cstate_core, whose mask names a CPU of each core, and
  /// arm_spe, whose mask names every CPU that has it.
  kUncore,
  kOther,  ///< software, tracepoint, msr, ...: on any CPU
};

/// One PMU of the kernel: a folder of /sys/bus/event_source/devices.
struct Pmu {
  std::string name;
  std::uint32_t type = 0;  ///< for perf_event_attr.type
  PmuKind kind = PmuKind::kOther;
  std::vector<int> cpus;  ///< from `cpus` or `cpumask` at the time of reading; empty without such a
                          ///< file
  bool is_on_some_cpus = false;  ///< `cpus` lacks CPUs that are present, whether online or not
  std::map<std::string, FormatField> formats;
  std::map<std::string, PmuNamedEvent> events;
  std::optional<std::uint64_t> mux_interval_ms;  ///< how long a group keeps the PMU
};

/// The PMUs of one machine, as in its sysfs. Immutable. Malformed files are ignored: a kernel may
/// have unknown forms, and none is a reason to fail.
class PmuCatalogue {
 public:
  /// Fails if the folder of PMUs cannot be read, and if anything below it cannot for lack of
  /// descriptors or memory; if there is no such folder, there are no PMUs.
  static Result<PmuCatalogue> read(const host::HostRoots& roots);

  /// By rising name.
  std::span<const Pmu> pmus() const { return pmus_; }

  /// The one with exactly that name, or null.
  const Pmu* find(std::string_view name) const;

  /// The PMUs that `pattern` selects, as in perf: the name itself; without its number ("uncore_imc"
  /// is uncore_imc_0, uncore_imc_1, ...); either without the prefix "uncore_"; or a glob with '*',
  /// '?' or '[' for the whole name. If no PMU is named "cpu", as on a hybrid x86, "cpu" selects the
  /// core PMUs whose names start with "cpu_".
  std::vector<const Pmu*> matching(std::string_view pattern) const;

  /// Whether events of this type (perf_event_attr.type) always count, in any number and with any
  /// others: software events, tracepoints and probes, and the registers of `msr`
  /// (PERF_EV_CAP_SOFTWARE, kernel/events/core.c).
  bool always_counts(std::uint32_t type) const;

  /// The PMU whose counters the events of this type use; for the generic hardware events the first
  /// core PMU. Null if there is none.
  const Pmu* counting(std::uint32_t type) const;

  /// One, or several on a hybrid machine; none without hardware counters.
  std::vector<const Pmu*> core_pmus() const;

 private:
  std::vector<Pmu> pmus_;
};

/// The CPUs on which the events of `pmu` are opened now, from its file `cpus`, else `cpumask`.
/// Changes with hotplug: if the CPU that reads an uncore PMU goes offline, the kernel names another
/// one. Arm kernels also name core CPUs that are offline. Fails if the PMU has neither file, like
/// one whose events can be opened on any CPU.
Result<std::vector<int>> read_pmu_cpus(const host::HostRoots& roots, const std::string& pmu);

/// "uncore_imc" of "uncore_imc_3".
std::string_view without_number(std::string_view pmu);

/// "hisi_sccl_ddrc" of "hisi_sccl1_ddrc0", "i915" of "i915_0000_03_00.0": without the numbers and
/// addresses of one instance. The name itself if nothing else is left.
std::string without_instance(std::string_view pmu);

}  // namespace pex::events
