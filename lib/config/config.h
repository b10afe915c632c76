#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/aggregation.h"
#include "base/unit.h"
#include "yaml/position.h"

namespace pex::config {

using yaml::Position;

/// One event as the operator spelled it, or several that one text spells ("cycles,instructions").
/// It stays text here: what it means is decided where the machine is known, so a configuration can
/// be checked anywhere.
struct EventEntry {
  std::string spelling;
  Position at;
  // The rest may be said of a single event only.
  std::optional<std::string> name;  ///< of its metric, in place of the one made from the spelling;
                                    ///< at most 128 characters, with a letter or digit
  std::optional<std::string> help;  ///< one sentence with its full stop, at most 513 characters
  std::optional<Unit> unit;         ///< by default what the kernel says
  std::optional<double> scale;      ///< one count is worth that many units; 1e-18 to 1e18
  std::optional<std::string> filter;  ///< of a tracepoint, in the kernel's language; not empty
  bool is_complete = true;  ///< false after an error in one of these: it may have had more keys
};

/// By what the counts of a group that shares the PMU are scaled up, from the time it had the PMU to
/// all the time it wanted it.
enum class Estimator {
  kAuto,       ///< by an activity reference where one costs no rotation, else by time
  kTime,       ///< by time alone
  kReference,  ///< by a reference, even one that takes a counter of the PMU
};

/// Sets of CPUs that the kernel keeps, by the names of their files.
inline constexpr std::string_view kIsolatedCpus = "isolated";
inline constexpr std::string_view kNohzFullCpus = "nohz_full";

/// One of those, or a list of CPU numbers. It stays text here: which CPUs there are is known to the
/// machine.
struct CpuEntry {
  std::string text;
  Position at;
};

/// Which CPUs are counted.
struct Cpus {
  std::vector<CpuEntry> exclude = {};  ///< at most 64, each once
  Position at = {};
};

/// One counter group: its events are scheduled as a unit.
struct Group {
  std::string name;                ///< [a-z][a-z0-9_-]*, at most 64 characters, unique
  std::vector<EventEntry> events;  ///< 1 to 64
  bool cpu_scope = false;          ///< count on every CPU
  bool cgroup_scope = false;       ///< count for every selected cgroup; at least one scope is set
  Cpus cpus;                       ///< beside those that are left out of all groups
  std::optional<Aggregation>
      aggregate;           ///< of scope cpu; by default cpu, or package for uncore PMUs
  bool weak = true;        ///< a group that does not fit on the PMU is split, else dropped
  bool pinned = false;     ///< always on the PMU, or in error; never multiplexed
  bool exclusive = false;  ///< alone on the PMU while it counts
  Estimator estimator = Estimator::kAuto;  ///< kAuto when pinned, where nothing is scaled
  bool exclude_user = false;               ///< these hold for every event of the group
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  bool exclude_idle = false;
  bool exclude_host = false;
  bool exclude_guest = false;
  Position at;
};

struct Collection {
  std::chrono::nanoseconds interval = std::chrono::seconds{1};  ///< 100ms to 1h
  /// A scrape of counts that are older has them read first; 100ms to 1h.
  std::chrono::nanoseconds max_age = std::chrono::milliseconds{500};

  bool operator==(const Collection&) const = default;
};

/// Of the format OpenMetrics alone.
struct OpenMetrics {
  bool created = false;  ///< a "_created" sample for each counter: since when it counts

  bool operator==(const OpenMetrics&) const = default;
};

/// A pattern on paths of cgroups below the cgroup mount: a glob that starts with '/', or "re:" and
/// a regular expression. It stays text here: what it means is decided where cgroups are known
/// (cgroup/pattern.h).
struct PatternEntry {
  std::string text;  ///< at most 1024 bytes
  Position at = {};

  bool operator==(const PatternEntry&) const = default;
};

/// What one rule gives as a label.
struct LabelSetting {
  std::string name;   ///< [a-zA-Z_][a-zA-Z0-9_]*, at most 128 characters, not with "__" in front
  std::string value;  ///< 1 to 256 bytes; $0 to $9 stand for what the pattern has matched
  Position at = {};   ///< of the value

  bool operator==(const LabelSetting&) const = default;
};

/// Labels for all cgroups that match.
struct LabelRule {
  PatternEntry match;             ///< empty after an error
  std::vector<LabelSetting> set;  ///< 1 to 16, each name once

  bool operator==(const LabelRule&) const = default;
};

/// Which of the selected cgroups are counted where one is inside of another.
enum class Nesting {
  kLeaves,  ///< only those without another one inside
  kAll,     ///< all: the work of the inner one is in the outer one's counts as well
};

/// Which cgroups are counted, and as what they are published. By default those that mean something
/// to an operator: services, scopes and containers, and no slices, as a cgroup's count includes its
/// children. The shipped file explains each pattern.
struct Cgroups {
  std::vector<PatternEntry> include = {
      {"re:(/[^/]+[.]slice)*/[^/]+[.](service|scope)"},
      {"re:.*/([^/]*[-_:])?([0-9a-f]{64}|[0-9a-f]{32}-[0-9]+)([.]scope)?"},
      {"/machine/**/*.libvirt-*"},
      {"/lxc/*"},
      {"/lxc.payload/*"},
      {"/lxc.payload.*"},
      {"/system.slice/*slurmstepd.scope/job_*"},
      {"/slurm*/uid_*/job_*"}};       ///< at most 256
  std::vector<PatternEntry> exclude;  ///< at most 256; tried before those of include
  Nesting nesting = Nesting::kLeaves;
  bool helpers = false;   ///< also those that only serve a container
  std::size_t max = 256;  ///< 0 to 100000
  bool per_cpu = false;   ///< a series for each CPU, not their sum
  std::chrono::nanoseconds linger = std::chrono::seconds{60};  ///< 0s to 1h
  std::vector<LabelRule> labels;                               ///< at most 64

  bool operator==(const Cgroups&) const = default;
};

/// Where the names of pods and containers come from.
enum class PodMetadata {
  kNone,
  kLogLinks,  ///< from the names of the links to the containers' logs
};

struct Kubernetes {
  PodMetadata metadata = PodMetadata::kNone;
  std::string log_links = "/var/log/containers";  ///< a directory; an absolute path

  bool operator==(const Kubernetes&) const = default;
};

/// Series that say more of how an estimate came about, and multiply the number of series.
struct Evidence {
  bool variance = false;   ///< perf_event_variance_total
  bool reference = false;  ///< perf_group_reference_total, perf_group_reference_sampled_total

  bool operator==(const Evidence&) const = default;
};

struct Limits {
  std::size_t max_open_events = 65'536;   ///< 1 to 10000000
  std::size_t max_series = 50'000;        ///< 1 to 10000000
  std::size_t opens_per_second = 10'000;  ///< counters of cgroups on each CPU; 1 to 10000000

  std::size_t max_cgroup_directories = 32'768;  ///< 1 to 1000000

  bool operator==(const Limits&) const = default;
};

/// Checked values with their units, defaults and bounds. Groups have no default here: the shipped
/// config/perf_event_exporter.yaml is the default, and is embedded in the program.
struct Config {
  Collection collection;
  Cpus cpus;
  std::vector<Group> groups;
  Cgroups cgroups;
  Kubernetes kubernetes;
  Evidence evidence;
  OpenMetrics openmetrics;
  Limits limits;
};

}  // namespace pex::config
