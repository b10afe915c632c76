#pragma once

#include <string_view>

namespace pex {

/// Whose counts a metric holds. Host-wide and per-cgroup counts never share a metric: they are the
/// same events, and would be summed twice.
enum class Scope { kCpu, kCgroup };

/// "cpu", "cgroup"
constexpr std::string_view name_of(Scope scope) { return scope == Scope::kCpu ? "cpu" : "cgroup"; }

}  // namespace pex
