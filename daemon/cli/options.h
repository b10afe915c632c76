#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/load.h"
#include "daemon/cli/log_level.h"
#include "host/roots.h"

namespace pex::daemon {

/// Outside every range that is allocated to exporters or used by Kubernetes.
inline constexpr std::uint16_t kDefaultPort = 10173;

/// How the program ends; documented in --help and the manual page.
enum ExitStatus {
  kOk = 0,
  kFailed = 1,  ///< configuration or start-up: one line on stderr reports the error and its remedy
  kUsage = 2,   ///< the command line is not understood
  kUnable = 3,  ///< out of memory, or an unhandled error: one line on stderr
};

enum class OutputFormat { kText, kJson };

/// The command line, in the spelling of exporter-toolkit and node_exporter.
struct Options {
  std::string config_file;    ///< empty: the embedded default
  bool watch_config = false;  ///< reload it when the file changes
  config::UnknownKeys unknown_keys = config::UnknownKeys::kWarnIfNewer;  ///< of that file
  bool check_config = false;
  bool check_start = false;  ///< and then only what prevents a start; implies check_config
  std::string machine_file;  ///< check_config: the machine that it is checked for; empty: this one
  bool once = false;         ///< poll twice, print one scrape, end
  bool doctor = false;
  bool health = false;
  bool readiness = false;  ///< health: ask for readiness instead of liveness
  bool list_cgroups = false;
  std::vector<std::string> cgroup_paths;  ///< list_cgroups: only these; empty: those selected
  bool all_cgroups = false;               ///< list_cgroups: also those that are not selected
  bool cgroup_labels = false;  ///< list_cgroups: with labels; with paths and all_cgroups always
  bool reset = false;
  bool size = false;
  std::size_t size_cpus = 0;                ///< size: of the machine; 0: as many as here
  std::optional<std::size_t> size_cgroups;  ///< size: at the same time; nothing: cgroups.max
  bool list_events = false;
  std::string list_glob = "*";
  bool list_all = false;  ///< list_events: with "*" also the events that this machine lacks
  OutputFormat output = OutputFormat::kText;  ///< list_events, stat, doctor
  bool stat = false;
  std::vector<std::string> stat_events;       ///< a group each; empty: those of the configuration
  int stat_pid = 0;                           ///< the process to count, if there is no stat_command
  std::vector<std::string> stat_command;      ///< to run and count
  std::vector<std::string> listen_addresses;  ///< may be empty with systemd_socket
  bool serves_by_default = false;             ///< no address was given: serve on kDefaultPort
  bool systemd_socket = false;                ///< also on the sockets that systemd passes
  std::string web_config_file;                ///< empty: plain HTTP without login
  std::vector<std::string> web_required;      ///< of that file: names of access::requirable()
  std::string health_address;                 ///< also for probes, over plain HTTP; empty: none
  std::string telemetry_path = "/metrics";    ///< as requests have it: percent-encoded
  std::size_t max_queued_scrapes = 40;        ///< distinct ones; 0: any number
  bool lifecycle = false;                     ///< POST /-/reload, /-/pause, /-/resume
  bool ready_needs_events = false;            ///< not ready while no configured event is counted
  std::string state_directory;                ///< for the next start; empty: none
  host::HostRoots roots;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kLogfmt;
};

/// Where packages install the configuration of the service. A service that was installed below
/// another prefix, or whose CONFIG names another file, has its configuration elsewhere.
inline constexpr const char* kInstalledConfig = "/etc/perf_event_exporter/perf_event_exporter.yaml";

/// The StateDirectory= of the service, where 'reset' looks without STATE_DIRECTORY.
inline constexpr const char* kInstalledState = "/var/lib/perf_event_exporter";

/// Without --config.file, --config.check, --once, cgroups, doctor and stat look at `file` if it
/// exists: most probably it is what the operator asks about.
void take_installed_config(Options& options, const std::string& file = kInstalledConfig);

/// Whether no command was given: the program serves until a signal stops it.
bool serves(const Options& options);

/// The configuration that is looked at: "the embedded default" or "'FILE'".
std::string name_of_config(const Options& options);

/// The options, or the exit status if the program has nothing left to do: help and version are
/// printed, errors are reported on stderr.
std::variant<Options, ExitStatus> parse_command_line(int argc, const char* const* argv);

}  // namespace pex::daemon
