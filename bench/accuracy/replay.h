#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "comparison.h"

namespace pex::bench {

/// All recordings of a directory, at each poll interval; those of cgroups also by time, without the
/// reference, as groups of cgroups have one only where it is free.
///
/// A recording is what a Debian kernel reported, once a second, of four groups that exclude each
/// other on the one CPU of an emulated arm64 machine with a PMU, while a pinned group counted
/// everything. Its first line is "# Linux VERSION, scope cpu|cgroup, load NAME"; each other line
/// has the increments of a second:
///
///   truth X enabled [cpu-clock enabled]   enabled running y x [cpu-clock]
///
/// The last five are there for each group. y are user instructions, which `truth` counts all the
/// time, x and X all instructions, which are the reference; times are in ns. The clocks are left
/// out for the scope cpu, whose times are right on every kernel.
Result<std::vector<Case>> replay_all(const std::filesystem::path& directory);

}  // namespace pex::bench
