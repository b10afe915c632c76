#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "targets/counter_cost.h"
#include "targets/counting_plan.h"
#include "targets/machine_cpus.h"

namespace pex::collect {

/// Memory of one counter, measured (docs/cost.md): of this process, and of the kernel for it.
inline constexpr std::size_t kOwnBytesOfACounter = 442;
inline constexpr std::size_t kKernelBytesOfACounter = 1350;

/// The limits that decide how many cgroups can be counted.
struct Budget {
  std::size_t max_cgroups = 256;
  std::size_t max_open_events = 65'536;
  std::size_t max_series = 50'000;
  std::size_t opens_per_second = 10'000;  ///< counters of cgroups on each CPU, also at the start
  std::size_t max_directories = 32'768;   ///< of the cgroup tree
  std::size_t max_path_bytes = 1024;      ///< of a cgroup, as published
  std::optional<std::size_t> max_open_files = {};  ///< else what this process may open now

  /// `max_open_events` for a machine with so much memory, of which this process may use `limit`;
  /// nothing: not known. A sixteenth of the machine's for the kernel's part of the counters, and a
  /// quarter of the limit for our own; at most 10 million, and 65 536 if neither is known.
  static std::size_t open_events_for(std::optional<std::uint64_t> memory,
                                     std::optional<std::uint64_t> limit);

  /// The limit in force, which others may change at any time (prlimit(2)): asks the kernel, and
  /// raises the soft limit of the process to the hard one.
  std::size_t open_files() const;

  bool operator==(const Budget&) const = default;
};

/// The cost of a plan on a machine with its current CPUs.
struct Need {
  CounterCost counters;          ///< each a descriptor; those of a cgroup are 0 also by records
  std::size_t fixed_series = 0;  ///< an upper bound: of scope cpu; of all sums of cgroups; and of
                                 ///< both scopes one weight of the reference for each column, which
                                 ///< belongs to no row
  std::size_t sum_series = 0;    ///< the part that is of sums of cgroups
  bool counts_cgroups = false;
  std::size_t cgroup_series = 0;  ///< for one cgroup, its description included

  /// Descriptors for one cgroup: its counters; its directory, which holds it; and the directory of
  /// one that preceded it, which the last snapshot holds until the next poll.
  std::size_t cgroup_files() const { return counts_cgroups ? counters.cgroup + 2 : 0; }
};

/// `cost` is that of the counter sources.
Need need_of(const CountingPlan& plan, const MachineCpus& cpus, const CounterCost& cost);

/// Descriptors of a limit of `open_files` that are reserved for the clients, including refused ones
/// (http::Limits). A twelfth of the limit, at least 96 and at most 640.
std::size_t client_files(std::size_t open_files);

/// The same, and those for the files of the process itself.
std::size_t reserved_files(std::size_t open_files);

/// A bound on cgroups.
struct CgroupBound {
  std::string_view name;
  std::string_view words;    ///< in messages
  std::string_view setting;  ///< what raises it; empty: nothing
};

/// The kernel's memory is only known when the kernel refuses a counter.
inline constexpr CgroupBound kCgroupBounds[] = {
    {"max", "cgroups.max", "cgroups.max"},
    {"max_open_events", "limits.max_open_events", "limits.max_open_events"},
    {"max_series", "limits.max_series", "limits.max_series"},
    {"open_files", "the limit of open files", "LimitNOFILE="},
    {"memory", "the memory of the kernel", ""},
};

/// By its name; empty for any other name.
CgroupBound bound_of(std::string_view name);

/// A counted cgroup that was displaced by one from a directory with less than its share. Like each
/// of kCgroupBounds a `reason` of cgroups_left_out_total.
inline constexpr std::string_view kFairShare = "fair_share";

struct Capacity {
  std::size_t cgroups = 0;
  std::string_view bound;      ///< the name of the tightest one
  std::size_t open_files = 0;  ///< the limit at that time; 0 when a cgroup takes none
};

/// How many cgroups can be counted within all bounds: computed before anything is opened, because a
/// limit met half-way leaves sums that lack a part.
Capacity cgroup_capacity(const Budget& budget, const Need& need);

/// The bound that a refusal with this errno has met; empty for any other refusal.
std::string_view bound_met_by(int code);

/// Describes in numbers why only so many of the matching cgroups are counted, with a remedy.
Error too_many_cgroups(const Budget& budget, const Need& need, const Capacity& capacity,
                       std::size_t matching);

/// How many cgroups, including lingering ones, can be published within `max_series`.
std::size_t series_room(const Budget& budget, const Need& need);

/// One for each bound that the groups of the CPUs and the sums alone, without any cgroup, exceed.
std::vector<Error> excess_of_cpu_groups(const Budget& budget, const Need& need);
/// Fails with the first of these.
Result<> check_cpu_groups(const Budget& budget, const Need& need);

}  // namespace pex::collect
