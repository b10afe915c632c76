#pragma once

#include <string_view>

namespace pex {

/// What a metric counts. Host-wide and per-cgroup counts never share a metric: both contain the
/// same events, and a sum would count them twice.
enum class Scope { kCpu, kCgroup };

/// "cpu", "cgroup"
constexpr std::string_view name_of(Scope scope) { return scope == Scope::kCpu ? "cpu" : "cgroup"; }

}  // namespace pex
