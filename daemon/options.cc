#include "daemon/options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "daemon/version.h"

namespace pex::daemon {
namespace {

const std::map<std::string, LogLevel> kLogLevels = {{"debug", LogLevel::kDebug},
                                                    {"info", LogLevel::kInfo},
                                                    {"warn", LogLevel::kWarn},
                                                    {"error", LogLevel::kError}};
const std::map<std::string, LogFormat> kLogFormats = {{"logfmt", LogFormat::kLogfmt},
                                                      {"json", LogFormat::kJson}};

constexpr const char* kFooter =
    "\nSignals: SIGTERM and SIGINT end the program, SIGHUP reads the configuration anew.\n"
    "Exit status: 0 ended as asked, 1 configuration or start-up failed, 2 wrong command line.";

std::string version_text() {
  return std::string(kProgram) + ", version " + kVersion + "\n  compiler: g++ " + __VERSION__;
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--config.file", options.config_file,
                 "Configuration to read; without it, an embedded default that adapts to the "
                 "machine.")
      ->type_name("FILE");
  app.add_flag("--config.check", options.check_config,
               "Read the configuration, try every event on this machine, print a table and end.");
  app.add_flag("--once", options.once, "Poll twice, one interval apart, print one scrape and end.");
  app.add_option("--web.listen-address", options.listen_addresses,
                 "Address to serve on: host:port, :port or [v6]:port. May be repeated. [:" +
                     std::to_string(kDefaultPort) + "]")
      ->type_name("ADDRESS");
  app.add_option("--web.telemetry-path", options.telemetry_path, "Path of the metrics.")
      ->type_name("PATH")
      ->capture_default_str()
      ->check([](const std::string& path) {
        return path.starts_with('/') && path != "/" && !path.starts_with("/-/")
                   ? std::string{}
                   : "'" + path + "' is not a path of its own. Remedy: write one such as /metrics";
      });
  app.add_option("--path.sysfs", options.roots.sysfs, "Where the host's sysfs is mounted.")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--path.procfs", options.roots.procfs, "Where the host's procfs is mounted.")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--path.cgroupfs", options.roots.cgroupfs,
                 "Root of the cgroup hierarchy that carries perf_event; without it, found in the "
                 "mount table.")
      ->type_name("DIR");
  app.add_option("--log.level", options.log_level, "debug, info, warn or error. [info]")
      ->type_name("LEVEL")
      ->transform(CLI::CheckedTransformer(kLogLevels).description(""));
  app.add_option("--log.format", options.log_format, "logfmt or json. [logfmt]")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(kLogFormats).description(""));

  CLI::App* list = app.add_subcommand("list", "Print every event and whether this machine has it.");
  list->add_option("GLOB", options.list_glob, "Only names that match, such as 'L1-*'.");
}

}  // namespace

std::variant<Options, ExitStatus> parse_command_line(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Counts what the CPUs really do, for every CPU and every cgroup, for Prometheus."};
  app.name(kProgram);
  app.footer(kFooter);
  app.set_version_flag("--version", version_text());
  app.set_help_flag("-h,--help", "Print this help and end.");
  declare(app, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // help or version
    app.exit(done);
    return kOk;
  } catch (const CLI::ParseError& mistake) {
    std::cerr << kProgram << ": " << mistake.what() << ". See --help.\n";
    return kUsage;
  }
  options.list_events = app.got_subcommand("list");
  if (options.listen_addresses.empty()) {
    options.listen_addresses = {":" + std::to_string(kDefaultPort)};
  }
  return options;
}

}  // namespace pex::daemon
