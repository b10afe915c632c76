#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace pex::host {

/// A release of Linux. A distribution's kernel can have more than its version says, and does not
/// have less.
///
/// Example:
///   const bool has_cgroup_switches = running_kernel() >= KernelVersion{5, 13, 0};
struct KernelVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const KernelVersion&) const = default;
};

/// Parses "6.12.57+deb13-amd64", "2.6.31" and the like; missing parts are 0. Some distributions
/// write 0 for the patch, whatever they include.
std::optional<KernelVersion> parse_kernel_version(std::string_view release);

/// uname(2): "6.12.57+deb13-amd64".
std::string kernel_release();

/// The version of that; 0.0.0 if it has no numbers.
KernelVersion running_kernel();

}  // namespace pex::host
