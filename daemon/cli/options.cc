#include "daemon/cli/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>

#include "base/compiler.h"
#include "base/text.h"
#include "base/utf8.h"
#include "config/config.h"
#include "daemon/cli/help.h"
#include "daemon/cli/option_checks.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/version.h"

namespace pex::daemon {
namespace {

constexpr std::uint64_t kMaxQueuedScrapes = 1'000'000;
constexpr std::uint64_t kMaxCpus = 65'536;
constexpr const char* kUnknownOption = "--config.unknown";

template <typename Value>
struct Word {
  const char* word;
  Value value;
};
constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                         {"info", LogLevel::kInfo},
                                         {"warn", LogLevel::kWarn},
                                         {"error", LogLevel::kError}};
constexpr Word<LogFormat> kLogFormats[] = {{"logfmt", LogFormat::kLogfmt},
                                           {"json", LogFormat::kJson}};
constexpr Word<config::UnknownKeys> kUnknownKeys[] = {{"error", config::UnknownKeys::kError},
                                                      {"warn", config::UnknownKeys::kWarn}};
constexpr Word<OutputFormat> kOutputFormats[] = {{"text", OutputFormat::kText},
                                                 {"json", OutputFormat::kJson}};

/// An option whose value is one of a few words.
template <typename Value, std::size_t count>
void add_choice(CLI::App& app, const char* name, Value& target, const Word<Value> (&words)[count],
                const char* type, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &target, &words](const std::string& given) {
           std::string known;
           for (const Word<Value>& word : words) {
             if (given == word.word) {
               target = word.value;
               return;
             }
             known += std::string(known.empty() ? "" : ", ") + word.word;
           }
           throw CLI::ValidationError(
               name, "'" + given + "' is not known. Remedy: write one of " + known);
         },
         help)
      ->type_name(type);
}

/// As clients send it: what is not ASCII percent-encoded, as in RFC 3986, 2.1 and 2.5.
std::string as_requested(const std::string& path) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char byte : path) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x80) {
      encoded += byte;
    } else {
      encoded += {'%', kDigits[value >> 4u], kDigits[value & 0xfu]};
    }
  }
  return encoded;
}

bool is_path_of_its_own(const std::string& path) {
  const bool is_sendable = std::none_of(path.begin(), path.end(), [](unsigned char byte) {
    return byte == 0x7f || byte <= ' ' || byte == '?' || byte == '#';
  });
  return is_sendable && path.starts_with('/') && path != "/" && !path.starts_with("/-/") &&
         !path.starts_with("/api/") && !path.starts_with("/page.");
}

std::string version_text() {
  std::string text = std::string(kProgram) + ", version " + kVersion;
  if (*kRevision != '\0') text += std::string(" (revision: ") + kRevision + ")";
  return text + "\n  compiler: " + kCompiler;
}

/// An option whose value is a number from `min` to `max`, in digits.
template <typename Number>
void add_number(CLI::App& app, const char* name, Number& target, std::uint64_t min,
                std::uint64_t max, const char* type, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [=, &target](const std::string& given) {
           const std::optional<std::uint64_t> number = number_within(given, min, max);
           if (!number) {
             throw CLI::ValidationError(
                 name, "'" + given + "' is not a number from " + std::to_string(min) + " to " +
                           std::to_string(max) + ". Remedy: write one, in digits");
           }
           target = static_cast<Number>(*number);
         },
         help)
      ->type_name(type);
}

/// An option whose value is the path of a file or directory.
CLI::Option* add_path(CLI::App& app, const std::string& name, std::string& target, const char* type,
                      const std::string& help) {
  return app.add_option(name, target, help)
      ->type_name(type)
      ->check([name, type](const std::string& path) { return path_error(path, name, type); });
}

void declare_web(CLI::App& app, Options& options) {
  app.add_option(
         "--web.listen-address", options.listen_addresses,
         "Address to serve on: host:port, :port, [v6]:port or unix:/path. May be repeated. [:" +
             std::to_string(kDefaultPort) + "]")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->check(address_error);
  app.add_option(
         "--web.health-address", options.health_address,
         "Address to serve /-/healthy and /-/ready on as well, and nothing else, over plain "
         "HTTP: for probes where --web.config.file requires client certificates.")
      ->type_name("ADDRESS")
      ->check(address_error);
  app.add_flag("--web.systemd-socket", options.systemd_socket,
               "Serve on the sockets that systemd passes, and not on the default address.");
  CLI::Option* const file =
      add_path(app, "--web.config.file", options.web_config_file, "FILE",
               "File with TLS, users and limits for clients, in the format of the Prometheus "
               "exporter-toolkit: see docs/web-configuration.md.");
  app.add_option("--web.require", options.web_required,
                 "What that file must have, or the exporter does not start: tls, users or "
                 "client-certificate; several with commas.")
      ->type_name("PROTECTIONS")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(requirement_error)
      ->needs(file);
  add_number(
      app, "--web.max-queued-scrapes", options.max_queued_scrapes, 0, kMaxQueuedScrapes, "NUMBER",
      "Maximum number of distinct scrapes that are queued. Scrapes with the same parameters and "
      "format are rendered once. Scrapes with collect[] or exclude[] have a second queue of the "
      "same size. 0: no limit. [40]");
  app.add_flag(
      "--web.enable-lifecycle", options.lifecycle,
      "Let clients reload the configuration with POST /-/reload, and pause hardware events "
      "with POST /-/pause. Also configure users (--web.config.file): see docs/serving.md.");
  app.add_flag("--web.ready-needs-events", options.ready_needs_events,
               "Answer 503 to /-/ready while no configured event is counted anywhere, for example "
               "because a right is missing.");
  app.add_option("--web.telemetry-path", options.telemetry_path, "Path of the metrics. [/metrics]")
      ->type_name("PATH")
      ->check([](const std::string& path) {
        return is_path_of_its_own(path)
                   ? std::string{}
                   : "'" + path +
                         "' cannot be the path of the metrics. Remedy: write one such as /metrics";
      })
      ->transform([](const std::string& path) { return as_requested(path); });
}

void declare_stat(CLI::App& app, Options& options) {
  CLI::App* stat = app.add_subcommand(
      "stat", "Count events in a command, after '--', or in a process, and print the result.");
  stat->footer(
      "perf_event_exporter stat [OPTIONS] -p PID\n"
      "perf_event_exporter stat [OPTIONS] -- COMMAND [ARGUMENT]...\n"
      "The result of a command is on standard error, as standard output is its own.\n\n" +
      stat->get_footer());
  stat->add_option("-e,--event", options.stat_events,
                   "Events of one group, spelled as in a configuration: cycles,instructions. May "
                   "be repeated. Default: the groups of the configuration with scope cgroup.")
      ->type_name("EVENTS")
      ->allow_extra_args(false);
  stat->add_option_function<std::string>(
          "-p,--pid",
          [&options](const std::string& given) {
            const auto pid = number_within(given, 1, std::numeric_limits<int>::max());
            if (!pid) {
              throw CLI::ValidationError(
                  "--pid", "'" + given + "' is not the number of a process. Remedy: see ps -e");
            }
            options.stat_pid = static_cast<int>(*pid);
          },
          "Count all threads of this process, and those that they create, until it ends or Ctrl-C "
          "is pressed.")
      ->type_name("PID");
  add_choice(*stat, "--output", options.output, kOutputFormats, "FORMAT",
             "text, or json: one line with all evidence. [text]");
  stat->fallthrough();
}

void declare(CLI::App& app, Options& options) {
  CLI::Option* const file =
      add_path(app, "--config.file", options.config_file, "FILE",
               "Configuration file. Default: the embedded configuration, which adapts to the "
               "machine. --config.check, --once, cgroups, doctor, size and stat use " +
                   std::string(kInstalledConfig) + " if it exists.");
  app.add_flag("--config.watch", options.watch_config,
               "Reload the configuration when its file is replaced by another one.")
      ->needs(file);
  CLI::Option* const check = app.add_flag(
      "--config.check", options.check_config,
      "Read the configuration, try every event on this machine, print the result and exit.");
  add_path(app, "--machine", options.machine_file, "FILE",
           "With --config.check: not for this machine, but for one that doctor --output=json has "
           "recorded.")
      ->needs(check);
  app.add_flag_callback(
      "--config.check-start", [&options] { options.check_config = options.check_start = true; },
      "The same, but print only what prevents a start or a reload, and exit: events that this "
      "machine does not have prevent none.");
  add_choice(app, kUnknownOption, options.unknown_keys, kUnknownKeys, "WORD",
             "What becomes of unknown keys: error, or warn, which ignores them. [error; a service "
             "ignores those of a file that requires a newer version]");
  app.add_flag("--once", options.once,
               "Poll twice, one interval apart, print one scrape and exit.");
  declare_web(app, options);
  add_path(app, "--path.sysfs", options.roots.sysfs, "DIR",
           "Where the host's sysfs is mounted. [" + options.roots.sysfs + "]");
  add_path(app, "--path.procfs", options.roots.procfs, "DIR",
           "Where the host's procfs is mounted. [" + options.roots.procfs + "]");
  add_path(app, "--path.cgroupfs", options.roots.cgroupfs, "DIR",
           "Root of the cgroup hierarchy with the perf_event controller. Default: from the "
           "mount table.");
  add_choice(app, "--log.level", options.log_level, kLogLevels, "LEVEL",
             "debug, info, warn or error. [info]");
  add_choice(app, "--log.format", options.log_format, kLogFormats, "FORMAT",
             "logfmt or json. [logfmt]");

  app.require_subcommand(0, 1);
  CLI::App* list = app.add_subcommand("list", "Print the events that this machine has.");
  list->add_option("GLOB", options.list_glob,
                   "All events whose name, kind or PMU matches, in any case: 'L1-*', software.")
      ->type_name("");
  list->add_flag("--all", options.list_all, "Print also the events that this machine lacks.");
  add_choice(*list, "--output", options.output, kOutputFormats, "FORMAT",
             "text, or json with the attributes and the metric of each event. [text]");
  list->fallthrough();  // the options of the program may follow the command as well
  CLI::App* cgroups = app.add_subcommand("cgroups", "Print the cgroups that would be counted now.");
  cgroups
      ->add_option("PATH", options.cgroup_paths,
                   "Only these cgroups, with their labels, and why each is counted or not.")
      ->type_name("");
  cgroups->add_flag("--all", options.all_cgroups,
                    "Every cgroup, with its CPU time and labels, and why it is counted or not.");
  cgroups->add_flag("--labels", options.cgroup_labels, "Print the labels of each cgroup.");
  cgroups->fallthrough();
  CLI::App* size = app.add_subcommand(
      "size", "Print the counters, open files, series and memory that a configuration takes.");
  add_number(*size, "--cpus", options.size_cpus, 1, kMaxCpus, "N",
             "CPUs of the machine. [as many as here]");
  add_number(*size, "--cgroups", options.size_cgroups, 0, config::Cgroups::kMax, "N",
             "Cgroups that are counted at the same time. [cgroups.max]");
  size->fallthrough();
  CLI::App* doctor =
      app.add_subcommand("doctor", "Print what this machine allows, and what to change.");
  add_choice(*doctor, "--output", options.output, kOutputFormats, "FORMAT",
             "text, or json, with a record of the machine for --config.check --machine. [text]");
  doctor->fallthrough();
  app.add_subcommand(
         "reset", "Forget crashes of earlier starts: the next start or reload counts everything.")
      ->fallthrough();
  CLI::App* health = app.add_subcommand(
      "health", "Ask the exporter with the same options, over HTTP, whether it is healthy.");
  health->add_flag("--ready", options.readiness, "Ask whether the first poll is complete.");
  health->fallthrough();
  declare_stat(app, options);
}

void add_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

/// Throws if `word` is "--option=" with an option that has a value. CLI11 takes the next word for
/// the value, and so another option where a variable is empty: --path.cgroupfs=$ROOT --once.
void require_value(const CLI::App& app, std::string_view word) {
  if (!word.starts_with("--") || word.find('=') + 1 != word.size()) return;
  const std::string name{word.substr(0, word.size() - 1)};
  std::vector<const CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
  all.push_back(&app);
  for (const CLI::App* each : all) {
    const CLI::Option* const option = each->get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    throw CLI::ValidationError(name, missing_value(name, option->get_type_name()));
  }
}

/// For a command of stat that is not after '--'; else nothing.
std::string misses_dashes(const CLI::App& app) {
  const std::vector<std::string> unexpected = app.remaining(true);
  if (!app.got_subcommand("stat") || unexpected.empty() || unexpected.front().starts_with('-')) {
    return {};
  }
  return "Remedy: write -- before the command: stat -- " + printable(unexpected.front()) + ". ";
}

/// "Did you mean '--config.file'? ", for the first argument that was not expected; else nothing.
std::string did_you_mean(const CLI::App& app) {
  std::vector<std::string> known;
  add_names(app, known);
  std::vector<std::string> unexpected = app.remaining(true);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
    if (app.got_subcommand(command->get_name())) add_names(*command, known);
  }
  if (unexpected.empty()) return {};
  const std::string written = unexpected.front().substr(0, unexpected.front().find('='));
  const std::optional<std::string> meant = nearest(written, known);
  return meant ? "Did you mean '" + *meant + "'? " : "";
}

/// An unknown key is an error for a person, who can correct it at once.
bool is_for_a_person(const Options& options) {
  const bool is_container = ::getpid() == 1;  // even with a terminal
  const bool has_terminal = ::isatty(STDIN_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1;
  return (options.check_config && !options.check_start) ||
         (serves(options) && has_terminal && !is_container);
}

}  // namespace

bool serves(const Options& options) {
  return !options.check_config && !options.once && !options.doctor && !options.health &&
         !options.list_cgroups && !options.list_events && !options.size && !options.stat &&
         !options.reset;
}

void take_installed_config(Options& options, const std::string& file) {
  const bool is_command = options.check_config || options.once || options.doctor ||
                          options.list_cgroups || options.stat || options.size;
  std::error_code failed;
  if (!is_command || !options.config_file.empty() || !std::filesystem::exists(file, failed)) return;
  options.config_file = file;
}

std::string name_of_config(const Options& options) {
  return options.config_file.empty() ? "the embedded default" : "'" + options.config_file + "'";
}

std::variant<Options, ExitStatus> parse_command_line(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Exports perf_event counters of CPUs and cgroups to Prometheus."};
  app.name(kProgram);
  app.set_version_flag("--version", version_text(), "Print the version and exit.");
  set_help_of_commands(app);
  declare(app, options);
  set_help_of_program(app);

  // What follows belongs to the command of stat, and is no option of ours.
  const char* const* const end = argv + argc;
  const char* const* const dashes =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes != end) options.stat_command.assign(dashes + 1, end);

  try {
    for (const char* const* word = argv; word != dashes; ++word) require_value(app, *word);
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::Success& done) {  // help or version
    app.exit(done);
    return flush_output() ? kOk : kFailed;
  } catch (const CLI::ParseError& error) {
    std::cerr << kProgram << ": " << printable(error.what()) << ". " << did_you_mean(app)
              << misses_dashes(app) << "See --help.\n";
    return kUsage;
  }
  options.list_events = app.got_subcommand("list");
  options.list_cgroups = app.got_subcommand("cgroups");
  options.size = app.got_subcommand("size");
  options.reset = app.got_subcommand("reset");
  options.doctor = app.got_subcommand("doctor");
  options.health = app.got_subcommand("health");
  options.stat = app.got_subcommand("stat");
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (const std::optional<std::string> error =
          combination_error(options, commands.empty() ? "" : commands.front()->get_name())) {
    std::cerr << kProgram << ": " << *error << ". See --help.\n";
    return kUsage;
  }
  if (app.count(kUnknownOption) == 0 && is_for_a_person(options)) {
    options.unknown_keys = config::UnknownKeys::kError;
  }
  options.serves_by_default = options.listen_addresses.empty() && !options.systemd_socket;
  if (options.serves_by_default) {
    options.listen_addresses = {":" + std::to_string(kDefaultPort)};
  }
  take_installed_config(options);
  // Of systemd.exec(5): several directories are separated by colons.
  const char* const state = std::getenv("STATE_DIRECTORY");
  options.state_directory = state != nullptr ? split(state, ':').front()
                            : options.reset  ? kInstalledState
                                             : "";
  return options;
}

}  // namespace pex::daemon
