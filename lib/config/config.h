#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/aggregation.h"
#include "base/cgroup_evidence.h"
#include "base/duty_cycle.h"
#include "base/result.h"
#include "base/unit.h"
#include "yaml/position.h"

namespace pex::config {

using yaml::Position;

/// One event as the operator spelled it, or several in one text ("cycles,instructions"). It stays
/// text here: only a machine gives it a meaning, so a configuration can be checked anywhere.
struct EventEntry {
  std::string spelling;
  Position at;
  // For a single event only.
  std::optional<std::string> name;  ///< of its metric, replaces the one made from the spelling; at
                                    ///< most 128 characters, with a letter or digit
  std::optional<std::string> help;  ///< one sentence with its full stop, at most 513 characters
  std::optional<Unit> unit;         ///< default: from the kernel
  std::optional<double> scale;      ///< units per count; 1e-18 to 1e18
  std::optional<std::string> filter;  ///< of a tracepoint, in the kernel's language; not empty
  bool is_complete = true;  ///< false after an error in one of these: more keys may be missing

  bool operator==(const EventEntry&) const = default;
};

/// How the counts of a multiplexed group are scaled, from the time it had the PMU to the time it
/// was enabled.
enum class Estimator {
  kAuto,       ///< by an activity reference if one costs no rotation, else by time
  kTime,       ///< by time alone
  kReference,  ///< by a reference, even if it takes a counter of the PMU
};

/// Sets of CPUs in the kernel, by the names of their files.
inline constexpr std::string_view kIsolatedCpus = "isolated";
inline constexpr std::string_view kNohzFullCpus = "nohz_full";

/// One of those, or a list of CPU numbers. It stays text here: only the machine knows its CPUs.
struct CpuEntry {
  std::string text;
  Position at;

  bool operator==(const CpuEntry&) const = default;
};

/// The CPUs that are counted.
struct Cpus {
  std::vector<CpuEntry> exclude = {};  ///< at most 64, each once
  Position at = {};

  bool operator==(const Cpus&) const = default;
};

/// How the PMU is shared with other programs.
struct Pmu {
  static constexpr std::size_t kMaxReserve = 32;
  std::size_t reserve = 0;  ///< counters of each core PMU that stay free, while everything counts

  bool operator==(const Pmu&) const = default;
};

/// A number of online CPUs, inclusive.
struct CpuCount {
  std::size_t min = 1;
  std::size_t max = 1;

  bool operator==(const CpuCount&) const = default;
};

/// Major, minor and patch; 0 for missing ones.
using Version = std::array<int, 3>;

/// Conditions on the machine; those that are set must all hold. They stay as written here: only the
/// machine knows whether they do (plan/condition.h).
struct When {
  std::vector<std::string> vendor;  ///< one of these, in any case; at most 16; empty: any
  std::optional<CpuCount> cpus;
  std::optional<bool> is_virtual;
  std::optional<std::string> pmu;  ///< the machine has it; a pattern as in events
  std::optional<Version> kernel;   ///< this one or a later one

  bool operator==(const When&) const = default;
};

/// One counter group: its events are scheduled as a unit.
struct Group {
  std::string name;                ///< [a-z][a-z0-9_-]*, at most 64 characters, unique
  std::vector<EventEntry> events;  ///< 1 to 64
  bool cpu_scope = false;          ///< count on every CPU
  bool cgroup_scope = false;       ///< count for every selected cgroup; at least one scope is set
  /// The group is left out unless these hold; without any it is always counted.
  When when = {};
  bool optional = false;  ///< events that the machine lacks are expected to be missing
  Cpus cpus;              ///< in addition to those that are left out of all groups
  std::optional<Aggregation>
      aggregate;           ///< of scope cpu; by default cpu, or package for uncore PMUs
  bool weak = true;        ///< a group that does not fit on the PMU is split, else dropped
  bool pinned = false;     ///< always on the PMU, or in error; never multiplexed
  bool exclusive = false;  ///< alone on the PMU while it counts
  Estimator estimator = Estimator::kAuto;  ///< kAuto when pinned, where nothing is scaled
  /// `every` up to 1m, `on` from 1s and two collection intervals; without: counts all the time.
  std::optional<DutyCycle> duty_cycle = {};
  Position duty_cycle_at = {};
  bool exclude_user = false;  ///< these hold for every event of the group
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  bool exclude_idle = false;
  bool exclude_host = false;
  bool exclude_guest = false;
  /// The file is for a newer version: events that are not known are reported as missing.
  bool is_for_newer = false;
  Position at;

  bool operator==(const Group&) const = default;
};

struct Collection {
  std::chrono::nanoseconds interval = std::chrono::seconds{1};  ///< 100ms to 1h
  /// A scrape of older counts triggers a poll; 100ms to 1h.
  std::chrono::nanoseconds max_age = std::chrono::milliseconds{500};

  bool operator==(const Collection&) const = default;
};

/// Only for the format OpenMetrics.
struct OpenMetrics {
  bool created = false;  ///< a "_created" sample for each counter: its start time

  bool operator==(const OpenMetrics&) const = default;
};

/// A pattern for paths of cgroups below the cgroup mount: a glob that starts with '/', or "re:" and
/// a regular expression. It stays text here; lib/cgroup compiles it (cgroup/pattern.h).
struct PatternEntry {
  std::string text;  ///< at most 1024 bytes
  Position at = {};

  bool operator==(const PatternEntry&) const = default;
};

/// One label of a rule.
struct LabelSetting {
  std::string name;   ///< [a-zA-Z_][a-zA-Z0-9_]*, at most 128 characters, not beginning with "__"
  std::string value;  ///< 1 to 256 bytes; $0 to $9 refer to the match of the pattern
  Position at = {};   ///< of the value

  bool operator==(const LabelSetting&) const = default;
};

/// Labels for all matching cgroups.
struct LabelRule {
  PatternEntry match;             ///< empty after an error
  std::vector<LabelSetting> set;  ///< 1 to 16, each name once

  bool operator==(const LabelRule&) const = default;
};

/// A label that cgroups are summed by.
struct SumLabel {
  std::string name;  ///< as LabelSetting::name
  Position at = {};

  bool operator==(const SumLabel&) const = default;
};

/// Sums over the cgroups that have the same values of labels.
struct CgroupSum {
  std::string name;          ///< [a-z][a-z0-9_]*, at most 64 characters; empty after an error
  std::vector<SumLabel> by;  ///< at most 8; none: one sum of all cgroups
  std::size_t max = 256;     ///< 1 to 100000
  std::chrono::nanoseconds idle = std::chrono::hours{1};        ///< 1m to 7 days
  std::chrono::nanoseconds zero_for = std::chrono::minutes{1};  ///< 0s to 1h
  Position at = {};

  bool operator==(const CgroupSum&) const = default;
};

/// Which cgroups have series of their own.
enum class CgroupSeries {
  kFolded,  ///< each, but those whose names are used once share them (cgroup/series_path.h)
  kEach,
  kNone,
};

/// Which of the selected cgroups are counted if one is inside of another.
enum class Nesting {
  kLeaves,  ///< only those without another one inside
  kAll,     ///< all: the counts of an outer one include the inner one
};

/// How cgroups are counted (count/counter_source.h).
enum class CgroupSource {
  kAuto,         ///< by records, where they are cheaper and correct; else by descriptors
  kRecords,      ///< the same, however few cgroups are counted
  kDescriptors,  ///< by a file descriptor for each event, cgroup and CPU
};

/// Which cgroups are counted, and how they are published. The default are those that mean something
/// to an operator: services, scopes and containers, but not slices, as a cgroup's count includes
/// its children. The shipped file explains each pattern.
struct Cgroups {
  static constexpr std::size_t kMax = 100'000;

  std::vector<PatternEntry> include = {
      {"re:(/[^/]+[.]slice)*/[^/]+[.](service|scope)"},
      {"re:.*/([^/]*[-_:])?([0-9a-f]{64}|[0-9a-f]{32}-[0-9]+)([.]scope)?"},
      {"re:.*(/buildkit/|:(docker|buildkit):)[0-9a-z]{25}"},
      {"/machine/**/*.libvirt-*"},
      {"/lxc/*"},
      {"/lxc.payload/*"},
      {"/lxc.payload.*"},
      {"/firecracker*/*"},
      {"re:.*/[^/]*slurmstepd[.]scope/(job_[^/]*|s[0-9A-Z]{13})"},
      {"/slurm*/uid_*/job_*"},
      {"re:/(system[.]slice/condor[.]service|htcondor)/condor_[^/]*"},
      {"/pbs_jobs.service/jobid/*"},
      {"/lsf/*/job.*"},
      {"re:/(init|(system|podruntime)/[^/]+|openrc[.][^/]+)"}};  ///< at most 256
  std::vector<PatternEntry> exclude;  ///< at most 256; tried before those of include
  Nesting nesting = Nesting::kLeaves;
  bool helpers = false;   ///< also those that only serve a container
  std::size_t max = 256;  ///< 0 to kMax
  bool per_cpu = false;   ///< a series for each CPU, not their sum
  std::chrono::nanoseconds linger = std::chrono::seconds{60};          ///< 0s to 1h
  std::chrono::nanoseconds close_after = std::chrono::minutes{10};     ///< 0s to 168h; 0s: never
  std::chrono::nanoseconds open_after = std::chrono::milliseconds{5};  ///< CPU time; 1ms to 10s
  CgroupSource source = CgroupSource::kAuto;
  std::size_t records_buffer = 256 * 1024;  ///< bytes on each CPU: a power of two, 64 KiB to 8 MiB
  std::vector<LabelRule> labels;            ///< at most 64
  std::vector<CgroupSum> sums;              ///< at most 16
  CgroupSeries series = CgroupSeries::kFolded;
  /// Absolute paths, at most 8 (cgroup::ContainerNames).
  std::vector<std::string> container_names = {"/var/lib/docker/containers",
                                              "/var/lib/containers/storage"};

  bool operator==(const Cgroups&) const = default;
};

/// The source of the names of pods and containers.
enum class PodMetadata {
  kNone,
  kLogLinks,  ///< from the names of the links to the containers' logs
};

struct Kubernetes {
  PodMetadata metadata = PodMetadata::kNone;
  std::string log_links = "/var/log/containers";  ///< a directory; an absolute path

  bool operator==(const Kubernetes&) const = default;
};

/// Additional series about the estimates; they multiply the number of series.
struct Evidence {
  CgroupEvidence cgroups = CgroupEvidence::kEach;
  bool variance = false;   ///< perf_*_variance_total
  bool reference = false;  ///< perf_group_reference_total, perf_group_reference_sampled_total

  bool operator==(const Evidence&) const = default;
};

struct Limits {
  static constexpr std::size_t kMax = 10'000'000;

  std::optional<std::size_t> max_open_events = {};  ///< 1 to kMax; nothing: as memory allows
  std::size_t max_series = 50'000;                  ///< 1 to kMax
  std::size_t opens_per_second = 10'000;            ///< counters of cgroups on each CPU; 1 to kMax

  std::size_t max_cgroup_directories = 32'768;  ///< 1 to 1000000
  std::size_t label_length = 1024;              ///< bytes of a value; 64 to 1024

  bool operator==(const Limits&) const = default;
};

/// Whether hardware events count what virtual machines of this host do.
enum class Guests {
  kAuto,     ///< unless KVM, or the PMU, refuses that
  kCount,    ///< or are refused
  kExclude,  ///< never
};

/// The text of the configuration, and what this version does not know of it, and ignores.
struct Origin {
  std::string hash = {};         ///< the first 12 digits of its SHA-256
  std::string revision = {};     ///< as its author calls it; at most 128 bytes
  std::size_t unknown_keys = 0;  ///< and words; each has one of `warnings`
  std::vector<std::string> left_out_groups = {};
  std::vector<Error> warnings = {};

  bool operator==(const Origin&) const = default;
};

/// Checked values with their units, defaults and bounds. Groups have no default here: the default
/// is the shipped config/perf_event_exporter.yaml, which is embedded in the program.
struct Config {
  /// The text is the shipped file, unchanged: its groups name more than any one machine has, and
  /// are meant to adapt to it.
  bool is_default = false;
  Origin origin;
  bool truth_check = true;  ///< events that count wrongly are left out
  Guests guests = Guests::kAuto;
  bool enabled = true;  ///< false: no event is opened
  Collection collection;
  Cpus cpus;
  Pmu pmu;
  std::vector<Group> groups;
  Cgroups cgroups;
  Kubernetes kubernetes;
  Evidence evidence;
  OpenMetrics openmetrics;
  Limits limits;

  bool operator==(const Config&) const = default;
};

}  // namespace pex::config
