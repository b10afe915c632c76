#include "daemon/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/scripted_kernel.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using State = Finding::State;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kSysAdmin = 1ULL << 21;
constexpr std::uint64_t kPerfmon = 1ULL << 38;
constexpr std::uint64_t kEverything = ~0ULL;

constexpr const char* kConfig =
    "groups:\n"
    "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}\n"
    "  - {name: software, events: [context-switches], scope: cpu}\n";

/// What the kernel is asked for msr/aperf/, alone on the first CPU.
constexpr const char* kReference = "cpu0 type9:0x1";

/// Of the trial of turns in the cgroup of the doctor itself.
constexpr const char* kTurns = "cpu0 /system.slice/a.service branch-misses";

/// A machine on which everything can be counted, until a test takes something away.
class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    options_.roots = {
        .sysfs = tree_.path("sys"), .procfs = tree_.path("proc"), .cgroupfs = tree_.path("cgroup")};
    options_.config_file = tree_.path("config.yaml");
    self_.kernel_release = "6.18.1";
    self_.permissions.user = 0;
    give(kEverything);
    self_.permissions.seccomp = host::Seccomp::kOff;
    self_.permissions.no_new_privileges = false;
    self_.files = {1024, 20'000};
    self_.trial = 0ms;
    self_.run_bound_to = [](int, const std::function<void()>& job) {
      job();
      return true;
    };
    kernel_.answer(kReference, {.enabled = 1ms, .running = 1ms, .counts = {1000}});
  }

  void configure(const std::string& text) { tree_.write("config.yaml", text); }
  void set(const std::string& name, const std::string& value) {
    tree_.write("proc/sys/kernel/" + name, value + "\n");
  }
  void set_pmu(const std::string& file, const std::string& value) {
    tree_.write("sys/bus/event_source/devices/" + file, value + "\n");
  }
  /// In force, and possible.
  void give(std::uint64_t capabilities) {
    self_.permissions.effective = self_.permissions.permitted = self_.permissions.bounding =
        host::CapabilitySet{capabilities};
  }
  void become_an_instance_of_ec2() {
    tree_.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n\n");
    tree_.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree_.write("sys/class/dmi/id/product_name", "m5.large\n");
  }
  void refuse_everything(int code) { kernel_.refuse("dummy", code); }

  std::vector<Finding> all() { return check_all(options_, kernel_, self_); }

  std::vector<Finding> on(const std::string& subject) {
    std::vector<Finding> findings = all();
    std::erase_if(findings, [&](const Finding& finding) { return finding.subject != subject; });
    return findings;
  }

  std::vector<Finding> not_good(const std::string& subject) {
    std::vector<Finding> findings = on(subject);
    std::erase_if(findings, [](const Finding& finding) { return finding.state == State::kGood; });
    return findings;
  }

  /// The only one, as a test expects.
  Finding one(const std::string& subject) {
    std::vector<Finding> findings = on(subject);
    EXPECT_EQ(findings.size(), 1U) << subject;
    return findings.empty() ? Finding{State::kBad, {}, {}, {}, {}} : findings.front();
  }

  test::TempTree tree_{
      {"sys/devices/system/cpu/online", "0-1\n"},
      {"sys/bus/event_source/devices/cpu/type", "4\n"},
      {"sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms", "5\n"},
      {"sys/bus/event_source/devices/msr/type", "9\n"},
      {"sys/bus/event_source/devices/msr/format/event", "config:0-63\n"},
      {"sys/bus/event_source/devices/msr/events/aperf", "event=0x01\n"},
      {"sys/bus/event_source/devices/software/type", "1\n"},
      {"sys/bus/event_source/devices/tracepoint/type", "2\n"},
      {"sys/kernel/tracing/events/sched/sched_switch/id", "314\n"},
      {"sys/kernel/tracing/events/cgroup/cgroup_attach_task/id", "315\n"},
      {"proc/sys/kernel/perf_event_paranoid", "2\n"},
      {"proc/sys/kernel/nmi_watchdog", "0\n"},
      {"proc/sys/kernel/perf_event_max_sample_rate", "100000\n"},
      {"proc/sys/kernel/perf_cpu_time_max_percent", "25\n"},
      {"proc/sys/kernel/perf_event_mlock_kb", "516\n"},
      {"proc/sys/kernel/perf_event_max_stack", "127\n"},
      {"proc/sys/kernel/perf_event_max_contexts_per_stack", "8\n"},
      {"proc/self/mountinfo", ""},
      {"cgroup/cgroup.controllers", ""},
      {"cgroup/system.slice/a.service/"},
      {"cgroup/system.slice/b.service/"},
      {"config.yaml", kConfig},
  };
  test::ScriptedKernel kernel_{tree_.path("cgroup")};
  Options options_;
  Self self_;
};

TEST_F(DoctorTest, FindsEverythingGoodWhereEverythingCanBeCounted) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.answer(kTurns, {.enabled = 300ms, .running = 100ms, .counts = {7, 99'000'000}});

  const std::vector<Finding> findings = all();

  EXPECT_EQ(count(findings, State::kGood), findings.size()) << format_findings(findings);
  EXPECT_GE(findings.size(), 13U);
}

TEST_F(DoctorTest, LeavesNothingOpen) {
  (void)all();

  EXPECT_EQ(kernel_.still_open(), 0U);
}

TEST_F(DoctorTest, EverythingThatIsNotGoodHasAConsequenceAndARemedy) {
  tree_.remove("sys/bus/event_source/devices/cpu");
  tree_.remove("sys/kernel");
  tree_.remove("cgroup");
  give(0);
  refuse_everything(EACCES);
  kernel_.refuse("cycles", ENOENT);

  for (const Finding& finding : all()) {
    if (finding.state == State::kGood) continue;
    EXPECT_THAT(finding.consequence, Not(IsEmpty())) << finding.subject;
    EXPECT_THAT(finding.remedy, Not(IsEmpty())) << finding.subject;
  }
}

TEST_F(DoctorTest, NotesAKernelThatHasNoCapPerfmon) {
  self_.kernel_release = "5.4.0-200-generic";

  EXPECT_EQ(one("kernel").state, State::kNote);
  EXPECT_THAT(one("kernel").consequence, HasSubstr("CAP_SYS_ADMIN"));
}

TEST_F(DoctorTest, NamesTheCpusThatAreOnline) { EXPECT_EQ(one("CPUs").what, "0-1 online"); }

TEST_F(DoctorTest, CannotGoOnWithoutAListOfCpus) {
  tree_.remove("sys/devices/system/cpu/online");

  const std::vector<Finding> findings = all();

  EXPECT_EQ(one("CPUs").state, State::kBad);
  EXPECT_THAT(one("CPUs").remedy, HasSubstr("--path.sysfs"));
  EXPECT_THAT(on("perf_event_open"), IsEmpty());
}

TEST_F(DoctorTest, AsksForTheCapabilityThatIsMissing) {
  give(0);
  refuse_everything(EACCES);

  const Finding refused = one("perf_event_open");

  EXPECT_EQ(refused.state, State::kBad);
  EXPECT_EQ(refused.what, "refused on CPUs 0-1: Permission denied (EACCES)");
  EXPECT_EQ(refused.consequence, "nothing can be counted");
  EXPECT_THAT(refused.remedy,
              AllOf(StartsWith("grant CAP_PERFMON"), Not(HasSubstr("perf_event_paranoid"))));
}

TEST_F(DoctorTest, AsksForALowerLevelWhereCapPerfmonIsNotEnough) {
  give(kPerfmon);
  set("perf_event_paranoid", "3");
  refuse_everything(EACCES);

  EXPECT_THAT(
      one("perf_event_open").remedy,
      AllOf(StartsWith("set sysctl kernel.perf_event_paranoid=2"), Not(HasSubstr("grant"))));
}

TEST_F(DoctorTest, AsksForBothWhereTheLevelIsHighAndTheCapabilityMissing) {
  give(0);
  set("perf_event_paranoid", "4");
  refuse_everything(EACCES);

  EXPECT_THAT(one("perf_event_open").remedy,
              AllOf(HasSubstr("kernel.perf_event_paranoid=2"), HasSubstr("grant CAP_PERFMON")));
}

TEST_F(DoctorTest, SuspectsAUserNamespaceWhereTheCapabilityIsThere) {
  refuse_everything(EACCES);

  EXPECT_THAT(one("perf_event_open").remedy, HasSubstr("user namespace"));
}

TEST_F(DoctorTest, AsksForALowerLevelBeforeItSuspectsAUserNamespace) {
  set("perf_event_paranoid", "4");
  refuse_everything(EACCES);

  EXPECT_THAT(one("perf_event_open").remedy,
              StartsWith("set sysctl kernel.perf_event_paranoid=2, and grant CAP_PERFMON"));
}

TEST_F(DoctorTest, BlamesTheFilterForWhatTheKernelDoesNotSay) {
  self_.permissions.seccomp = host::Seccomp::kFilter;
  for (const int code : {EPERM, ENOSYS}) {
    refuse_everything(code);

    EXPECT_THAT(one("perf_event_open").remedy, HasSubstr("seccomp"));
    EXPECT_EQ(one("seccomp").state, State::kNote);
    EXPECT_THAT(one("seccomp").remedy, HasSubstr("SystemCallFilter="));
  }
}

TEST_F(DoctorTest, DoesNotBlameAFilterThatLetsEventsThrough) {
  self_.permissions.seccomp = host::Seccomp::kFilter;
  EXPECT_EQ(one("seccomp").state, State::kGood);

  refuse_everything(EACCES);
  EXPECT_EQ(one("seccomp").state, State::kGood);
}

TEST_F(DoctorTest, NamesTheCpuThatRefuses) {
  kernel_.refuse("cpu1 dummy", ENODEV);

  EXPECT_THAT(one("perf_event_open").what, StartsWith("refused on CPU 1:"));
  EXPECT_EQ(one("perf_event_open").consequence, "nothing is counted there");
}

TEST_F(DoctorTest, SuspectsTheSysfsOfAnotherMachine) {
  kernel_.refuse("cpu1 dummy", EINVAL);

  EXPECT_THAT(one("perf_event_open").remedy, HasSubstr("--path.sysfs"));
}

TEST_F(DoctorTest, ReportsWhatTheLevelMeans) {
  for (const auto& [level, what] :
       {std::pair{"-1", "-1: every user may count"}, std::pair{"0", "0: every user may count"},
        std::pair{"1", "1: counting requires CAP_PERFMON"},
        std::pair{"2", "2: counting requires CAP_PERFMON"}}) {
    set("perf_event_paranoid", level);

    EXPECT_EQ(one("perf_event_paranoid").state, State::kGood) << level;
    EXPECT_EQ(one("perf_event_paranoid").what, what);
  }
}

TEST_F(DoctorTest, WarnsWhoMayEverythingOfALevelThatTheServiceMayNotPass) {
  set("perf_event_paranoid", "3");

  EXPECT_EQ(one("perf_event_open").state, State::kGood);
  EXPECT_EQ(one("perf_event_paranoid").state, State::kNote);
  EXPECT_THAT(one("perf_event_paranoid").remedy, HasSubstr("kernel.perf_event_paranoid=2"));
}

TEST_F(DoctorTest, TrustsTheTrialWhereCapPerfmonPassesAHighLevel) {
  give(kPerfmon);
  set("perf_event_paranoid", "4");

  EXPECT_EQ(one("perf_event_paranoid").state, State::kGood);
}

TEST_F(DoctorTest, DoesNotKnowALevelThatCannotBeRead) {
  tree_.remove("proc/sys/kernel/perf_event_paranoid");

  EXPECT_EQ(one("perf_event_paranoid").state, State::kUnknown);
  EXPECT_THAT(one("perf_event_paranoid").remedy, HasSubstr("--path.procfs"));
}

TEST_F(DoctorTest, DoesNotTakeWhatItCannotReadForGood) {
  tree_.remove("proc/sys/kernel/perf_event_paranoid");
  tree_.remove("proc/sys/kernel/nmi_watchdog");
  tree_.remove("sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms");
  self_.permissions.effective.reset();
  self_.permissions.seccomp.reset();
  self_.kernel_release = "unreadable";

  for (const char* subject : {"kernel", "perf_event_paranoid", "capabilities", "seccomp",
                              "NMI watchdog", "mux interval"}) {
    EXPECT_EQ(one(subject).state, State::kUnknown) << subject;
    EXPECT_THAT(one(subject).what, Not(IsEmpty())) << subject;
  }
}

TEST_F(DoctorTest, DoesNotTakeASettingThatIsNoNumberForOneThatIsNotThere) {
  set("nmi_watchdog", "on");

  EXPECT_EQ(one("NMI watchdog").state, State::kUnknown);
}

TEST_F(DoctorTest, DoesNotKnowWhatTheWatchdogHoldsWithoutThePmus) {
  set("nmi_watchdog", "1");
  tree_.remove("sys/bus");
  tree_.write("sys/bus/event_source/devices", "no folder");

  EXPECT_EQ(one("NMI watchdog").state, State::kUnknown);
}

TEST_F(DoctorTest, DoesNotKnowTheMuxIntervalOfACorePmuByThoseOfAnother) {
  tree_.remove("sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms");
  set_pmu("software/perf_event_mux_interval_ms", "5");

  EXPECT_EQ(one("mux interval").state, State::kUnknown);
  EXPECT_THAT(one("mux interval").what, HasSubstr("cpu"));
}

TEST_F(DoctorTest, BelievesNoTrialThatWasNotMade) {
  tree_.remove("sys/devices/system/cpu/online");
  self_.permissions.seccomp = host::Seccomp::kFilter;
  give(kPerfmon);
  set("perf_event_paranoid", "4");

  EXPECT_EQ(one("seccomp").state, State::kUnknown);
  EXPECT_EQ(one("perf_event_paranoid").state, State::kNote);
  EXPECT_EQ(one("cgroups").state, State::kUnknown);
}

TEST_F(DoctorTest, DoesNotKnowATreeInWhichNoEventOpens) {
  configure("groups: [{name: core, events: [cycles], scope: cpu}]");
  refuse_everything(EACCES);

  EXPECT_EQ(one("cgroups").state, State::kUnknown);
  EXPECT_EQ(one("cgroups").remedy, "see 'perf_event_open'");
}

TEST_F(DoctorTest, DoesNotKnowCgroupsOfADirectoryThatItMayNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  tree_.write("cgroup/closed/c.service/cgroup.procs", "");
  ::chmod(tree_.root().c_str(), 0755);
  ::chmod(tree_.path("cgroup/closed").c_str(), 0700);

  ASSERT_EQ(::seteuid(65534), 0);
  const Finding cgroups = one("cgroups");
  ASSERT_EQ(::seteuid(0), 0);

  EXPECT_EQ(cgroups.state, State::kUnknown);
  EXPECT_THAT(cgroups.what, HasSubstr("2 to count now; directories that cannot be read: 1"));
}

TEST_F(DoctorTest, DoesNotKnowEventsThatWereNotTriedInACgroup) {
  options_.roots.cgroupfs = {};

  const std::vector<Finding> findings = on("configuration");

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].state, State::kUnknown);
  EXPECT_THAT(findings[0].what, HasSubstr("2 of them can be counted in cgroups is not known"));
}

TEST_F(DoctorTest, DistinguishesAKernelWithoutNmiWatchdogFromOneThatDoesNotReport) {
  tree_.remove("proc/sys/kernel/nmi_watchdog");

  EXPECT_EQ(one("NMI watchdog").state, State::kGood);
  EXPECT_EQ(one("NMI watchdog").what, "none in this kernel");
}

TEST_F(DoctorTest, NamesTheCapabilitiesThatHelp) {
  give(kPerfmon | kSysAdmin);
  self_.permissions.user = 65534;

  EXPECT_EQ(one("capabilities").what, "CAP_PERFMON, CAP_SYS_ADMIN (user 65534)");
}

TEST_F(DoctorTest, ReportsHowToGrantWhatIsMissing) {
  give(0);
  EXPECT_EQ(one("capabilities").state, State::kNote);
  EXPECT_THAT(one("capabilities").remedy,
              AllOf(HasSubstr("CapabilityBoundingSet="), Not(HasSubstr("setcap"))));

  // A container of Docker 20.10 with --cap-add=SYS_ADMIN, or one whose image lost file
  // capabilities.
  for (const std::uint64_t only_bounding : {kPerfmon, kSysAdmin}) {
    self_.permissions.bounding->bits = only_bounding;
    EXPECT_THAT(one("capabilities").remedy,
                AllOf(HasSubstr("--user=0 for a container"), HasSubstr("runAsUser: 0"),
                      Not(HasSubstr("--cap-add"))));
  }

  self_.permissions.bounding->bits = kPerfmon;
  EXPECT_THAT(one("capabilities").remedy,
              AllOf(Not(HasSubstr("CapabilityBoundingSet=")), HasSubstr("setcap")));

  self_.permissions.no_new_privileges = true;
  EXPECT_THAT(one("capabilities").remedy, HasSubstr("setcap cap_perfmon=p PROGRAM in the image"));

  self_.permissions.permitted->bits = kPerfmon;
  EXPECT_THAT(one("capabilities").remedy,
              StartsWith("it is permitted, but cannot be made effective"));
}

/// "kernel.x" and "2" of "sysctl kernel.x=2, and ...".
std::pair<std::string, std::string> setting_in(const std::string& remedy) {
  const std::string sysctl = "sysctl kernel.";
  const std::size_t name = remedy.find(sysctl) + sysctl.size();
  const std::size_t equals = remedy.find('=', name);
  const std::size_t end = remedy.find_first_not_of("0123456789-", equals + 1);
  return {remedy.substr(name, equals - name), remedy.substr(equals + 1, end - equals - 1)};
}

TEST_F(DoctorTest, AFindingAboutASettingIsGoneOnceItsRemedyIsFollowed) {
  struct Row {
    const char* subject;
    const char* setting;
    const char* value;
  };
  const Row rows[] = {{"perf_event_paranoid", "perf_event_paranoid", "4"},
                      {"NMI watchdog", "nmi_watchdog", "1"},
                      {"sampling", "perf_event_max_sample_rate", "10"},
                      {"sampling", "perf_cpu_time_max_percent", "0"},
                      {"sampling", "perf_cpu_time_max_percent", "100"},
                      {"sampling", "perf_event_mlock_kb", "16"},
                      {"sampling", "perf_event_max_stack", "3"},
                      {"sampling", "perf_event_max_contexts_per_stack", "1"}};
  give(0);
  refuse_everything(EACCES);
  for (const Row& row : rows) {
    set(row.setting, row.value);
    const std::vector<Finding> found = not_good(row.subject);
    ASSERT_EQ(found.size(), 1U) << row.setting;
    const auto [name, value] = setting_in(found.front().remedy);

    EXPECT_EQ(name, row.setting);
    set(name, value);
    EXPECT_THAT(not_good(row.subject), IsEmpty()) << found.front().remedy;
  }
}

TEST_F(DoctorTest, AFindingAboutRightsIsGoneOnceItsRemedyIsFollowed) {
  struct Row {
    std::uint64_t bounding;
    const char* remedy;
    std::uint64_t then;
  };
  for (const Row& row :
       {Row{0, "AmbientCapabilities=CAP_PERFMON", kPerfmon}, Row{0, "--cap-add=PERFMON", kPerfmon},
        Row{kPerfmon, "--user=0", kPerfmon}, Row{kPerfmon, "setcap cap_perfmon=p", kPerfmon},
        Row{kSysAdmin, "--user=0", kSysAdmin}}) {
    give(0);
    self_.permissions.bounding->bits = row.bounding;
    EXPECT_THAT(one("capabilities").remedy, HasSubstr(row.remedy));
    give(row.then);
    EXPECT_EQ(one("capabilities").state, State::kGood) << row.remedy;
  }
}

TEST_F(DoctorTest, AsksForNoCapabilityWhereEverybodyMayCount) {
  give(0);
  set("perf_event_paranoid", "0");

  EXPECT_EQ(one("capabilities").state, State::kGood);
}

TEST_F(DoctorTest, ReportsWhatItCannotLearnOfItself) {
  self_.permissions = {};

  EXPECT_THAT(one("capabilities").what, StartsWith("not known"));
  EXPECT_THAT(one("seccomp").what, StartsWith("not known"));
}

TEST_F(DoctorTest, NotesATracefsThatIsNotThere) {
  tree_.remove("sys/kernel/tracing");

  EXPECT_EQ(one("tracefs").state, State::kNote);
  EXPECT_THAT(one("tracefs").remedy, HasSubstr("mount"));
}

TEST_F(DoctorTest, FindsATracefsBadThatTheConfigurationNeeds) {
  tree_.remove("sys/kernel/tracing");
  configure("groups: [{name: t, events: ['cycles,sched:sched_switch'], scope: cpu}]");

  EXPECT_EQ(one("tracefs").state, State::kBad);
  EXPECT_EQ(one("configuration").remedy, "see 'tracefs'");
}

TEST_F(DoctorTest, NotesATracefsThatOnlyGroupsNeedWhichMayCountNothing) {
  tree_.remove("sys/kernel/tracing");
  for (const std::string key : {"when: {cpus: 4096}", "optional: true"}) {
    configure(
        "groups: [{name: a, events: [page-faults], scope: cpu}, {name: t, events: "
        "['sched:sched_switch'], scope: cpu, " +
        key + "}]");

    EXPECT_EQ(one("tracefs").state, State::kNote) << key;
  }
}

TEST_F(DoctorTest, NamesThePmusByTheirFamilies) {
  for (const char* pmu : {"uncore_imc_0", "uncore_imc_1", "uncore_cha_0"}) {
    set_pmu(std::string(pmu) + "/type", "20");
    set_pmu(std::string(pmu) + "/cpumask", "0");
  }

  EXPECT_EQ(one("core PMUs").what, "cpu");
  EXPECT_EQ(one("uncore PMUs").what, "uncore_cha on CPU 0; uncore_imc (2) on CPU 0");
  EXPECT_EQ(one("other PMUs").what, "msr, software, tracepoint");
}

TEST_F(DoctorTest, NamesAFamilyOnceWithAllItsCpus) {
  const char* const pmus[][2] = {{"hisi_sccl1_ddrc0", "0"},
                                 {"hisi_sccl1_ddrc1", "0"},
                                 {"hisi_sccl3_ddrc0", "1"},
                                 {"uncore_imc_0", "0"},
                                 {"uncore_imc_1", "\n"}};
  for (const auto& [pmu, cpumask] : pmus) {
    set_pmu(std::string(pmu) + "/type", "20");
    set_pmu(std::string(pmu) + "/cpumask", cpumask);
  }

  EXPECT_EQ(one("uncore PMUs").what, "hisi_sccl_ddrc (3) on CPUs 0-1; uncore_imc (2) on CPU 0");
}

TEST_F(DoctorTest, ReportsPlainlyThatThereIsNoHardwarePmu) {
  tree_.remove("sys/bus/event_source/devices/cpu");

  EXPECT_EQ(one("core PMUs").state, State::kNote);
  EXPECT_THAT(one("core PMUs").consequence, HasSubstr("cycles"));
  EXPECT_THAT(one("core PMUs").remedy, HasSubstr("virtual PMU"));
  EXPECT_THAT(on("free counters"), IsEmpty());
}

TEST_F(DoctorTest, NamesTheCloudThatHasNoPmuAndItsInstanceTypesThatHave) {
  become_an_instance_of_ec2();
  tree_.remove("sys/bus/event_source/devices/cpu");

  EXPECT_THAT(one("core PMUs").what, HasSubstr("(Amazon EC2, m5.large)"));
  EXPECT_THAT(one("core PMUs").remedy, HasSubstr("*5.12xlarge"));
}

TEST_F(DoctorTest, NamesTheEventsThatAHypervisorHides) {
  become_an_instance_of_ec2();
  kernel_.refuse("cache-references", ENOENT);
  kernel_.refuse("cache-misses", EOPNOTSUPP);
  kernel_.refuse("branch-misses", EBUSY);

  EXPECT_EQ(one("hidden events").state, State::kNote);
  EXPECT_EQ(one("hidden events").what, "cache-references, cache-misses (Amazon EC2, m5.large)");
  EXPECT_THAT(one("hidden events").remedy, HasSubstr("*5.12xlarge"));
}

TEST_F(DoctorTest, SaysNothingOfACloudThatHasThePmu) {
  become_an_instance_of_ec2();

  EXPECT_THAT(format_findings(all()), Not(HasSubstr("Amazon")));
}

TEST_F(DoctorTest, NotesASysfsThatShowsNoPmu) {
  tree_.remove("sys/bus");

  EXPECT_EQ(one("PMUs").state, State::kNote);
  EXPECT_THAT(one("PMUs").remedy, HasSubstr("--path.sysfs"));
}

TEST_F(DoctorTest, CannotGoOnWhenThePmusCannotBeRead) {
  tree_.remove("sys/bus");
  tree_.write("sys/bus/event_source/devices", "no folder");

  EXPECT_EQ(one("PMUs").state, State::kBad);
  EXPECT_EQ(one("configuration").state, State::kBad);
}

TEST_F(DoctorTest, CountsTheCountersThatAreFree) {
  configure("groups: [{name: core, events: [cycles], scope: cpu}]");
  kernel_.refuse_groups_larger_than(4, EINVAL);

  EXPECT_EQ(one("free counters").what, "cpu: 4 for any event and 0 fixed (CPU 0)");
}

TEST_F(DoctorTest, CountsThemOnTheCpusOfEachPmu) {
  tree_.remove("sys/bus/event_source/devices/cpu");
  set_pmu("cpu_core/type", "4");
  set_pmu("cpu_core/cpus", "0");
  set_pmu("cpu_atom/type", "10");
  set_pmu("cpu_atom/cpus", "1");

  const std::vector<Finding> free = on("free counters");

  ASSERT_EQ(free.size(), 2U);
  EXPECT_THAT(free[0].what, AllOf(StartsWith("cpu_atom: "), HasSubstr("(CPU 1)")));
  EXPECT_THAT(free[1].what, AllOf(StartsWith("cpu_core: "), HasSubstr("(CPU 0)")));
}

TEST_F(DoctorTest, TriesNothingOnExcludedCpus) {
  configure(std::string(kConfig) + "cpus: {exclude: [0]}\n");
  self_.cgroup = "/system.slice/a.service";
  static std::vector<int> bound_to;
  self_.run_bound_to = [](int cpu, const std::function<void()>& job) {
    bound_to.push_back(cpu);
    job();
    return true;
  };

  EXPECT_THAT(one("free counters").what, HasSubstr("(CPU 1)"));
  EXPECT_EQ(one("perf_event_open").what, "allowed on every CPU that is not excluded");
  EXPECT_THAT(bound_to, AllOf(Not(IsEmpty()), Each(1)));
  for (const std::string& group : kernel_.opened_groups()) {
    EXPECT_FALSE(group.starts_with("cpu0 ")) << group;
  }
}

TEST_F(DoctorTest, DoesNotKnowTheFreeCountersOfAPmuWhoseCpusAreExcluded) {
  configure(std::string(kConfig) + "cpus: {exclude: [0]}\n");
  tree_.remove("sys/bus/event_source/devices/cpu");
  set_pmu("cpu_core/type", "4");
  set_pmu("cpu_core/cpus", "0");
  set_pmu("cpu_atom/type", "10");
  set_pmu("cpu_atom/cpus", "1");

  const std::vector<Finding> free = on("free counters");

  ASSERT_EQ(free.size(), 2U);
  EXPECT_THAT(free[0].what, AllOf(StartsWith("cpu_atom: "), HasSubstr("(CPU 1)")));
  EXPECT_EQ(free[1].state, State::kUnknown);
  EXPECT_THAT(free[1].what, HasSubstr("all its CPUs are excluded"));
}

TEST_F(DoctorTest, NotesThatOthersHoldAllCounters) {
  configure("groups: [{name: software, events: [page-faults], scope: cpu}]");
  kernel_.starve_groups_larger_than(0);

  EXPECT_EQ(one("free counters").state, State::kNote);
  EXPECT_THAT(one("free counters").what, HasSubstr("0 for any event"));
}

TEST_F(DoctorTest, NotesAPmuOnWhichNothingOpens) {
  for (const char* event : {"branch-misses", "cache-misses", "instructions"}) {
    kernel_.refuse(event, ENOENT);
  }

  EXPECT_EQ(one("free counters").state, State::kNote);
}

TEST_F(DoctorTest, NamesOtherProgramsWithPerfEvents) {
  tree_.write("proc/77/comm", "perf\x1b[31m\n");
  std::filesystem::create_directories(tree_.path("proc/77/fd"));
  for (const char* fd : {"3", "4"}) {
    std::filesystem::create_symlink("anon_inode:[perf_event]",
                                    tree_.path(std::string("proc/77/fd/") + fd));
  }

  EXPECT_EQ(one("other programs").state, State::kNote);
  EXPECT_EQ(one("other programs").what, "perf\\u001b[31m (PID 77) has 2 perf events");

  tree_.remove("sys/bus/event_source/devices/cpu");
  EXPECT_EQ(one("other programs").state, State::kGood);
}

TEST_F(DoctorTest, FindsNoOtherProgramWithPerfEvents) {
  EXPECT_EQ(one("other programs").state, State::kGood);
  EXPECT_EQ(one("other programs").what, "none has perf events");
}

TEST_F(DoctorTest, NotesTheCounterThatTheWatchdogHolds) {
  set("nmi_watchdog", "1");

  EXPECT_EQ(one("NMI watchdog").state, State::kNote);
  EXPECT_THAT(one("NMI watchdog").remedy, HasSubstr("kernel.nmi_watchdog=0"));
}

TEST_F(DoctorTest, DoesNotMindAWatchdogThatHasNoCounterToTake) {
  set("nmi_watchdog", "1");
  tree_.remove("sys/bus/event_source/devices/cpu");

  EXPECT_EQ(one("NMI watchdog").state, State::kGood);
}

TEST_F(DoctorTest, ReportsTheLimitsOfSamplingInOneLine) {
  EXPECT_EQ(one("sampling").state, State::kGood);
  EXPECT_EQ(one("sampling").what,
            "at most 100000 samples/s, 25 % of CPU time, 516 KiB of rings per CPU, call chains of "
            "127 frames and 8 contexts");
}

TEST_F(DoctorTest, NotesEachLimitOfSamplingThatCostsSomething) {
  const std::pair<const char*, const char*> low[] = {{"perf_event_max_sample_rate", "1000"},
                                                     {"perf_cpu_time_max_percent", "0"},
                                                     {"perf_event_mlock_kb", "64"},
                                                     {"perf_event_max_stack", "16"},
                                                     {"perf_event_max_contexts_per_stack", "1"}};
  for (const auto& [name, value] : low) set(name, value);

  const std::vector<Finding> findings = on("sampling");

  ASSERT_EQ(findings.size(), 1 + std::size(low));
  EXPECT_EQ(findings.front().state, State::kGood);
  EXPECT_EQ(
      findings.front().what,
      "at most 1000 samples/s, 64 KiB of rings per CPU, call chains of 16 frames and 1 context")
      << "0 % is no limit";
  for (std::size_t i = 0; i < std::size(low); ++i) {
    const auto& [name, value] = low[i];
    const Finding& note = findings[i + 1];
    EXPECT_EQ(note.state, State::kNote) << name;
    EXPECT_THAT(note.what, StartsWith(std::string("kernel.") + name + "=" + value + ": "));
    EXPECT_THAT(note.remedy, HasSubstr(name));
  }
}

TEST_F(DoctorTest, ReportsWhetherProgramsReadCountersThemselves) {
  EXPECT_THAT(on("user access"), IsEmpty()) << "neither setting is there";

  set("perf_user_access", "1");
  EXPECT_THAT(one("user access").what, StartsWith("kernel.perf_user_access=1: programs"));
  EXPECT_EQ(one("user access").state, State::kGood);
}

TEST_F(DoctorTest, NotesCountersThatEveryProgramMayRead) {
  set_pmu("cpu/rdpmc", "2");

  EXPECT_EQ(one("user access").state, State::kNote);
  EXPECT_THAT(one("user access").consequence, HasSubstr("watch"));
}

TEST_F(DoctorTest, DoesNotKnowLimitsOfSamplingThatCannotBeRead) {
  tree_.remove("proc/sys/kernel");
  set_pmu("cpu/rdpmc", "1");

  EXPECT_EQ(one("sampling").state, State::kUnknown);
  EXPECT_EQ(one("user access").state, State::kGood);
}

TEST_F(DoctorTest, HasTheErrorOfASettingOfSamplingThatIsNoNumber) {
  set("perf_event_max_stack", "many");

  const std::vector<Finding> findings = on("sampling");

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings.front().what, HasSubstr("call chains of 8 contexts"));
  EXPECT_EQ(findings.back().state, State::kUnknown);
  EXPECT_THAT(findings.back().what, HasSubstr("perf_event_max_stack"));
}

TEST_F(DoctorTest, KnowsKernelsWithoutAWatchdog) {
  tree_.remove("proc/sys/kernel/nmi_watchdog");

  EXPECT_EQ(one("NMI watchdog").what, "none in this kernel");
}

TEST_F(DoctorTest, NotesPmusWithLongMuxIntervals) {
  set_pmu("cpu/perf_event_mux_interval_ms", "100");
  set_pmu("software/perf_event_mux_interval_ms", "4");

  const Finding turns = one("mux interval");

  EXPECT_EQ(turns.state, State::kNote);
  EXPECT_EQ(turns.what, "4 ms on software; 100 ms on cpu");
  EXPECT_THAT(turns.remedy, HasSubstr("/cpu/perf_event_mux_interval_ms"));
}

TEST_F(DoctorTest, KnowsMuxIntervalsOfOneTickOfAnyKernel) {
  configure("groups: [{name: core, events: [cycles], scope: cpu}]");
  set_pmu("cpu/perf_event_mux_interval_ms", "10");

  EXPECT_EQ(one("mux interval").state, State::kGood);
  EXPECT_EQ(one("mux interval").what, "10 ms on cpu");
}

TEST_F(DoctorTest, AdvisesAMuxIntervalThatIsNotInStepWithTheTickWhereCgroupsShareThePmu) {
  for (const auto& [interval, better] : {std::pair{"4", "5"}, std::pair{"10", "7"}}) {
    set_pmu("cpu/perf_event_mux_interval_ms", interval);

    const Finding turns = one("mux interval");

    EXPECT_EQ(turns.state, State::kNote);
    EXPECT_THAT(turns.consequence, HasSubstr("wake at ticks"));
    EXPECT_EQ(turns.remedy, std::string("echo ") + better + " > " +
                                tree_.path("sys/bus/event_source/devices/cpu/"
                                           "perf_event_mux_interval_ms") +
                                ", after each boot");
  }
}

TEST_F(DoctorTest, AdvisesNoOtherMuxIntervalWhereNoneWouldHelp) {
  set_pmu("cpu/perf_event_mux_interval_ms", "1");

  EXPECT_EQ(one("mux interval").state, State::kGood);
}

TEST_F(DoctorTest, AdvisesNoOtherMuxIntervalWhereCgroupsHaveSoftwareEventsOnly) {
  configure(
      "groups:\n"
      "  - {name: core, events: [cycles], scope: cpu}\n"
      "  - {name: software, events: [context-switches], scope: cgroup}\n");
  set_pmu("cpu/perf_event_mux_interval_ms", "4");

  EXPECT_EQ(one("mux interval").state, State::kGood);
}

TEST_F(DoctorTest, ChecksTheMuxIntervalOfCorePmusOnly) {
  set_pmu("software/perf_event_mux_interval_ms", "4");

  EXPECT_EQ(one("mux interval").state, State::kGood);
}

TEST_F(DoctorTest, CannotDetermineTimesOfCgroupsFromTheRoot) {
  for (const auto& cgroup : {std::optional<std::string>{}, std::optional<std::string>{"/"}}) {
    self_.cgroup = cgroup;

    EXPECT_EQ(one("cgroup times").state, State::kUnknown);
    EXPECT_THAT(one("cgroup times").what, HasSubstr("other than the root"));
  }
}

TEST_F(DoctorTest, ReportsThatGroupsHaveTheirOwnTimes) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.answer(kTurns, {.enabled = 300ms, .running = 100ms, .counts = {7, 99'000'000}});

  const Finding times = one("cgroup times");

  EXPECT_EQ(times.state, State::kGood);
  EXPECT_THAT(times.what, HasSubstr("their own running time"));
}

TEST_F(DoctorTest, NotesAKernelThatBooksTimesToTheWrongGroup) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.answer(kTurns, {.enabled = 300ms, .running = 163ms, .counts = {7, 99'000'000}});

  const Finding times = one("cgroup times");

  EXPECT_EQ(times.state, State::kNote);
  EXPECT_THAT(times.what, HasSubstr("to the wrong group"));
  EXPECT_THAT(times.consequence, StartsWith("none for this exporter"));
  EXPECT_THAT(times.remedy, HasSubstr("6.12.115"));
}

TEST_F(DoctorTest, TriesTimesInAContainerWhoseRootIsNotThatOfTheHost) {
  self_.cgroup = "/";
  tree_.write("cgroup/cgroup.events", "populated 1\n");
  kernel_.answer("cpu0 / branch-misses",
                 {.enabled = 300ms, .running = 163ms, .counts = {7, 99'000'000}});

  EXPECT_EQ(one("cgroup times").state, State::kNote);
}

TEST_F(DoctorTest, CannotDetermineTimesOfGroupsThatDidNotRotate) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.answer(kTurns, {.enabled = 300ms, .running = 300ms, .counts = {7, 300'000'000}});

  EXPECT_EQ(one("cgroup times").state, State::kUnknown);
  EXPECT_THAT(one("cgroup times").what, StartsWith("could not be determined: "));
}

TEST_F(DoctorTest, TriesTimesOnAnotherCpuWhereOtherWorkHadTheFirst) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.answer(kTurns, {.enabled = 100ms, .running = 33ms, .counts = {7, 33'000'000}});
  kernel_.answer("cpu1 /system.slice/a.service branch-misses",
                 {.enabled = 300ms, .running = 163ms, .counts = {7, 99'000'000}});

  EXPECT_EQ(one("cgroup times").state, State::kNote);
}

TEST_F(DoctorTest, CannotDetermineTimesWhereOtherWorkHadEveryCpu) {
  self_.cgroup = "/system.slice/a.service";

  EXPECT_THAT(one("cgroup times").what, HasSubstr("other processes used the CPU"));
}

TEST_F(DoctorTest, CannotDetermineTimesWhereCgroupsMayNotBeCounted) {
  self_.cgroup = "/system.slice/a.service";
  kernel_.refuse("cpu0 /system.slice/a.service branch-misses", EACCES);

  EXPECT_THAT(one("cgroup times").what,
              AllOf(HasSubstr("could not open event 'branch-misses'"), HasSubstr("(EACCES)")));
}

TEST_F(DoctorTest, CannotDetermineTimesWhereItMayRunOnNoCpu) {
  self_.cgroup = "/system.slice/a.service";
  self_.run_bound_to = [](int, const std::function<void()>&) { return false; };

  EXPECT_EQ(one("cgroup times").what,
            "could not be determined: this process may run on no CPU of cpu");
}

TEST_F(DoctorTest, ReportsNothingOfTheMuxIntervalWithoutHardwareCounters) {
  tree_.remove("sys/bus/event_source/devices/cpu");

  EXPECT_THAT(on("cgroup times"), IsEmpty());
  EXPECT_THAT(on("activity reference"), IsEmpty());
}

TEST_F(DoctorTest, NamesTheReferenceThatIsFree) {
  const Finding reference = one("activity reference");

  EXPECT_EQ(reference.state, State::kGood);
  EXPECT_THAT(reference.what, StartsWith("msr/aperf/"));
}

TEST_F(DoctorTest, NotesAMachineWithoutAFreeReference) {
  tree_.remove("sys/bus/event_source/devices/msr/events/aperf");

  EXPECT_EQ(one("activity reference").state, State::kNote);
  EXPECT_EQ(one("activity reference").what,
            "none without a counter: msr/aperf/: this machine does not have it");
  EXPECT_THAT(one("activity reference").consequence, HasSubstr("cycles"));
}

TEST_F(DoctorTest, NotesAReferenceThatDoesNotOpen) {
  kernel_.refuse("type9:0x1", ENOENT);

  EXPECT_EQ(one("activity reference").state, State::kNote);
  EXPECT_THAT(one("activity reference").what, HasSubstr("could not open event 'msr/aperf/'"));
}

TEST_F(DoctorTest, NotesAReferenceThatStandsStill) {
  kernel_.answer(kReference, {.enabled = 1ms, .running = 1ms, .counts = {0}});

  EXPECT_EQ(one("activity reference").state, State::kNote);
  EXPECT_THAT(one("activity reference").what, HasSubstr("does not count"));
}

TEST_F(DoctorTest, ReportsTheTreeOfCgroupsAndHowManyMatch) {
  EXPECT_EQ(one("cgroups").what, "version 2 in " + tree_.path("cgroup") + "; 2 to count now");
}

TEST_F(DoctorTest, KnowsATreeOfVersion1) {
  tree_.remove("cgroup/cgroup.controllers");

  EXPECT_THAT(one("cgroups").what, StartsWith("version 1 in "));
}

TEST_F(DoctorTest, FindsNoTreeBadOnlyWhereOneIsConfigured) {
  options_.roots.cgroupfs = {};
  EXPECT_EQ(one("cgroups").state, State::kBad);

  configure("groups: [{name: core, events: [cycles], scope: cpu}]");
  EXPECT_EQ(one("cgroups").state, State::kNote);
}

TEST_F(DoctorTest, ReportsWhereTheTreeWasExpected) {
  tree_.remove("cgroup");

  EXPECT_THAT(one("cgroups").what, HasSubstr("could not open cgroup directory"));
  EXPECT_THAT(one("cgroups").remedy, HasSubstr("--path.cgroupfs"));
}

TEST_F(DoctorTest, NotesThatNoCgroupMatches) {
  tree_.remove("cgroup/system.slice");

  EXPECT_EQ(one("cgroups").state, State::kNote);
  EXPECT_THAT(one("cgroups").remedy, HasSubstr("cgroups.include"));
}

TEST_F(DoctorTest, FindsATreeBadThatTheKernelDoesNotCountIn) {
  kernel_.refuse("cpu0 /system.slice/a.service dummy", ENOENT);

  EXPECT_EQ(one("cgroups").state, State::kBad);
  EXPECT_THAT(one("cgroups").remedy, HasSubstr("subtree_control"));
}

TEST_F(DoctorTest, NotesHowManyCgroupsAreLeftOutAndWhy) {
  configure(std::string(kConfig) + "cgroups: {max: 1}\n");

  EXPECT_EQ(one("cgroups").state, State::kNote);
  EXPECT_EQ(one("cgroups").consequence, "1 of them are left out");
  EXPECT_THAT(one("cgroups").remedy, HasSubstr("raise cgroups.max"));
}

TEST_F(DoctorTest, FindsRecordsOfSwitchesGood) {
  EXPECT_EQ(one("switch records").state, State::kGood);
  EXPECT_THAT(one("open files").what, HasSubstr("and 2 for each cgroup: room for 256"));
}

TEST_F(DoctorTest, HasNoNeedOfRecordsForDescriptors) {
  configure(std::string(kConfig) + "cgroups: {source: descriptors}\n");

  EXPECT_THAT(on("switch records"), IsEmpty());
}

TEST_F(DoctorTest, NotesThatRecordsOfSwitchesAreRefused) {
  kernel_.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    return attr.sample_period == 1 ? EINVAL : 0;
  };

  EXPECT_EQ(one("switch records").state, State::kNote);
  EXPECT_THAT(one("switch records").consequence, HasSubstr("counted by descriptors"));
  EXPECT_THAT(one("open files").what, HasSubstr("and 10 for each cgroup"));
}

TEST_F(DoctorTest, NotesThatMovesOfTasksAreNotNotedWithoutTracefs) {
  std::filesystem::remove_all(tree_.path("sys/kernel/tracing"));

  const Finding found = one("switch records");

  EXPECT_EQ(found.state, State::kNote);
  EXPECT_THAT(found.what, HasSubstr("moves of running tasks to other cgroups are not noted"));
  EXPECT_THAT(found.consequence, HasSubstr("counted for the cgroup that it moved to"));
  EXPECT_THAT(found.remedy, HasSubstr("mount -t tracefs"));
}

TEST_F(DoctorTest, NotesThatTheKernelRefusesTheTracepointOfMoves) {
  kernel_.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    return attr.type == PERF_TYPE_TRACEPOINT ? EACCES : 0;
  };

  const Finding found = one("switch records");

  EXPECT_EQ(found.state, State::kNote);
  EXPECT_THAT(found.what, HasSubstr("open the tracepoint of moves between cgroups on CPU 0"));
  EXPECT_THAT(found.remedy, HasSubstr("CAP_PERFMON"));
}

TEST_F(DoctorTest, ComputesTheFilesThatTheConfigurationNeeds) {
  configure(std::string(kConfig) + "cgroups: {source: descriptors}\n");
  // on each of 2 CPUs 3 events and one more to see it go; 672 in reserve. For a cgroup on each CPU
  // 2 events and the clock of their group, and its directory
  EXPECT_EQ(
      one("open files").what,
      "limit 1024, raised to 20000 at start; 680 needed, and 10 for each cgroup: room for 256 "
      "cgroups (bound: cgroups.max)");
}

TEST_F(DoctorTest, NotesALimitThatLeavesRoomForFewCgroups) {
  configure(std::string(kConfig) + "cgroups: {source: descriptors}\n");
  self_.files = {147, 147};

  EXPECT_EQ(one("open files").state, State::kNote);
  EXPECT_THAT(one("open files").what, HasSubstr("room for 1 cgroup"));
  EXPECT_THAT(one("open files").remedy, HasSubstr("LimitNOFILE="));
}

TEST_F(DoctorTest, FindsALimitBadThatIsTooLowForTheCpus) {
  self_.files = {100, 100};

  EXPECT_EQ(one("open files").state, State::kBad);
  EXPECT_EQ(one("open files").consequence, "the exporter does not start");
}

TEST_F(DoctorTest, KnowsThatThereMayBeNoLimit) {
  self_.files = {UINT64_MAX, UINT64_MAX};

  EXPECT_THAT(one("open files").what, StartsWith("limit none;"));
}

TEST_F(DoctorTest, CountsTheEventsThatCanBeCounted) {
  EXPECT_EQ(one("configuration").what, "3 of 3 events can be counted here");
}

TEST_F(DoctorTest, ReportsEachReasonOnce) {
  configure(
      "groups:\n"
      "  - {name: a, events: [cycles, branches, instructions], scope: cpu}\n"
      "  - {name: b, events: [context-switches], scope: cpu}\n");
  kernel_.refuse("cycles", ENOENT);
  kernel_.refuse("branches", ENOENT);

  const Finding left_out = one("configuration");

  EXPECT_EQ(left_out.state, State::kBad);
  EXPECT_THAT(left_out.what,
              HasSubstr("not counted here: cycles, branches: this machine has no such "
                        "hardware counter (ENOENT)"));
  EXPECT_EQ(left_out.consequence, "2 of 4 events can be counted here");
}

TEST_F(DoctorTest, NotesWhatTheEmbeddedDefaultListsAndTheMachineLacks) {
  options_.config_file.clear();
  kernel_.refuse("cycles", ENOENT);

  const Finding left_out = on("configuration").front();

  EXPECT_EQ(left_out.state, State::kNote);
  EXPECT_THAT(left_out.what, StartsWith("not counted here: cycles: "));
}

TEST_F(DoctorTest, DoesNotRepeatWhatKeepsEverythingFromCounting) {
  give(0);
  refuse_everything(EACCES);
  for (const char* event : {"cycles", "instructions", "context-switches"}) {
    kernel_.refuse(event, EACCES);
  }

  EXPECT_EQ(one("configuration").remedy, "see 'perf_event_open'");
}

TEST_F(DoctorTest, NotesAGroupThatHadToBeSplit) {
  kernel_.refuse_groups_larger_than(1, EINVAL);

  const std::vector<Finding> findings = on("configuration");

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].state, State::kGood);
  EXPECT_EQ(findings[1].state, State::kNote);
  EXPECT_THAT(findings[1].what, HasSubstr("{cycles} {instructions}"));
}

TEST_F(DoctorTest, ListsTheErrorsOfAConfiguration) {
  configure("groups: [{name: core, events: [cylces, instruction], scope: cpu}]");

  const std::vector<Finding> errors = on("configuration");

  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].state, State::kBad);
  EXPECT_THAT(errors[0].what, HasSubstr("config.yaml:1:"));
  EXPECT_THAT(errors[0].remedy, HasSubstr("'cycles'"));
  EXPECT_EQ(one("open files").state, State::kUnknown);
  EXPECT_THAT(one("open files").what, HasSubstr("what the configuration needs is not known"));
}

/// What `doctor` prints for this process, and how it ends.
std::pair<ExitStatus, std::string> run(const Options& options, perf::PerfKernel& kernel) {
  testing::internal::CaptureStdout();
  const ExitStatus status = run_doctor(options, kernel);
  return {status, testing::internal::GetCapturedStdout()};
}

TEST_F(DoctorTest, EndsWellWhenAllThatIsConfiguredCanBeCounted) {
  const auto [status, text] = run(options_, kernel_);

  EXPECT_EQ(status, kOk) << text;
  EXPECT_THAT(text, HasSubstr("ok       configuration"));
  EXPECT_THAT(text, HasSubstr(" 0 bad: everything in '" + options_.config_file +
                              "' that this machine has can be counted\n"));
}

TEST_F(DoctorTest, SaysThatTheConfigurationDisablesCounting) {
  configure("enabled: false\ngroups: [{name: a, events: [cycles], scope: cpu}]\n");

  const auto [status, text] = run(options_, kernel_);

  EXPECT_EQ(status, kOk) << text;
  EXPECT_THAT(text, HasSubstr("counting is disabled by the configuration (enabled: false)"));
}

TEST_F(DoctorTest, FailsWhenSomethingThatIsConfiguredCannot) {
  kernel_.refuse("cycles", ENOENT);

  const auto [status, text] = run(options_, kernel_);

  EXPECT_EQ(status, kFailed) << text;
  EXPECT_THAT(text, HasSubstr(" 1 bad: not everything in '" + options_.config_file + "'"));
}

TEST_F(DoctorTest, CountsWhatIsUnknownApartAndDoesNotFailForIt) {
  const auto [status, text] = run(options_, kernel_);

  EXPECT_THAT(text, HasSubstr("unknown  cgroup times "));
  EXPECT_THAT(text, HasSubstr(" unknown, "));
  EXPECT_EQ(status, kOk) << text;
}

TEST_F(DoctorTest, NotesDoNotFail) {
  set("nmi_watchdog", "1");

  const auto [status, text] = run(options_, kernel_);

  EXPECT_EQ(status, kOk) << text;
}

}  // namespace
}  // namespace pex::daemon
