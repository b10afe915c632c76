#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "host/roots.h"

namespace pex::perf {

/// What some values of a setting mean.
struct SysctlRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string_view words;             ///< for "SETTING=3: WORDS"
  std::string_view consequence = {};  ///< what it costs; empty if nothing
  std::string_view remedy = {};       ///< what to change, if it costs something
  bool is_unlimited = false;          ///< the setting is a limit, and these values mean none

  bool has(std::int64_t value) const { return from <= value && value <= to; }
};

/// A setting of the kernel that is about perf, one number for the whole machine.
struct SysctlEntry {
  std::string_view name;                ///< as sysctl(8) spells it; "cpu/rdpmc": of a PMU
  std::int64_t usual = 0;               ///< the kernel's own default
  std::string_view unit;                ///< "samples/s"; empty for a switch
  std::span<const SysctlRange> ranges;  ///< those that need words, and all of a switch

  /// Null if `value` needs no words.
  const SysctlRange* range_of(std::int64_t value) const;
};

/// Sources: Documentation/admin-guide/sysctl/kernel.rst, perf_event_open(2), kernel/events/core.c;
/// Documentation/arch/arm64/perf.rst; arch/x86/events/core.c.
///
/// Example:
///   for (const SysctlEntry& entry : sysctls()) {
///     const Result<std::int64_t> value = read_sysctl(entry, host::HostRoots{});
///     if (value) std::cout << entry.name << '=' << *value << '\n';
///   }
std::span<const SysctlEntry> sysctls();

/// The value now. Fails with ENOENT where the kernel does not have it: an older one, or one of
/// another architecture.
Result<std::int64_t> read_sysctl(const SysctlEntry& entry, const host::HostRoots& roots);

/// The setting that decides who may open events: most readers have a check of their own for it.
inline constexpr std::string_view kParanoidSetting = "kernel.perf_event_paranoid";

}  // namespace pex::perf
