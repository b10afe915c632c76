#include "daemon/cli/options.h"

#include <variant>

#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::variant<Options, ExitStatus> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "perf_event_exporter");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

Options options(const std::vector<const char*>& words) { return std::get<Options>(parse(words)); }

/// What is said on stderr about a command line that ends with `kUsage`.
std::string complaint(const std::vector<const char*>& words) {
  const Printed printed = printed_by([&] { return std::get<ExitStatus>(parse(words)); });
  EXPECT_EQ(printed.status, kUsage);
  return printed.err;
}

TEST(OptionsTest, TheDefaultsServeOnTheDefaultPort) {
  const Options defaults = options({});

  EXPECT_EQ(defaults.listen_addresses, (std::vector<std::string>{":10173"}));
  EXPECT_EQ(defaults.telemetry_path, "/metrics");
  EXPECT_EQ(defaults.roots.sysfs, "/sys");
  EXPECT_EQ(defaults.roots.cgroupfs, "");
}

TEST(OptionsTest, CommandsTakeTheConfigurationWherePackagesInstallItIfItExists) {
  const test::TempTree tree{{"installed.yaml", ""}};
  const auto taken = [&](Options given, const char* file) {
    take_installed_config(given, tree.path(file));
    return name_of_config(given);
  };
  const std::string installed = "'" + tree.path("installed.yaml") + "'";

  Options doctor;
  doctor.doctor = true;
  EXPECT_EQ(taken(doctor, "installed.yaml"), installed);
  EXPECT_EQ(taken(doctor, "none.yaml"), "the embedded default");
  doctor.config_file = "c.yaml";
  EXPECT_EQ(taken(doctor, "installed.yaml"), "'c.yaml'");
  EXPECT_EQ(taken(Options{}, "installed.yaml"), "the embedded default");  // serves
}

TEST(OptionsTest, UnknownKeysAreErrorsForWhoChecksAFileUnlessTheyAreToBeIgnored) {
  using enum config::UnknownKeys;
  EXPECT_EQ(options({"--config.check"}).unknown_keys, kError);
  EXPECT_EQ(options({"--config.check", "--config.unknown=warn"}).unknown_keys, kWarn);
  EXPECT_EQ(options({"--config.check-start"}).unknown_keys, kWarnIfNewer);
  EXPECT_EQ(options({"--config.check-start", "--config.unknown=error"}).unknown_keys, kError);
  EXPECT_EQ(options({"doctor"}).unknown_keys, kWarnIfNewer);
}

TEST(OptionsTest, AnAddressIsChecked) {
  EXPECT_THAT(complaint({"--web.listen-address=10173"}), HasSubstr("Remedy: write host:port"));
  EXPECT_THAT(complaint({"--web.listen-address=a:99999"}), HasSubstr("is not an address"));
  for (const char* address : {":1", "localhost:1", "[::1]:2", "unix:/run/x"}) {
    EXPECT_EQ(options({"--web.listen-address", address}).listen_addresses.front(), address);
  }
}

TEST(OptionsTest, ASocketHasAnAbsolutePathThatFitsIntoAnAddress) {
  const std::string longest = "unix:/" + std::string(106, 'x');
  EXPECT_EQ(options({"--web.listen-address", longest.c_str()}).listen_addresses.front(), longest);
  for (const std::string& address :
       {std::string("unix:"), std::string("unix:rel"), longest + "x"}) {
    for (const char* option : {"--web.listen-address", "--web.health-address"}) {
      EXPECT_THAT(complaint({option, address.c_str()}),
                  HasSubstr("'" + address +
                            "' is not an address. Remedy: write unix: and an "
                            "absolute path of at most 107 bytes"));
    }
  }
}

TEST(OptionsTest, AnAddressIsGivenOnceUnlessTheKernelChoosesItsPort) {
  EXPECT_THAT(
      complaint(
          {"--web.listen-address=:1", "--web.listen-address=[::1]:1", "--web.listen-address=:1"}),
      HasSubstr("--web.listen-address: ':1' is given twice. Remedy: remove one of the two"));
  EXPECT_THAT(complaint({"--web.listen-address=unix:/a", "--web.listen-address=unix:/a"}),
              HasSubstr("'unix:/a' is given twice"));
  EXPECT_EQ(options({"--web.listen-address=:0", "--web.listen-address=:0"}).listen_addresses.size(),
            2U);
}

TEST(OptionsTest, NumbersAreDigitsWithinARange) {
  EXPECT_EQ(options({"--web.max-queued-scrapes=0"}).max_queued_scrapes, 0U);
  EXPECT_EQ(options({"--web.max-queued-scrapes=010"}).max_queued_scrapes, 10U);
  for (const char* given : {"-1", "1e3", "0x10", "1000001", "99999999999999999999"}) {
    EXPECT_THAT(complaint({"--web.max-queued-scrapes", given}),
                HasSubstr("--web.max-queued-scrapes: '" + std::string(given) +
                          "' is not a number from 0 to 1000000. Remedy: write one, in digits"));
  }
  EXPECT_EQ(options({"size", "--cpus=64", "--cgroups=0"}).size_cpus, 64U);
  EXPECT_EQ(options({"size", "--cpus=64", "--cgroups=0"}).size_cgroups, std::size_t{0});
  EXPECT_EQ(options({"size"}).size_cgroups, std::nullopt);
  EXPECT_THAT(complaint({"size", "--cpus=0"}), HasSubstr("'0' is not a number from 1 to 65536"));
  EXPECT_THAT(complaint({"size", "--cgroups=many"}), HasSubstr("'many' is not a number from 0"));
}

TEST(OptionsTest, AValueThatIsMissingDoesNotTakeTheNextOption) {
  EXPECT_THAT(complaint({"--path.cgroupfs=", "--config.check"}),
              HasSubstr("--path.cgroupfs: the value is missing. Remedy: write "
                        "--path.cgroupfs=DIR, or leave the option out"));
  EXPECT_THAT(complaint({"list", "--output=", "L1-*"}),
              HasSubstr("--output: the value is missing"));
  EXPECT_THAT(complaint({"--no-such-option="}), Not(HasSubstr("the value is missing")));
  EXPECT_EQ(options({"stat", "--", "ls", "--color="}).stat_command,
            (std::vector<std::string>{"ls", "--color="}));
}

TEST(OptionsTest, APathIsNeitherEmptyNorTheNextOption) {
  for (const std::string option :
       {"--config.file", "--web.config.file", "--path.sysfs", "--path.procfs", "--path.cgroupfs"}) {
    EXPECT_THAT(complaint({option.c_str(), ""}),
                HasSubstr(option + ": the value is missing. Remedy: write " + option + "="));
    EXPECT_THAT(
        complaint({option.c_str(), "--once"}),
        HasSubstr(option + ": '--once' begins like an option. Remedy: write " + option + "="));
    EXPECT_THAT(complaint({option.c_str()}), HasSubstr(option));
  }
  EXPECT_THAT(complaint({"doctor", "--web.config.file", ""}), HasSubstr("the value is missing"));
  EXPECT_THAT(complaint({"--config.watch", "--config.file", ""}),
              HasSubstr("the value is missing"));
  EXPECT_EQ(options({"--web.config.file", "./--once"}).web_config_file, "./--once");
  EXPECT_EQ(options({"--config.file", "-", "--path.cgroupfs", "a b"}).config_file, "-");
}

TEST(OptionsTest, WhatAWebConfigurationMustHaveIsAListOfProtections) {
  EXPECT_THAT(options({"--web.config.file=a", "--web.require=tls,users", "--web.require",
                       "client-certificate"})
                  .web_required,
              testing::ElementsAre("tls", "users", "client-certificate"));
  EXPECT_THAT(complaint({"--web.config.file=a", "--web.require=tls,password"}),
              HasSubstr("'password' is not a protection. Remedy: write one of tls, users, "));
  EXPECT_THAT(complaint({"--web.require=tls"}), HasSubstr("--web.config.file"));
}

TEST(OptionsTest, OneOfTheCommandsIsGiven) {
  EXPECT_THAT(complaint({"--config.check", "doctor"}),
              HasSubstr("--config.check and doctor cannot be used together. Remedy: write one"));
  EXPECT_THAT(complaint({"size", "--config.check"}), HasSubstr("--config.check and size cannot"));
  EXPECT_THAT(complaint({"--once", "list"}), HasSubstr("--once and list cannot"));
  EXPECT_THAT(complaint({"--config.check", "--once", "stat", "--", "ls"}),
              HasSubstr("--config.check and --once and stat cannot"));
  EXPECT_TRUE(options({"--config.check"}).check_config);
  EXPECT_TRUE(options({"--once"}).once);
}

TEST(OptionsTest, TheCommandCgroupsTakesPaths) {
  EXPECT_EQ(options({"cgroups", "/a", "b"}).cgroup_paths, (std::vector<std::string>{"/a", "b"}));
  EXPECT_TRUE(options({"cgroups", "--all"}).all_cgroups);
  EXPECT_TRUE(options({"cgroups", "--labels"}).cgroup_labels);
}

TEST(OptionsTest, LevelsAndFormatsAreWords) {
  const Options verbose = options({"--log.level=debug", "--log.format=json"});

  EXPECT_EQ(verbose.log_level, LogLevel::kDebug);
  EXPECT_EQ(verbose.log_format, LogFormat::kJson);
}

TEST(OptionsTest, TheDoctorIsACommandThatTakesNoFurtherWord) {
  EXPECT_TRUE(options({"doctor"}).doctor);
  EXPECT_FALSE(options({}).doctor);
  EXPECT_FALSE(options({"list"}).doctor);
  EXPECT_THAT(complaint({"doctor", "now"}), HasSubstr("now"));
  EXPECT_THAT(complaint({"doctor", "list"}), HasSubstr("list"));
}

TEST(OptionsTest, TheOptionsMayStandBehindTheCommand) {
  EXPECT_EQ(options({"doctor", "--config.file=a.yaml"}).config_file, "a.yaml");
  EXPECT_EQ(options({"--config.file=a.yaml", "doctor"}).config_file, "a.yaml");
  EXPECT_EQ(options({"list", "L1-*", "--path.sysfs=/host"}).roots.sysfs, "/host");
}

TEST(OptionsTest, HealthIsACommandThatMayAskForReadiness) {
  EXPECT_TRUE(options({"health"}).health);
  EXPECT_FALSE(options({"health"}).readiness);
  EXPECT_TRUE(options({"health", "--ready"}).readiness);
  EXPECT_THAT(complaint({"--ready"}), HasSubstr("--ready"));
}

TEST(OptionsTest, SwitchesAreOffUnlessTheyAreGiven) {
  EXPECT_FALSE(options({"--config.file", "a.yaml"}).watch_config);
  EXPECT_TRUE(options({"--config.file", "a.yaml", "--config.watch"}).watch_config);
  EXPECT_FALSE(options({}).ready_needs_events);
  EXPECT_TRUE(options({"--web.ready-needs-events"}).ready_needs_events);
}

TEST(OptionsTest, StatHasEventsAndAProcess) {
  const Options stat =
      options({"stat", "-e", "cycles,instructions", "--event={page-faults}", "-p", "17"});

  EXPECT_TRUE(stat.stat);
  EXPECT_EQ(stat.stat_events, (std::vector<std::string>{"cycles,instructions", "{page-faults}"}));
  EXPECT_EQ(stat.stat_pid, 17);
  EXPECT_TRUE(stat.stat_command.empty());
}

TEST(OptionsTest, StatHasACommandWithOptionsOfItsOwn) {
  const Options stat =
      options({"stat", "--output=json", "--", "ls", "-l", "--help", "--", "--output"});

  EXPECT_EQ(stat.output, OutputFormat::kJson);
  EXPECT_EQ(stat.stat_command, (std::vector<std::string>{"ls", "-l", "--help", "--", "--output"}));
}

TEST(OptionsTest, StatNeedsEitherAProcessOrACommand) {
  EXPECT_THAT(complaint({"stat"}), HasSubstr("nothing to count. Remedy: write -p PID"));
  EXPECT_THAT(complaint({"stat", "--"}), HasSubstr("nothing to count"));
  EXPECT_THAT(complaint({"stat", "-p", "17", "--", "ls"}), HasSubstr("either"));
  EXPECT_THAT(complaint({"stat", "true"}),
              HasSubstr("Remedy: write -- before the command: stat -- true. See"));
  EXPECT_THAT(complaint({"stat", "--evnt", "cycles"}), Not(HasSubstr("before the command")));
  EXPECT_THAT(complaint({"stat", "-p", "0"}), HasSubstr("'0' is not the number"));
  EXPECT_THAT(complaint({"stat", "-p", "x"}), HasSubstr("'x' is not"));
  EXPECT_THAT(complaint({"list", "--", "ls"}), HasSubstr("Remedy: remove '--'"));
  EXPECT_THAT(complaint({"--", "ls"}), HasSubstr("Remedy: write 'stat -- COMMAND'"));
}

TEST(OptionsTest, DistinguishesADefaultAddressFromOneThatWasAskedFor) {
  EXPECT_TRUE(options({}).serves_by_default);
  EXPECT_FALSE(options({"--web.listen-address=:10173"}).serves_by_default);
  EXPECT_FALSE(options({"--web.systemd-socket"}).serves_by_default);
}

TEST(OptionsTest, AnUnknownFlagIsNamed) {
  EXPECT_THAT(complaint({"--web.port=1"}), HasSubstr("--web.port=1"));
  EXPECT_THAT(complaint({"--web.port=1"}), Not(HasSubstr("Did you mean")));
  EXPECT_THAT(complaint({"--config-file=x"}), HasSubstr("Did you mean '--config.file'? See"));
  EXPECT_THAT(complaint({"docter"}), HasSubstr("Did you mean 'doctor'? See"));
}

TEST(OptionsTest, TheMetricsCannotTakeThePathOfAnotherPage) {
  for (const char* path : {"/", "/-/ready", "/page.js", "metrics"}) {
    EXPECT_THAT(complaint({"--web.telemetry-path", path}), HasSubstr("Remedy")) << path;
  }
}

std::string help_of(std::vector<const char*> words) {
  words.push_back("--help");
  const Printed printed = printed_by([&] { return std::get<ExitStatus>(parse(words)); });
  EXPECT_EQ(printed.status, kOk);
  return printed.out;
}

TEST(OptionsTest, HelpNamesTheExitStatusesAndThatOfACommandRefersToIt) {
  EXPECT_THAT(help_of({}), HasSubstr("Exit status:\n  0  Success."));
  for (const char* command : {"list", "cgroups", "size", "doctor", "health", "stat"}) {
    EXPECT_THAT(help_of({}), HasSubstr(std::string("\n  ") + command + " "));
    EXPECT_THAT(help_of({command}),
                AllOf(HasSubstr("Global options: see perf_event_exporter --help."),
                      Not(HasSubstr("Exit status")), Not(HasSubstr("--config.file"))));
  }
}

TEST(OptionsTest, NoLineOfHelpIsLongerThanATerminal) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {}, {"list"}, {"cgroups"}, {"size"}, {"doctor"}, {"health"}, {"stat"}}) {
    for (const std::string& line : lines_of(help_of(words))) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(OptionsTest, ThePathOfTheMetricsIsPercentEncodedAsClientsSendIt) {
  EXPECT_EQ(options({"--web.telemetry-path=/m\u00e9triques"}).telemetry_path, "/m%C3%A9triques");
  EXPECT_EQ(options({"--web.telemetry-path=/m%C3%A9triques"}).telemetry_path, "/m%C3%A9triques");
  EXPECT_EQ(options({"--web.telemetry-path=/a/b-c_d.e~f"}).telemetry_path, "/a/b-c_d.e~f");
  for (const char* path : {"/a b", "/a\nb", "/a?b"}) {
    EXPECT_THAT(complaint({"--web.telemetry-path", path}), HasSubstr("Remedy")) << path;
  }
}

}  // namespace
}  // namespace pex::daemon
