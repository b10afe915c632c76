#pragma once

#include <chrono>
#include <string>

#include "base/boot_clock.h"
#include "daemon/status/status.h"

namespace pex::daemon {

inline const BootClock::time_point kNow =
    boot_time_of(std::chrono::system_clock::time_point{std::chrono::seconds{1'790'000'000}});

/// Nothing but a start: no poll yet, no PMU, no cgroup.
inline Status empty_status() {
  Status status;
  status.version = "1.2.3";
  status.now = kNow;
  status.started = kNow;
  status.interval = std::chrono::seconds{1};
  status.telemetry_path = "/metrics";
  status.limits.max_open_events = 65'536;
  status.limits.max_series = 50'000;
  status.limits.max_cgroups = 256;
  status.configuration.in_force_since = status.configuration.last_tried = kNow;
  return status;
}

inline Status::Group multiplexed_group(Scope scope) {
  using std::chrono::milliseconds;
  Status::Group group;
  group.name = "core";
  group.scope = scope;
  if (scope == Scope::kCpu) group.aggregation = Aggregation::kCpu;
  group.events = {{"cycles", "perf_cpu_cycles_total"},
                  {"instructions", "perf_cpu_instructions_total"}};
  group.targets = Status::Targets{.rows = 4, .wanted = 8, .counted = 6};
  group.shares_pmu = true;
  group.times = collect::GroupTimes{.enabled = milliseconds{10'000},
                                    .running = milliseconds{6'320},
                                    .imputed = milliseconds{150},
                                    .unmeasured = milliseconds{20}};
  group.recent_running_ratio = 0.5;
  return group;
}

/// The same with what is known from the plan alone.
inline Status::Group group_before_the_first_poll() {
  Status::Group group = multiplexed_group(Scope::kCpu);
  group.targets.reset();
  group.times.reset();
  group.recent_running_ratio.reset();
  return group;
}

inline std::vector<Status::Rate> rates_of(const std::string& prefix, double cpu_time, double cycles,
                                          double instructions, double bytes) {
  using history::Role;
  return {{{"task-clock", prefix + "task_clock_seconds_total"},
           Unit::kSeconds,
           Role::kCpuTime,
           cpu_time},
          {{"cycles", prefix + "cycles_total"}, Unit::kEvents, Role::kCycles, cycles},
          {{"instructions", prefix + "instructions_total"},
           Unit::kEvents,
           Role::kInstructions,
           instructions},
          {{"block:block_rq_issue", prefix + "written_bytes_total"}, Unit::kBytes, {}, bytes}};
}

inline Status::BusyCgroup busy_cgroup(std::string path) {
  Status::BusyCgroup cgroup;
  cgroup.path = std::move(path);
  cgroup.labels = {{"namespace", "shop"}, {"pod", "web-1"}};
  cgroup.rates = rates_of("perf_cgroup_", 0.75, 2.4e9, 3.24e9, 1.5e6);
  cgroup.instructions_per_cycle = 1.35;
  cgroup.points = {0.5, std::nullopt, 1.0};
  return cgroup;
}

inline Status::BusySum busy_sum(std::string space, std::string container) {
  Status::BusySum sum;
  sum.labels = {{"namespace", std::move(space)}, {"container", std::move(container)}};
  sum.members = 3;
  sum.rates = rates_of("perf_workload_", 1.25, 4.8e9, 2.4e9, 3e6);
  sum.instructions_per_cycle = 0.5;
  sum.points = {std::nullopt, 1.0, 1.5};
  return sum;
}

/// A sum of which only the configuration is known.
inline Status::Sum configured_sum() {
  Status::Sum sum;
  sum.name = "workload";
  sum.labels = {"namespace", "container"};
  sum.max = 8;
  return sum;
}

/// A start whose first poll has not ended: only the plan is known.
inline Status::Uncounted uncounted() {
  return {.rate = cgroup::UncountedUse::Rate{1.02, 0.255},
          .largest = {{"/jobs/17",
                       {0.99, 0.2475},
                       "no pattern of cgroups.include matches it; add '/jobs/*' to it to count it"},
                      {"/many/**", {0.02, 0.005}, "cgroups.exclude has '/many/*'"}}};
}

inline Status starting_status() {
  Status status = empty_status();
  status.groups = {group_before_the_first_poll()};
  status.sums = {configured_sum()};
  return status;
}

/// Has something of everything.
inline Status full_status() {
  Status status = empty_status();
  status.started = kNow - std::chrono::hours{3};
  status.polls = 10'800;
  status.overruns = 2;
  status.last_poll =
      Status::Poll{std::chrono::microseconds{640}, kNow - std::chrono::milliseconds{400}, 1, 3};
  status.machine =
      Status::Machine{{0, 1, 2, 3}, {{"cpu_core", {0, 1}}, {"cpu_atom", {2, 3}}}, {1}, {3}};
  status.reference = {"msr/aperf/"};
  status.groups = {multiplexed_group(Scope::kCpu), multiplexed_group(Scope::kCgroup)};
  status.groups[1].pmu = "cpu_core";
  status.not_counted = {{{"branches", "L1-icache-loads"},
                         {"core", "cache"},
                         2,
                         "this machine has no such hardware counter (ENOENT)",
                         "remove it"}};
  status.left_out_groups = {
      {"bare-metal", "when.virtual: it is not for virtual machines, and this is one"}};
  status.warnings = {"group 'core' does not fit on the PMU: it is split"};
  const history::Activity::Seconds step{5};
  using history::Role;
  status.use.recent = status.use.span = std::chrono::seconds{15};
  status.use.ages = {2 * step, step, 0 * step};
  status.use.host = {
      {{{"cycles", "perf_cpu_cycles_total"}, Unit::kEvents, Role::kCycles, 2.2e9},
       {2.1e9, 2.2e9, 2.3e9}},
      {{{"instructions", "perf_cpu_instructions_total"}, Unit::kEvents, Role::kInstructions, 1.1e9},
       {1e9, 1.1e9, 1.2e9}},
      {{{"power/energy-pkg/", "perf_energy_joules_total"}, Unit::kJoules, {}, 48.0},
       {40.0, std::nullopt, 56.0}},
      {{{"power/energy-ram/", "perf_energy_joules_total"}, Unit::kJoules, {}, std::nullopt},
       {std::nullopt, std::nullopt, std::nullopt}}};
  status.use.host_instructions_per_cycle = 0.5;
  status.use.ranked_by = Role::kCpuTime;
  status.use.busy_cgroups = 2;
  status.use.idle_cgroups = 3;
  status.use.cgroups = {busy_cgroup("/system.slice/web.service")};
  status.sums = {configured_sum(), configured_sum()};
  status.sums[0].numbers =
      Status::Sum::Numbers{.sums = 8, .is_new = 1, .members = 21, .members_left_out = 4};
  status.sums[0].ranked_by = Role::kCpuTime;
  status.sums[0].busy = 5;
  status.sums[0].idle = 2;
  status.sums[0].busiest = {busy_sum("shop", "web"), busy_sum("shop", "database")};
  status.sums[1].name = "team";
  status.sums[1].labels = {"team"};
  status.sums[1].numbers = Status::Sum::Numbers{};
  status.cgroups =
      Status::Cgroups{.counted = 4,
                      .idle = 3,
                      .waiting = 1,
                      .lingering = 1,
                      .left_out = 2,
                      .unreadable = 1,
                      .directories = {.followed = 83, .beyond_limit = 2, .path_too_long = 1},
                      .uncounted = uncounted(),
                      .cpus_by_records = 1,
                      .cpus_by_descriptors = 1,
                      .cpus_without_records = {1},
                      .why_no_records =
                          "the kernel wrote no record of 9 of 20 switches between "
                          "cgroups on CPU 1",
                      .left_out_by = "max",
                      .left_out_setting = "cgroups.max",
                      .left_out_paths = {"/system.slice/x.service", "/system.slice/y.service"}};
  status.cgroups_missed = 7;
  status.limits = {35, 1024, 96, 65'536, 512, 50'000, 4};
  status.configuration.file = "/etc/perf_event_exporter/perf_event_exporter.yaml";
  status.configuration.errors = {"c.yaml:2:3: groups[0].events: there are none"};
  status.web_configuration.emplace();
  status.web_configuration->load.file = "/etc/perf_event_exporter/web.yaml";
  status.web_configuration->load.in_force_since = status.web_configuration->load.last_tried = kNow;
  status.web_configuration->load.errors = {"web.yaml: it would open the server"};
  status.web_configuration->protections = {{"users", "2 users", true}};
  status.web_configuration->downgrades = {"rate_limit from 1 request in 1s, burst 5 to no limit"};
  return status;
}

}  // namespace pex::daemon
