
#include <boost/asio/io_context.hpp>
#include <cerrno>

#include "daemon/commands/commands.h"
#include "daemon/run/app.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
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
  Printed check() {
    return printed_by([this] { return check_config(options_, kernel_); });
  }
  Printed check(const std::string& groups, const std::string& other_keys = {}) {
    tree_.write("config.yaml", "groups: [" + groups + "]\n" + other_keys);
    return check();
  }
  /// The text of a check that finds the configuration valid.
  std::string text_for(const std::string& groups, const std::string& other_keys = {}) {
    const Printed printed = check(groups, other_keys);
    EXPECT_EQ(printed.status, kOk) << printed.out;
    return printed.out;
  }

  auto lists_all_three() const {
    const std::string file = options_.config_file;
    return ElementsAre(StartsWith(file + ":1:32: groups[0].events[0]: there is no event"),
                       StartsWith(file + ":2:24: collection.interval: '5' has no unit"),
                       StartsWith(file + ":3:21: cgroups.include[0]: '/a//b' matches no path"));
  }

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"}, {"config.yaml", kThreeErrors}};
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_ = options_in(tree_);
};

TEST_F(CheckConfigTest, PrintsErrorsOfFormAndOfNamesInOneRun) {
  const Printed printed = check();

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_THAT(lines_of(printed.err), lists_all_three());
}

TEST_F(CheckConfigTest, AStartFailsWithTheSame) {
  boost::asio::io_context loop{1};
  Log log{LogLevel::kError, LogFormat::kLogfmt};
  App app{loop, options_, kernel_, log};

  const Result<void, std::vector<Error>> started = app.start();

  ASSERT_FALSE(started);
  EXPECT_THAT(described(started.error()), lists_all_three());
}

TEST_F(CheckConfigTest, SaysWhatItIgnoresOfAFileForANewerVersion) {
  options_.unknown_keys = config::UnknownKeys::kWarnIfNewer;
  tree_.make_directory("cgroup");
  tree_.write("config.yaml",
              "requires: 99.1\n"
              "groups: [{name: core, events: [cycles, newer-event], scope: cpu}, "
              "{name: b, size: 5}]\n");

  const Printed printed = check();

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_THAT(printed.out,
              AllOf(HasSubstr("config.yaml:1:11: requires: the file is for version 99.1, and"),
                    HasSubstr("groups[1].size: unknown key: ignored\n"),
                    HasSubstr("group 'b' is left out: this version does not know all of it\n"),
                    HasSubstr("not counted here: newer-event: "),
                    HasSubstr("valid: 1 of 2 events can be counted here")));
}

TEST_F(CheckConfigTest, NotesThatAClockOfScopeCpuIsElapsedTime) {
  tree_.make_directory("cgroup");

  EXPECT_THAT(text_for("{name: soft, events: [task-clock, cs], scope: [cpu, cgroup]}"),
              HasSubstr("\nnote: perf_cpu_task_clock_seconds_total is elapsed time: it grows by 1 "
                        "per second on each CPU, busy or idle. For CPU time, count task-clock with "
                        "scope cgroup only\n"));
  EXPECT_THAT(text_for("{name: soft, events: [cpu-clock], scope: cpu}"),
              HasSubstr("note: perf_cpu_cpu_clock_seconds_total is elapsed time"));
  for (const char* group :
       {"{name: soft, events: [task-clock], scope: cgroup}",
        "{name: soft, events: [{event: task-clock, help: Elapsed.}], scope: cpu}"}) {
    EXPECT_THAT(text_for(group), Not(HasSubstr("note:")));
  }
}

TEST_F(CheckConfigTest, AnEventThatIsRefusedHasTheReasonOfTheKernelInBothScopes) {
  kernel_.refuse("cycles", EACCES);

  EXPECT_THAT(check("{name: core, events: [cycles], scope: [cpu, cgroup]}").out,
              AllOf(HasSubstr("perf_cgroup_cycles_total  no (EACCES)\n"),
                    Not(HasSubstr("no cgroup mount"))));
}

TEST_F(CheckConfigTest, WhatAnOptionalGroupLacksIsNoFailure) {
  kernel_.refuse("branches", ENOENT);

  EXPECT_THAT(
      text_for("{name: core, events: [cs, branches], scope: cpu, optional: true}"),
      AllOf(HasSubstr("no (ENOENT), optional\n"),
            HasSubstr("\nvalid: 1 of 2 events can be counted here; 1 missing, but optional\n"),
            Not(HasSubstr("not counted here"))));
}

TEST_F(CheckConfigTest, AMisspelledNameIsPrintedAndNoFailureInAnOptionalGroup) {
  EXPECT_THAT(text_for("{name: core, events: [cs, fautls, of-others], scope: cpu, optional: true}"),
              AllOf(HasSubstr("not counted here: fautls: there is no event 'fautls'"),
                    HasSubstr("valid: 1 of 3 events can be counted here; 2 missing, but "
                              "optional")));
}

TEST_F(CheckConfigTest, SaysHowManyEventsCannotBeCounted) {
  kernel_.refuse("branches", ENOENT);
  for (const char* group : {"{name: core, events: [cs, branches], scope: cpu}",
                            "{name: core, events: [cs, 'faults:zz'], scope: cpu, optional: true}",
                            "{name: core, events: [cs, 'sched/'], scope: cpu, optional: true}"}) {
    const Printed printed = check(group);

    EXPECT_EQ(printed.status, kFailed) << group;
    EXPECT_THAT(printed.out, HasSubstr("\nexit status 1: 1 event cannot be counted\n"));
  }
}

TEST_F(CheckConfigTest, IsNotValidWhereTheExporterDoesNotStartAndNamesEachLimit) {
  const Printed printed = check("{name: soft, events: [cs, faults], scope: cpu}",
                                "limits: {max_open_events: 1, max_series: 2}\n");

  EXPECT_EQ(printed.status, kFailed);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("\nnot valid: 2 of 2 events can be counted here\n"),
                                 Not(HasSubstr("\nvalid:"))));
  EXPECT_EQ(printed.err,
            "the groups of scope cpu need 3 open events, and 1 are allowed: the exporter does not "
            "start. Remedy: raise limits.max_open_events, or count fewer events\n"
            "the groups of scope cpu need 4 series, and 2 are allowed: the exporter does not "
            "start. Remedy: raise limits.max_series, or count fewer events\n");
}

TEST_F(CheckConfigTest, WarningsOfTheWebConfigurationAreNoErrors) {
  tree_.write("web.yaml", "{}\n");
  options_.web_config_file = tree_.path("web.yaml");
  const std::string file = "web configuration '" + options_.web_config_file + "'";

  const Printed printed = check("{name: soft, events: [cs], scope: cpu}");

  EXPECT_EQ(printed.status, kOk);
  EXPECT_THAT(printed.out,
              HasSubstr("web configuration: '" + options_.web_config_file + "' is valid\n"));
  EXPECT_THAT(printed.err, StartsWith("warning: the " + file + " has neither TLS nor users"));
}

TEST_F(CheckConfigTest, NamesGroupsThatAreLeftOutWithTheReason) {
  EXPECT_THAT(text_for("{name: soft, events: [cs], scope: cpu}, "
                       "{name: large, events: [minor-faults], scope: cpu, when: {cpus: 64}}"),
              AllOf(HasSubstr("\ngroup 'large' is left out: when.cpus: it needs at least 64 CPUs, "
                              "and this machine has 1\n"),
                    HasSubstr("\nvalid: 1 of 1 event can be counted here\n")));
}

TEST_F(CheckConfigTest, CgroupsThatCannotBeReadAreNotZero) {
  const std::string group = "{name: soft, events: [cs], scope: cgroup}";
  tree_.make_directory("cgroup/system.slice/a.service");
  EXPECT_THAT(text_for(group), HasSubstr("cgroups       1 cgroup matches now; room for"));

  // Without the option, the directory is that of the mount table.
  tree_.write("proc/self/mountinfo",
              "30 23 0:26 / " + options_.roots.cgroupfs + " rw - cgroup2 cgroup2 rw\n");
  options_.roots.cgroupfs.clear();
  tree_.remove("cgroup");

  EXPECT_THAT(text_for(group),
              AllOf(HasSubstr("cgroups       at least 0 cgroups match now; room for"),
                    HasSubstr("\nread cgroup directory '")));
}

TEST_F(CheckConfigTest, ComputesTheRoomByRecordsWhereTheyCanBeHad) {
  tree_.make_directory("cgroup");
  const auto text = [&](const std::string& source) {
    return text_for("{name: soft, events: [cs, faults], scope: cgroup}",
                    "cgroups: {source: " + source + "}\n");
  };

  EXPECT_THAT(text("auto"), HasSubstr(", and 2 for each cgroup\nseries"));
  EXPECT_THAT(text("descriptors"), HasSubstr(", and 4 for each cgroup\nseries"));

  kernel_.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    return attr.sample_period == 1 ? EINVAL : 0;
  };
  EXPECT_THAT(text("auto"), HasSubstr(", and 4 for each cgroup\nseries"));
}

TEST_F(CheckConfigTest, NamesTheLimitThatHidesCgroups) {
  for (const char* name : {"a", "b", "c"}) {
    tree_.make_directory("cgroup/system.slice/" + std::string(name) + ".service");
  }

  EXPECT_THAT(
      check("{name: soft, events: [cs], scope: cgroup}", "limits: {max_cgroup_directories: 2}\n")
          .out,
      AllOf(HasSubstr("cgroups       at least "), HasSubstr("limits.max_cgroup_directories")));
}

}  // namespace
}  // namespace pex::daemon
