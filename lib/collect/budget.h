#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "collect/counting_plan.h"
#include "collect/machine_cpus.h"

namespace pex::collect {

/// The bounds that decide how many cgroups can be counted.
struct Budget {
  std::size_t max_cgroups = 256;
  std::size_t max_open_events = 65'536;
  std::size_t max_series = 50'000;
  std::size_t max_open_files = 1024;  ///< the process's limit, RLIMIT_NOFILE
};

/// What a plan takes on a machine with its CPUs of now.
struct Need {
  std::size_t cpu_events = 0;     ///< descriptors of all groups of scope cpu on all CPUs
  std::size_t cpu_series = 0;     ///< at most: of scope cpu, and of both scopes one weight of the
                                  ///< reference for each column, as that is of no row
  std::size_t cgroup_events = 0;  ///< descriptors for one cgroup on all CPUs
  std::size_t cgroup_series = 0;  ///< for one cgroup
};

Need need_of(const CountingPlan& plan, const MachineCpus& cpus);

/// Descriptors kept free for the clients (http::Limits, and those being refused) and the files of
/// the process itself.
inline constexpr std::size_t kReservedFiles = 128;

/// The names of the bounds on cgroups: each a `reason` of cgroups_dropped_total.
inline constexpr std::string_view kCgroupBounds[] = {"max", "max_open_events", "max_series",
                                                     "open_files"};

struct Capacity {
  std::size_t cgroups = 0;
  std::string_view bound;  ///< which of kCgroupBounds was the tightest
};

/// How many cgroups can be counted without passing any of the bounds: computed before anything is
/// opened, because a limit met half-way leaves sums that lack a part.
Capacity cgroup_capacity(const Budget& budget, const Need& need);

/// How many cgroups, lingering ones included, can be published within `max_series`.
std::size_t series_room(const Budget& budget, const Need& need);

/// Fails when the groups of the CPUs alone, without any cgroup, pass a bound.
Result<> check_cpu_groups(const Budget& budget, const Need& need);

}  // namespace pex::collect
