#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/commands/commands.h"
#include "daemon/run/app.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// One error in the form of the file, one in the name of an event, one in a pattern of cgroups.
constexpr const char* kThreeErrors =
    "groups: [{name: core, events: [cylces], scope: cpu}]\n"
    "collection: {interval: 5}\n"
    "cgroups: {include: ['/a//b']}\n";

class CheckConfigTest : public testing::Test {
 protected:
  CheckConfigTest() {
    options_.roots = {
        .sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = tree_.path("cgroup")};
    options_.config_file = tree_.path("c.yaml");
  }

  auto lists_all_three() const {
    const std::string file = options_.config_file;
    return ElementsAre(StartsWith(file + ":1:32: groups[0].events[0]: there is no event"),
                       StartsWith(file + ":2:24: collection.interval: '5' has no unit"),
                       StartsWith(file + ":3:21: cgroups.include[0]: '/a//b' matches no path"));
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}, {"c.yaml", kThreeErrors}};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_;
};

TEST_F(CheckConfigTest, PrintsErrorsOfFormAndOfNamesInOneRun) {
  testing::internal::CaptureStderr();

  const ExitStatus status = check_config(options_, kernel_);

  const std::string text = testing::internal::GetCapturedStderr();
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  EXPECT_EQ(status, kFailed);
  EXPECT_THAT(lines, lists_all_three());
}

/// What is printed with `group` as the only one.
std::string output_for(const std::string& group, Options& options, test::TempTree& tree,
                       test::ScriptedKernel& kernel, const std::string& other_keys = {}) {
  tree.write("c.yaml", "groups: [" + group + "]\n" + other_keys);
  testing::internal::CaptureStdout();
  const ExitStatus status = check_config(options, kernel);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status, kOk) << text;
  return text;
}

TEST_F(CheckConfigTest, SaysWhatItIgnoresOfAFileForANewerVersion) {
  options_.unknown_keys = config::UnknownKeys::kWarnIfNewer;
  tree_.make_directory("cgroup");
  const std::string group = "{name: core, events: [cycles, newer-event], scope: cpu}";

  tree_.write("c.yaml", "requires: 99.1\ngroups: [" + group + ", {name: b, size: 5}]\n");
  testing::internal::CaptureStdout();
  EXPECT_EQ(check_config(options_, kernel_), kFailed);
  const std::string text = testing::internal::GetCapturedStdout();

  EXPECT_THAT(text, HasSubstr("c.yaml:1:11: requires: the file is for version 99.1, and"));
  EXPECT_THAT(text, HasSubstr("groups[1].size: unknown key: ignored\n"));
  EXPECT_THAT(text, HasSubstr("group 'b' is left out: this version does not know all of it\n"));
  EXPECT_THAT(text, HasSubstr("not counted here: newer-event: "));
  EXPECT_THAT(text, HasSubstr("valid: 1 of 2 events can be counted here"));
}

TEST_F(CheckConfigTest, NotesThatAClockOfScopeCpuIsElapsedTime) {
  tree_.make_directory("cgroup");
  const auto output = [&](const std::string& group) {
    return output_for(group, options_, tree_, kernel_);
  };

  EXPECT_THAT(output("{name: soft, events: [task-clock, cs], scope: [cpu, cgroup]}"),
              HasSubstr("\nnote: perf_cpu_task_clock_seconds_total is elapsed time: it grows by 1 "
                        "per second on each CPU, busy or idle. For CPU time, count task-clock with "
                        "scope cgroup only\n"));
  EXPECT_THAT(output("{name: soft, events: [cpu-clock], scope: cpu}"),
              HasSubstr("note: perf_cpu_cpu_clock_seconds_total is elapsed time"));
  EXPECT_THAT(output("{name: soft, events: [task-clock], scope: cgroup}"), Not(HasSubstr("note:")));
  EXPECT_THAT(output("{name: soft, events: [{event: task-clock, help: Elapsed.}], scope: cpu}"),
              Not(HasSubstr("note:")));
}

TEST_F(CheckConfigTest, AnEventThatIsRefusedHasTheReasonOfTheKernelInBothScopes) {
  kernel_.refuse("cycles", EACCES);

  tree_.write("c.yaml", "groups: [{name: core, events: [cycles], scope: [cpu, cgroup]}]\n");
  testing::internal::CaptureStdout();
  check_config(options_, kernel_);
  const std::string text = testing::internal::GetCapturedStdout();

  EXPECT_THAT(text, HasSubstr("perf_cgroup_cycles_total  no (EACCES)\n"));
  EXPECT_THAT(text, Not(HasSubstr("no cgroup mount")));
}

TEST_F(CheckConfigTest, WhatAnOptionalGroupLacksIsNoFailure) {
  kernel_.refuse("branches", ENOENT);

  const std::string text = output_for(
      "{name: core, events: [cs, branches], scope: cpu, optional: true}", options_, tree_, kernel_);

  EXPECT_THAT(text, HasSubstr("no (ENOENT), optional\n"));
  EXPECT_THAT(text, HasSubstr("\nvalid: 1 of 2 events can be counted here; 1 missing, but "
                              "optional\n"));
  EXPECT_THAT(text, Not(HasSubstr("not counted here")));
}

TEST_F(CheckConfigTest, AMisspelledNameIsPrintedAndNoFailureInAnOptionalGroup) {
  tree_.write(
      "c.yaml",
      "groups: [{name: core, events: [cs, fautls, of-others], scope: cpu, optional: true}]\n");
  testing::internal::CaptureStdout();
  const ExitStatus status = check_config(options_, kernel_);
  const std::string text = testing::internal::GetCapturedStdout();

  EXPECT_EQ(status, kOk);
  EXPECT_THAT(text, HasSubstr("not counted here: fautls: there is no event 'fautls'"));
  EXPECT_THAT(text, HasSubstr("valid: 1 of 3 events can be counted here; 2 missing, but optional"));
}

TEST_F(CheckConfigTest, AFaultOfTheFileFailsAlsoInAnOptionalGroup) {
  for (const char* const fault : {"faults:zz", "sched/"}) {
    tree_.write("c.yaml",
                std::string("groups: [{name: core, scope: cpu, optional: true, events: ") +
                    "[cs, '" + fault + "']}]\n");
    testing::internal::CaptureStdout();
    EXPECT_EQ(check_config(options_, kernel_), kFailed) << fault;
    EXPECT_THAT(testing::internal::GetCapturedStdout(),
                HasSubstr("exit status 1: 1 event cannot be counted"));
  }
}

TEST_F(CheckConfigTest, IsNotValidWhereTheExporterDoesNotStartAndNamesEachLimit) {
  tree_.write("c.yaml",
              "groups: [{name: soft, events: [cs, faults], scope: cpu}]\n"
              "limits: {max_open_events: 1, max_series: 2}\n");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();

  const ExitStatus status = check_config(options_, kernel_);

  const std::string errors = testing::internal::GetCapturedStderr();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status, kFailed);
  EXPECT_THAT(text, HasSubstr("\nnot valid: 2 of 2 events can be counted here\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nvalid:")));
  EXPECT_EQ(errors,
            "the groups of scope cpu need 3 open events, and 1 are allowed: the exporter does not "
            "start. Remedy: raise limits.max_open_events, or count fewer events\n"
            "the groups of scope cpu need 4 series, and 2 are allowed: the exporter does not "
            "start. Remedy: raise limits.max_series, or count fewer events\n");
}

TEST_F(CheckConfigTest, SaysHowManyEventsCannotBeCounted) {
  kernel_.refuse("branches", ENOENT);
  tree_.write("c.yaml", "groups: [{name: core, events: [cs, branches], scope: cpu}]\n");
  testing::internal::CaptureStdout();

  EXPECT_EQ(check_config(options_, kernel_), kFailed);

  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("\nexit status 1: 1 event cannot be counted\n"));
}

TEST_F(CheckConfigTest, WarningsOfTheWebConfigurationAreNoErrors) {
  tree_.write("web.yaml", "{}\n");
  options_.web_config_file = tree_.path("web.yaml");
  testing::internal::CaptureStderr();

  const std::string text =
      output_for("{name: soft, events: [cs], scope: cpu}", options_, tree_, kernel_);

  EXPECT_THAT(text, HasSubstr("web configuration: '" + options_.web_config_file + "' is valid\n"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              StartsWith("warning: the web configuration '" + options_.web_config_file +
                         "' has neither TLS nor users"));
}

TEST_F(CheckConfigTest, NamesGroupsThatAreLeftOutWithTheReason) {
  const std::string text = output_for(
      "{name: soft, events: [cs], scope: cpu}, "
      "{name: large, events: [minor-faults], scope: cpu, when: {cpus: 64}}",
      options_, tree_, kernel_);

  EXPECT_THAT(text, HasSubstr("\ngroup 'large' is left out: when.cpus: it needs at least 64 CPUs, "
                              "and this machine has 1\n"));
  EXPECT_THAT(text, HasSubstr("\nvalid: 1 of 1 event can be counted here\n"));
}

TEST_F(CheckConfigTest, CgroupsThatCannotBeReadAreNotZero) {
  const auto output = [&] {
    return output_for("{name: soft, events: [cs], scope: cgroup}", options_, tree_, kernel_);
  };
  tree_.make_directory("cgroup/system.slice/a.service");
  EXPECT_THAT(output(), HasSubstr("cgroups       1 cgroup matches now; room for"));

  // Without the option, the directory is that of the mount table.
  tree_.write("proc/self/mountinfo",
              "30 23 0:26 / " + options_.roots.cgroupfs + " rw - cgroup2 cgroup2 rw\n");
  options_.roots.cgroupfs.clear();
  tree_.remove("cgroup");

  EXPECT_THAT(output(), AllOf(HasSubstr("cgroups       at least 0 cgroups match now; room for"),
                              HasSubstr("\nread cgroup directory '")));
}

TEST_F(CheckConfigTest, ComputesTheRoomByRecordsWhereTheyCanBeHad) {
  tree_.make_directory("cgroup");
  const auto output = [&](const std::string& source) {
    return output_for("{name: soft, events: [cs, faults], scope: cgroup}", options_, tree_, kernel_,
                      "cgroups: {source: " + source + "}\n");
  };

  EXPECT_THAT(output("auto"), HasSubstr(", and 2 for each cgroup\nseries"));
  EXPECT_THAT(output("descriptors"), HasSubstr(", and 4 for each cgroup\nseries"));

  kernel_.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    return attr.sample_period == 1 ? EINVAL : 0;
  };
  EXPECT_THAT(output("auto"), HasSubstr(", and 4 for each cgroup\nseries"));
}

TEST_F(CheckConfigTest, NamesTheLimitThatHidesCgroups) {
  for (const char* name : {"a", "b", "c"}) {
    tree_.make_directory("cgroup/system.slice/" + std::string(name) + ".service");
  }
  tree_.write("c.yaml",
              "groups: [{name: soft, events: [cs], scope: cgroup}]\n"
              "limits: {max_cgroup_directories: 2}\n");
  testing::internal::CaptureStdout();

  (void)check_config(options_, kernel_);

  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, AllOf(HasSubstr("cgroups       at least "),
                          HasSubstr("limits.max_cgroup_directories")));
}

TEST_F(CheckConfigTest, AStartFailsWithTheSame) {
  boost::asio::io_context loop{1};
  Log log{LogLevel::kError, LogFormat::kLogfmt};
  App app{loop, options_, kernel_, log};

  const Result<void, std::vector<Error>> started = app.start();

  ASSERT_FALSE(started);
  std::vector<std::string> lines;
  for (const Error& error : started.error()) lines.push_back(describe(error));
  EXPECT_THAT(lines, lists_all_three());
}

}  // namespace
}  // namespace pex::daemon
