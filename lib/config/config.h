#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pex::config {

/// Where in the configuration something was written; lines and columns count from 1, columns in
/// bytes.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
  std::string key;  ///< path of the key, for example "groups[2].events[0]"
};

/// One event as the operator spelled it. It stays text here: what it means is decided where the
/// machine is known, so a configuration can be checked anywhere.
struct EventEntry {
  std::string spelling;
  Position at;
};

/// One counter group: its events are scheduled as a unit.
struct Group {
  std::string name;                ///< [a-z][a-z0-9_-]*, at most 64 characters, unique
  std::vector<EventEntry> events;  ///< 1 to 64
  bool cpu_scope = false;          ///< count on every CPU
  bool cgroup_scope = false;       ///< count for every selected cgroup; at least one scope is set
  bool pinned = false;             ///< always on the PMU, or in error; never multiplexed
  Position at;
};

struct Collection {
  std::chrono::nanoseconds interval = std::chrono::seconds{1};  ///< 100ms to 1h
};

/// Which cgroups are counted, as globs on the path below the cgroup mount (cgroup/glob.h). By
/// default those that mean something to an operator: services and containers, and no slices, as a
/// cgroup's count includes its children. The shipped file explains each pattern.
struct Cgroups {
  std::vector<std::string> include = {"/system.slice/*.service",
                                      "/system.slice/*/*.service",
                                      "/user.slice/*/user@*.service",
                                      "/machine.slice/*.scope",
                                      "/system.slice/docker-*.scope",
                                      "/docker/*",
                                      "/kubepods.slice/**/*.scope",
                                      "/kubepods/**/pod*/*",
                                      "/lxc/*",
                                      "/lxc.payload.*"};
  std::vector<std::string> exclude = {"/kubepods.slice/**/crio-conmon-*.scope",
                                      "/machine.slice/libpod-conmon-*.scope"};
  std::size_t max = 256;                                       ///< 0 to 100000
  std::chrono::nanoseconds linger = std::chrono::seconds{60};  ///< 0s to 1h
};

struct Limits {
  std::size_t max_open_events = 65'536;  ///< 1 to 10000000
  std::size_t max_series = 50'000;       ///< 1 to 10000000
};

/// Checked values with their units, defaults and bounds. Groups have no default here: the shipped
/// config/perf_event_exporter.yaml is the default, and is embedded in the program.
struct Config {
  Collection collection;
  std::vector<Group> groups;
  Cgroups cgroups;
  Limits limits;
};

}  // namespace pex::config
