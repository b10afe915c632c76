#include "daemon/doctor/doctor.h"

#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "daemon/doctor/findings.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"

namespace pex::daemon::doctor_test {
namespace {

using namespace std::chrono_literals;
using State = Finding::State;
using enum Finding::State;
using testing::_;
using testing::AllOf;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Matcher;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kSysAdmin = 1ULL << 21;
constexpr std::uint64_t kPerfmon = 1ULL << 38;
constexpr std::uint64_t kEverything = ~0ULL;

constexpr const char* kConfig =
    "groups:\n"
    "  - {name: core, events: [cycles, instructions], scope: [cpu, cgroup]}\n"
    "  - {name: software, events: [context-switches], scope: cpu}\n";

constexpr const char* kByDescriptors = "cgroups: {source: descriptors}\n";
const std::string kTracepoint =
    "groups:\n"
    "  - {name: a, events: [page-faults], scope: cpu}\n"
    "  - {name: t, events: ['cycles,sched:sched_switch'], scope: cpu";
constexpr const char* kSoftwareOnly =
    "groups: [{name: software, events: [page-faults], scope: cpu}]\n";
constexpr const char* kCpuOnly = "groups: [{name: core, events: [cycles], scope: cpu}]\n";

const std::string kCorePmu = "sys/bus/event_source/devices/cpu";
const std::string kMuxInterval = kCorePmu + "/perf_event_mux_interval_ms";

/// What the kernel is asked for msr/aperf/, alone on the first CPU.
constexpr const char* kReference = "cpu0 type9:0x1";

/// Of the trial of turns in the cgroup of the doctor itself.
constexpr const char* kTurns = "cpu0 /system.slice/a.service branch-misses";

/// A machine on which everything can be counted, until a test takes something away.
struct Machine {
  Machine() {
    self.kernel_release = "6.18.1";
    self.permissions.user = 0;
    give(kEverything);
    self.permissions.seccomp = host::Seccomp::kOff;
    self.permissions.no_new_privileges = false;
    self.files = {1024, 20'000};
    self.trial = 0ms;
    self.run_bound_to = [](int, const std::function<void()>& job) {
      job();
      return true;
    };
    kernel.answer(kReference, {.enabled = 1ms, .running = 1ms, .counts = {1000}});
  }

  Machine& configure(const std::string& text) {
    tree.write("config.yaml", text);
    return *this;
  }
  Machine& configure_more(const std::string& keys) { return configure(kConfig + keys); }
  Machine& set(const std::string& name, const std::string& value) {
    tree.write("proc/sys/kernel/" + name, value + "\n");
    return *this;
  }
  Machine& set_pmu(const std::string& file, const std::string& value) {
    tree.write("sys/bus/event_source/devices/" + file, value + "\n");
    return *this;
  }
  Machine& add_pmu(const std::string& name, const std::string& list, const std::string& cpus) {
    return set_pmu(name + "/type", "20").set_pmu(name + "/" + list, cpus);
  }
  Machine& lose(const std::string& file) {
    tree.remove(file);
    return *this;
  }
  void hide_the_pmus() {
    lose("sys/bus");
    tree.write("sys/bus/event_source/devices", "no folder");
  }
  Machine& become_an_instance_of_ec2() {
    tree.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n\n");
    tree.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree.write("sys/class/dmi/id/product_name", "m5.large\n");
    return *this;
  }
  Machine& add_a_program_with_events() {
    tree.write("proc/77/comm", "perf\x1b[31m\n");
    std::filesystem::create_directories(tree.path("proc/77/fd"));
    for (const char* fd : {"proc/77/fd/3", "proc/77/fd/4"}) {
      std::filesystem::create_symlink("anon_inode:[perf_event]", tree.path(fd));
    }
    return *this;
  }
  /// In force, and possible.
  Machine& give(std::uint64_t capabilities) {
    self.permissions.effective = self.permissions.permitted = self.permissions.bounding =
        host::CapabilitySet{capabilities};
    return *this;
  }
  Machine& filter() {
    self.permissions.seccomp = host::Seccomp::kFilter;
    return *this;
  }
  /// An event, or all of them if it is "dummy", which is tried first.
  Machine& refuse(const std::string& event, int code) {
    kernel.refuse(event, code);
    return *this;
  }
  void refuse_records() {
    kernel.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
      return attr.sample_period == 1 ? EINVAL : 0;
    };
  }
  /// Of another name than the root, as the trial of turns needs.
  Machine& run_in_a_cgroup() {
    self.cgroup = "/system.slice/a.service";
    return *this;
  }
  /// What a group says after its turns; its last event is the clock of its CPU.
  void answer(const std::string& group, std::chrono::nanoseconds enabled,
              std::chrono::nanoseconds running, std::chrono::nanoseconds clock) {
    kernel.answer(group, {.enabled = enabled,
                          .running = running,
                          .counts = {7, static_cast<std::uint64_t>(clock.count())}});
  }

  std::vector<Finding> all() { return check_all(options, kernel, self); }

  std::vector<Finding> on(const std::string& subject) {
    std::vector<Finding> findings = all();
    std::erase_if(findings, [&](const Finding& finding) { return finding.subject != subject; });
    return findings;
  }

  std::vector<Finding> not_good(const std::string& subject) {
    std::vector<Finding> findings = on(subject);
    std::erase_if(findings, [](const Finding& finding) { return finding.state == kGood; });
    return findings;
  }

  /// The only one, as a test expects.
  Finding one(const std::string& subject) {
    std::vector<Finding> findings = on(subject);
    EXPECT_EQ(findings.size(), 1U) << subject;
    return findings.empty() ? Finding{kBad, {}, {}, {}, {}} : findings.front();
  }

  test::TempTree tree{
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
  test::ScriptedKernel kernel{tree.path("cgroup")};
  Options options = options_in(tree);
  Self self;
};

TEST(DoctorTest, FindsEverythingGoodWhereEverythingCanBeCounted) {
  Machine machine;
  machine.run_in_a_cgroup().answer(kTurns, 300ms, 100ms, 99ms);

  const std::vector<Finding> findings = machine.all();

  EXPECT_EQ(count(findings, kGood), findings.size()) << format_findings(findings);
  EXPECT_GE(findings.size(), 13U);
  EXPECT_EQ(machine.kernel.still_open(), 0U);
}

TEST(DoctorTest, EverythingThatIsNotGoodHasAConsequenceAndARemedy) {
  Machine machine;
  machine.lose(kCorePmu).lose("sys/kernel").lose("cgroup");
  machine.give(0).refuse("dummy", EACCES).refuse("cycles", ENOENT);

  for (const Finding& finding : machine.all()) {
    if (finding.state == kGood) continue;
    EXPECT_THAT(finding.consequence, Not(IsEmpty())) << finding.subject;
    EXPECT_THAT(finding.remedy, Not(IsEmpty())) << finding.subject;
  }
}

TEST(DoctorTest, DoesNotTakeWhatItCannotReadForGood) {
  Machine machine;
  machine.lose("proc/sys/kernel/perf_event_paranoid").lose("proc/sys/kernel/nmi_watchdog");
  machine.lose(kMuxInterval);
  machine.self.permissions.effective.reset();
  machine.self.permissions.seccomp.reset();
  machine.self.kernel_release = "unreadable";

  for (const char* subject : {"kernel", "perf_event_paranoid", "capabilities", "seccomp",
                              "NMI watchdog", "mux interval"}) {
    EXPECT_EQ(machine.one(subject).state, kUnknown) << subject;
    EXPECT_THAT(machine.one(subject).what, Not(IsEmpty())) << subject;
  }
}

TEST(DoctorTest, BelievesNoTrialThatWasNotMade) {
  Machine machine;
  machine.lose("sys/devices/system/cpu/online").filter().give(kPerfmon);
  machine.set("perf_event_paranoid", "4");

  EXPECT_EQ(machine.one("seccomp").state, kUnknown);
  EXPECT_EQ(machine.one("perf_event_paranoid").state, kNote);
  EXPECT_EQ(machine.one("cgroups").state, kUnknown);
  EXPECT_THAT(machine.on("perf_event_open"), IsEmpty());
}

/// What a machine has or lacks, and the one finding on a subject there.
struct Row {
  const char* name;
  const char* subject;
  void (*change)(Machine&);
  State state;
  Matcher<std::string> what = _;
  Matcher<std::string> consequence = _;
  Matcher<std::string> remedy = _;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.subject; }

void nothing(Machine&) {}

const Row kRights[] = {
    {"NotesAKernelThatHasNoCapPerfmon", "kernel",
     [](Machine& m) { m.self.kernel_release = "5.4.0-200-generic"; }, kNote, _,
     HasSubstr("CAP_SYS_ADMIN")},
    {"NamesTheCpusThatAreOnline", "CPUs", nothing, kGood, "0-1 online"},
    {"CannotGoOnWithoutAListOfCpus", "CPUs",
     [](Machine& m) { m.lose("sys/devices/system/cpu/online"); }, kBad, _, _,
     HasSubstr("--path.sysfs")},
    {"AsksForTheCapabilityThatIsMissing", "perf_event_open",
     [](Machine& m) { m.give(0).refuse("dummy", EACCES); }, kBad,
     "refused on CPUs 0-1: Permission denied (EACCES)", "nothing can be counted",
     AllOf(StartsWith("grant CAP_PERFMON"), Not(HasSubstr("perf_event_paranoid")))},
    {"AsksForALowerLevelWhereCapPerfmonIsNotEnough", "perf_event_open",
     [](Machine& m) { m.give(kPerfmon).set("perf_event_paranoid", "3").refuse("dummy", EACCES); },
     kBad, _, _,
     AllOf(StartsWith("set sysctl kernel.perf_event_paranoid=2"), Not(HasSubstr("grant")))},
    {"AsksForBothWhereTheLevelIsHighAndTheCapabilityMissing", "perf_event_open",
     [](Machine& m) { m.give(0).set("perf_event_paranoid", "4").refuse("dummy", EACCES); }, kBad, _,
     _, AllOf(HasSubstr("kernel.perf_event_paranoid=2"), HasSubstr("grant CAP_PERFMON"))},
    {"SuspectsAUserNamespaceWhereTheCapabilityIsThere", "perf_event_open",
     [](Machine& m) { m.refuse("dummy", EACCES); }, kBad, _, _, HasSubstr("user namespace")},
    {"AsksForALowerLevelBeforeItSuspectsAUserNamespace", "perf_event_open",
     [](Machine& m) { m.set("perf_event_paranoid", "4").refuse("dummy", EACCES); }, kBad, _, _,
     StartsWith("set sysctl kernel.perf_event_paranoid=2, and grant CAP_PERFMON")},
    {"NamesTheCpuThatRefuses", "perf_event_open",
     [](Machine& m) { m.refuse("cpu1 dummy", ENODEV); }, kBad, StartsWith("refused on CPU 1:"),
     "nothing is counted there"},
    {"SuspectsTheSysfsOfAnotherMachine", "perf_event_open",
     [](Machine& m) { m.refuse("cpu1 dummy", EINVAL); }, kBad, _, _, HasSubstr("--path.sysfs")},
    {"BlamesTheFilterForEperm", "perf_event_open",
     [](Machine& m) { m.filter().refuse("dummy", EPERM); }, kBad, _, _, HasSubstr("seccomp")},
    {"BlamesTheFilterForEnosys", "perf_event_open",
     [](Machine& m) { m.filter().refuse("dummy", ENOSYS); }, kBad, _, _, HasSubstr("seccomp")},
    {"NotesAFilterThatRefusesByEperm", "seccomp",
     [](Machine& m) { m.filter().refuse("dummy", EPERM); }, kNote, _, _,
     HasSubstr("SystemCallFilter=")},
    {"NotesAFilterThatRefusesByEnosys", "seccomp",
     [](Machine& m) { m.filter().refuse("dummy", ENOSYS); }, kNote, _, _,
     HasSubstr("SystemCallFilter=")},
    {"DoesNotBlameAFilterThatLetsEventsThrough", "seccomp", [](Machine& m) { m.filter(); }, kGood},
    {"DoesNotBlameAFilterForWhatTheKernelRefuses", "seccomp",
     [](Machine& m) { m.filter().refuse("dummy", EACCES); }, kGood},
    {"ReportsWhatLevelMinus1Means", "perf_event_paranoid",
     [](Machine& m) { m.set("perf_event_paranoid", "-1"); }, kGood, "-1: every user may count"},
    {"ReportsWhatLevel0Means", "perf_event_paranoid",
     [](Machine& m) { m.set("perf_event_paranoid", "0"); }, kGood, "0: every user may count"},
    {"ReportsWhatLevel1Means", "perf_event_paranoid",
     [](Machine& m) { m.set("perf_event_paranoid", "1"); }, kGood,
     "1: counting requires CAP_PERFMON"},
    {"ReportsWhatLevel2Means", "perf_event_paranoid", nothing, kGood,
     "2: counting requires CAP_PERFMON"},
    {"WarnsWhoMayEverythingOfALevelThatTheServiceMayNotPass", "perf_event_paranoid",
     [](Machine& m) { m.set("perf_event_paranoid", "3"); }, kNote, _, _,
     HasSubstr("kernel.perf_event_paranoid=2")},
    {"TrustsTheTrialWhereCapPerfmonPassesAHighLevel", "perf_event_paranoid",
     [](Machine& m) { m.give(kPerfmon).set("perf_event_paranoid", "4"); }, kGood},
    {"DoesNotKnowALevelThatCannotBeRead", "perf_event_paranoid",
     [](Machine& m) { m.lose("proc/sys/kernel/perf_event_paranoid"); }, kUnknown, _, _,
     HasSubstr("--path.procfs")},
    {"NamesTheCapabilitiesThatHelp", "capabilities",
     [](Machine& m) { m.give(kPerfmon | kSysAdmin).self.permissions.user = 65534; }, kGood,
     "CAP_PERFMON, CAP_SYS_ADMIN (user 65534)"},
    {"AsksForNoCapabilityWhereEverybodyMayCount", "capabilities",
     [](Machine& m) { m.give(0).set("perf_event_paranoid", "0"); }, kGood},
    {"DoesNotKnowCapabilitiesThatItCannotRead", "capabilities",
     [](Machine& m) { m.self.permissions = {}; }, kUnknown, StartsWith("not known")},
    {"DoesNotKnowAFilterThatItCannotRead", "seccomp", [](Machine& m) { m.self.permissions = {}; },
     kUnknown, StartsWith("not known")},
};

const Row kPmus[] = {
    {"NamesTheCorePmus", "core PMUs", nothing, kGood, "cpu"},
    {"NamesTheUncorePmusByTheirFamilies", "uncore PMUs",
     [](Machine& m) {
       m.add_pmu("uncore_imc_0", "cpumask", "0").add_pmu("uncore_imc_1", "cpumask", "0");
       m.add_pmu("uncore_cha_0", "cpumask", "0");
     },
     kGood, "uncore_cha on CPU 0; uncore_imc (2) on CPU 0"},
    {"NamesAFamilyOnceWithAllItsCpus", "uncore PMUs",
     [](Machine& m) {
       m.add_pmu("hisi_sccl1_ddrc0", "cpumask", "0").add_pmu("hisi_sccl1_ddrc1", "cpumask", "0");
       m.add_pmu("hisi_sccl3_ddrc0", "cpumask", "1");
       m.add_pmu("uncore_imc_0", "cpumask", "0").add_pmu("uncore_imc_1", "cpumask", "\n");
     },
     kGood, "hisi_sccl_ddrc (3) on CPUs 0-1; uncore_imc (2) on CPU 0"},
    {"NamesTheOtherPmus", "other PMUs", nothing, kGood, "msr, software, tracepoint"},
    {"ReportsPlainlyThatThereIsNoHardwarePmu", "core PMUs", [](Machine& m) { m.lose(kCorePmu); },
     kNote, _, HasSubstr("cycles"), HasSubstr("virtual PMU")},
    {"NamesTheCloudThatHasNoPmuAndItsInstanceTypesThatHave", "core PMUs",
     [](Machine& m) { m.become_an_instance_of_ec2().lose(kCorePmu); }, kNote,
     HasSubstr("(Amazon EC2, m5.large)"), _, HasSubstr("*5.12xlarge")},
    {"NamesTheEventsThatAHypervisorHides", "hidden events",
     [](Machine& m) {
       m.become_an_instance_of_ec2().refuse("cache-references", ENOENT);
       m.refuse("cache-misses", EOPNOTSUPP).refuse("branch-misses", EBUSY);
     },
     kNote, "cache-references, cache-misses (Amazon EC2, m5.large)", _, HasSubstr("*5.12xlarge")},
    {"NotesASysfsThatShowsNoPmu", "PMUs", [](Machine& m) { m.lose("sys/bus"); }, kNote, _, _,
     HasSubstr("--path.sysfs")},
    {"CannotGoOnWhenThePmusCannotBeRead", "PMUs", [](Machine& m) { m.hide_the_pmus(); }, kBad},
    {"HasNoConfigurationWhenThePmusCannotBeRead", "configuration",
     [](Machine& m) { m.hide_the_pmus(); }, kBad},
    {"NotesATracefsThatIsNotThere", "tracefs", [](Machine& m) { m.lose("sys/kernel/tracing"); },
     kNote, _, _, HasSubstr("mount")},
    {"FindsATracefsBadThatTheConfigurationNeeds", "tracefs",
     [](Machine& m) { m.lose("sys/kernel/tracing").configure(kTracepoint + "}"); }, kBad},
    {"RefersToTheTracefsThatTheConfigurationNeeds", "configuration",
     [](Machine& m) { m.lose("sys/kernel/tracing").configure(kTracepoint + "}"); }, kBad, _, _,
     "see 'tracefs'"},
    {"NotesATracefsThatOnlyAGroupForOtherMachinesNeeds", "tracefs",
     [](Machine& m) {
       m.lose("sys/kernel/tracing").configure(kTracepoint + ", when: {cpus: 4096}}");
     },
     kNote},
    {"NotesATracefsThatOnlyAnOptionalGroupNeeds", "tracefs",
     [](Machine& m) { m.lose("sys/kernel/tracing").configure(kTracepoint + ", optional: true}"); },
     kNote},
    {"CountsTheCountersThatAreFree", "free counters",
     [](Machine& m) { m.configure(kCpuOnly).kernel.refuse_groups_larger_than(4, EINVAL); }, kGood,
     "cpu: 4 for any event and 0 fixed (CPU 0)"},
    {"CountsNoneOnExcludedCpus", "free counters",
     [](Machine& m) { m.configure_more("cpus: {exclude: [0]}\n"); }, kGood, HasSubstr("(CPU 1)")},
    {"NotesThatOthersHoldAllCounters", "free counters",
     [](Machine& m) { m.configure(kSoftwareOnly).kernel.starve_groups_larger_than(0); }, kNote,
     HasSubstr("0 for any event")},
    {"NotesAPmuOnWhichNothingOpens", "free counters",
     [](Machine& m) {
       m.refuse("branch-misses", ENOENT).refuse("cache-misses", ENOENT);
       m.refuse("instructions", ENOENT);
     },
     kNote},
    {"FindsNoOtherProgramWithPerfEvents", "other programs", nothing, kGood, "none has perf events"},
    {"NamesOtherProgramsWithPerfEvents", "other programs",
     [](Machine& m) { m.add_a_program_with_events(); }, kNote,
     "perf\\u001b[31m (PID 77) has 2 perf events"},
    {"DoesNotMindOtherProgramsWithoutCounters", "other programs",
     [](Machine& m) { m.add_a_program_with_events().lose(kCorePmu); }, kGood},
    {"NamesTheReferenceThatIsFree", "activity reference", nothing, kGood, StartsWith("msr/aperf/")},
    {"NotesAMachineWithoutAFreeReference", "activity reference",
     [](Machine& m) { m.lose("sys/bus/event_source/devices/msr/events/aperf"); }, kNote,
     "none without a counter: msr/aperf/: this machine does not have it", HasSubstr("cycles")},
    {"NotesAReferenceThatDoesNotOpen", "activity reference",
     [](Machine& m) { m.refuse("type9:0x1", ENOENT); }, kNote,
     HasSubstr("could not open event 'msr/aperf/'")},
    {"NotesAReferenceThatStandsStill", "activity reference",
     [](Machine& m) {
       m.kernel.answer(kReference, {.enabled = 1ms, .running = 1ms, .counts = {0}});
     },
     kNote, HasSubstr("does not count")},
};

const Row kSettings[] = {
    {"DoesNotMindAWatchdogThatHasNoCounterToTake", "NMI watchdog",
     [](Machine& m) { m.set("nmi_watchdog", "1").lose(kCorePmu); }, kGood},
    {"DoesNotKnowWhatTheWatchdogHoldsWithoutThePmus", "NMI watchdog",
     [](Machine& m) { m.set("nmi_watchdog", "1").hide_the_pmus(); }, kUnknown},
    {"DoesNotTakeASettingThatIsNoNumberForOneThatIsNotThere", "NMI watchdog",
     [](Machine& m) { m.set("nmi_watchdog", "on"); }, kUnknown},
    {"KnowsKernelsWithoutAWatchdog", "NMI watchdog",
     [](Machine& m) { m.lose("proc/sys/kernel/nmi_watchdog"); }, kGood, "none in this kernel"},
    {"ReportsTheLimitsOfSamplingInOneLine", "sampling", nothing, kGood,
     "at most 100000 samples/s, 25 % of CPU time, 516 KiB of rings per CPU, call chains of "
     "127 frames and 8 contexts"},
    {"DoesNotKnowLimitsOfSamplingThatCannotBeRead", "sampling",
     [](Machine& m) { m.lose("proc/sys/kernel"); }, kUnknown},
    {"ReportsThatProgramsReadCountersThemselvesOnArm", "user access",
     [](Machine& m) { m.set("perf_user_access", "1"); }, kGood,
     StartsWith("kernel.perf_user_access=1: programs")},
    {"ReportsThatProgramsReadCountersThemselvesOnX86", "user access",
     [](Machine& m) { m.lose("proc/sys/kernel").set_pmu("cpu/rdpmc", "1"); }, kGood},
    {"NotesCountersThatEveryProgramMayRead", "user access",
     [](Machine& m) { m.set_pmu("cpu/rdpmc", "2"); }, kNote, _, HasSubstr("watch")},
    {"NotesPmusWithLongMuxIntervals", "mux interval",
     [](Machine& m) {
       m.set_pmu("cpu/perf_event_mux_interval_ms", "100");
       m.set_pmu("software/perf_event_mux_interval_ms", "4");
     },
     kNote, "4 ms on software; 100 ms on cpu", _, HasSubstr("/cpu/perf_event_mux_interval_ms")},
    {"KnowsMuxIntervalsOfOneTickOfAnyKernel", "mux interval",
     [](Machine& m) { m.configure(kCpuOnly).set_pmu("cpu/perf_event_mux_interval_ms", "10"); },
     kGood, "10 ms on cpu"},
    {"ChecksTheMuxIntervalOfCorePmusOnly", "mux interval",
     [](Machine& m) { m.set_pmu("software/perf_event_mux_interval_ms", "4"); }, kGood},
    {"DoesNotKnowTheMuxIntervalOfACorePmuByThoseOfAnother", "mux interval",
     [](Machine& m) { m.lose(kMuxInterval).set_pmu("software/perf_event_mux_interval_ms", "5"); },
     kUnknown, HasSubstr("cpu")},
    {"AdvisesAMuxIntervalThatIsNotInStepWithTheTickWhereCgroupsShareThePmu", "mux interval",
     [](Machine& m) { m.set_pmu("cpu/perf_event_mux_interval_ms", "4"); }, kNote, _,
     HasSubstr("wake at ticks"),
     AllOf(StartsWith("echo 5 > /"), EndsWith(kMuxInterval + ", after each boot"))},
    {"AdvisesAMuxIntervalThatIsNotInStepWithTheSlowestTick", "mux interval",
     [](Machine& m) { m.set_pmu("cpu/perf_event_mux_interval_ms", "10"); }, kNote, _,
     HasSubstr("wake at ticks"),
     AllOf(StartsWith("echo 7 > /"), EndsWith(kMuxInterval + ", after each boot"))},
    {"AdvisesNoOtherMuxIntervalWhereNoneWouldHelp", "mux interval",
     [](Machine& m) { m.set_pmu("cpu/perf_event_mux_interval_ms", "1"); }, kGood},
    {"AdvisesNoOtherMuxIntervalWhereCgroupsHaveSoftwareEventsOnly", "mux interval",
     [](Machine& m) {
       m.configure(
           "groups:\n"
           "  - {name: core, events: [cycles], scope: cpu}\n"
           "  - {name: software, events: [context-switches], scope: cgroup}\n");
       m.set_pmu("cpu/perf_event_mux_interval_ms", "4");
     },
     kGood},
};

const Row kCgroups[] = {
    {"KnowsATreeOfVersion1", "cgroups", [](Machine& m) { m.lose("cgroup/cgroup.controllers"); },
     kGood, StartsWith("version 1 in ")},
    {"FindsNoTreeBadWhereOneIsConfigured", "cgroups",
     [](Machine& m) { m.options.roots.cgroupfs = {}; }, kBad},
    {"NotesThatThereIsNoTreeWhereNoneIsConfigured", "cgroups",
     [](Machine& m) { m.configure(kCpuOnly).options.roots.cgroupfs = {}; }, kNote},
    {"ReportsWhereTheTreeWasExpected", "cgroups", [](Machine& m) { m.lose("cgroup"); }, kBad,
     HasSubstr("could not open cgroup directory"), _, HasSubstr("--path.cgroupfs")},
    {"NotesThatNoCgroupMatches", "cgroups", [](Machine& m) { m.lose("cgroup/system.slice"); },
     kNote, _, _, HasSubstr("cgroups.include")},
    {"FindsATreeBadThatTheKernelDoesNotCountIn", "cgroups",
     [](Machine& m) { m.refuse("cpu0 /system.slice/a.service dummy", ENOENT); }, kBad, _, _,
     HasSubstr("subtree_control")},
    {"DoesNotKnowATreeInWhichNoEventOpens", "cgroups",
     [](Machine& m) { m.configure(kCpuOnly).refuse("dummy", EACCES); }, kUnknown, _, _,
     "see 'perf_event_open'"},
    {"NotesHowManyCgroupsAreLeftOutAndWhy", "cgroups",
     [](Machine& m) { m.configure_more("cgroups: {max: 1}\n"); }, kNote, _,
     "1 of them are left out", HasSubstr("raise cgroups.max")},
    {"NotesThatRecordsOfSwitchesAreRefused", "switch records",
     [](Machine& m) { m.refuse_records(); }, kNote, _, HasSubstr("counted by descriptors")},
    {"DoesNotKnowTimesOfCgroupsWithoutItsOwnCgroup", "cgroup times", nothing, kUnknown,
     HasSubstr("other than the root")},
    {"DoesNotKnowTimesOfCgroupsInTheRoot", "cgroup times", [](Machine& m) { m.self.cgroup = "/"; },
     kUnknown, HasSubstr("other than the root")},
    {"ReportsThatGroupsHaveTheirOwnTimes", "cgroup times",
     [](Machine& m) { m.run_in_a_cgroup().answer(kTurns, 300ms, 100ms, 99ms); }, kGood,
     HasSubstr("their own running time")},
    {"NotesAKernelThatBooksTimesToTheWrongGroup", "cgroup times",
     [](Machine& m) { m.run_in_a_cgroup().answer(kTurns, 300ms, 163ms, 99ms); }, kNote,
     HasSubstr("to the wrong group"), StartsWith("none for this exporter"), HasSubstr("6.12.115")},
    {"TriesTimesInAContainerWhoseRootIsNotThatOfTheHost", "cgroup times",
     [](Machine& m) {
       m.self.cgroup = "/";
       m.tree.write("cgroup/cgroup.events", "populated 1\n");
       m.answer("cpu0 / branch-misses", 300ms, 163ms, 99ms);
     },
     kNote},
    {"TriesTimesOnAnotherCpuWhereOtherWorkHadTheFirst", "cgroup times",
     [](Machine& m) {
       m.run_in_a_cgroup().answer(kTurns, 100ms, 33ms, 33ms);
       m.answer("cpu1 /system.slice/a.service branch-misses", 300ms, 163ms, 99ms);
     },
     kNote},
    {"CannotDetermineTimesOfGroupsThatDidNotRotate", "cgroup times",
     [](Machine& m) { m.run_in_a_cgroup().answer(kTurns, 300ms, 300ms, 300ms); }, kUnknown,
     StartsWith("could not be determined: ")},
    {"CannotDetermineTimesWhereOtherWorkHadEveryCpu", "cgroup times",
     [](Machine& m) { m.run_in_a_cgroup(); }, kUnknown, HasSubstr("other processes used the CPU")},
    {"CannotDetermineTimesWhereCgroupsMayNotBeCounted", "cgroup times",
     [](Machine& m) { m.run_in_a_cgroup().refuse(kTurns, EACCES); }, kUnknown,
     AllOf(HasSubstr("could not open event 'branch-misses'"), HasSubstr("(EACCES)"))},
    {"CannotDetermineTimesWhereItMayRunOnNoCpu", "cgroup times",
     [](Machine& m) {
       m.run_in_a_cgroup().self.run_bound_to = [](int, const std::function<void()>&) {
         return false;
       };
     },
     kUnknown, "could not be determined: this process may run on no CPU of cpu"},
};

const Row kConfigurations[] = {
    {"CountsTheEventsThatCanBeCounted", "configuration", nothing, kGood,
     "3 of 3 events can be counted here"},
    {"ReportsEachReasonOnce", "configuration",
     [](Machine& m) {
       m.configure(
           "groups:\n"
           "  - {name: a, events: [cycles, branches, instructions], scope: cpu}\n"
           "  - {name: b, events: [context-switches], scope: cpu}\n");
       m.refuse("cycles", ENOENT).refuse("branches", ENOENT);
     },
     kBad,
     HasSubstr("not counted here: cycles, branches: this machine has no such "
               "hardware counter (ENOENT)"),
     "2 of 4 events can be counted here"},
    {"DoesNotRepeatWhatKeepsEverythingFromCounting", "configuration",
     [](Machine& m) {
       m.give(0).refuse("dummy", EACCES).refuse("cycles", EACCES);
       m.refuse("instructions", EACCES).refuse("context-switches", EACCES);
     },
     kBad, _, _, "see 'perf_event_open'"},
    {"DoesNotKnowEventsThatWereNotTriedInACgroup", "configuration",
     [](Machine& m) { m.options.roots.cgroupfs = {}; }, kUnknown,
     HasSubstr("2 of them can be counted in cgroups is not known")},
    // On each of 2 CPUs 3 events and one more to see it go; 672 in reserve. For a cgroup on each
    // CPU 2 events and the clock of their group, and its directory.
    {"ComputesTheFilesThatTheConfigurationNeeds", "open files",
     [](Machine& m) { m.configure_more(kByDescriptors); }, kGood,
     "limit 1024, raised to 20000 at start; 680 needed, and 10 for each cgroup: room for 256 "
     "cgroups (bound: cgroups.max)"},
    {"ComputesTheFilesThatRecordsNeed", "open files", nothing, kGood,
     HasSubstr("and 2 for each cgroup: room for 256")},
    {"ComputesTheFilesOfDescriptorsWhereRecordsAreRefused", "open files",
     [](Machine& m) { m.refuse_records(); }, kGood, HasSubstr("and 10 for each cgroup")},
    {"NotesALimitThatLeavesRoomForFewCgroups", "open files",
     [](Machine& m) {
       m.configure_more(kByDescriptors).self.files = {147, 147};
     },
     kNote, HasSubstr("room for 1 cgroup"), _, HasSubstr("LimitNOFILE=")},
    {"FindsALimitBadThatIsTooLowForTheCpus", "open files",
     [](Machine& m) {
       m.self.files = {100, 100};
     },
     kBad, _, "the exporter does not start"},
    {"KnowsThatThereMayBeNoLimit", "open files",
     [](Machine& m) {
       m.self.files = {UINT64_MAX, UINT64_MAX};
     },
     kGood, StartsWith("limit none;")},
};

class DoctorFindingTest : public testing::TestWithParam<Row> {};

TEST_P(DoctorFindingTest, IsTheOneOnItsSubject) {
  const Row& row = GetParam();
  Machine machine;
  row.change(machine);

  const Finding finding = machine.one(row.subject);

  EXPECT_STREQ(word_for(finding.state), word_for(row.state));
  EXPECT_THAT(finding.what, row.what);
  EXPECT_THAT(finding.consequence, row.consequence);
  EXPECT_THAT(finding.remedy, row.remedy);
}

std::string name_of(const testing::TestParamInfo<Row>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(Rights, DoctorFindingTest, testing::ValuesIn(kRights), name_of);
INSTANTIATE_TEST_SUITE_P(Pmus, DoctorFindingTest, testing::ValuesIn(kPmus), name_of);
INSTANTIATE_TEST_SUITE_P(Settings, DoctorFindingTest, testing::ValuesIn(kSettings), name_of);
INSTANTIATE_TEST_SUITE_P(Cgroups, DoctorFindingTest, testing::ValuesIn(kCgroups), name_of);
INSTANTIATE_TEST_SUITE_P(Configurations, DoctorFindingTest, testing::ValuesIn(kConfigurations),
                         name_of);

TEST(DoctorTest, ReportsHowToGrantTheCapabilityThatIsMissing) {
  Machine machine;
  host::Permissions& permissions = machine.self.permissions;
  machine.give(0);
  EXPECT_EQ(machine.one("capabilities").state, kNote);
  EXPECT_THAT(machine.one("capabilities").remedy,
              AllOf(HasSubstr("CapabilityBoundingSet="), Not(HasSubstr("setcap"))));

  // A container of Docker 20.10 with --cap-add=SYS_ADMIN, or one whose image lost file
  // capabilities.
  for (const std::uint64_t only_bounding : {kPerfmon, kSysAdmin}) {
    permissions.bounding->bits = only_bounding;
    EXPECT_THAT(machine.one("capabilities").remedy,
                AllOf(HasSubstr("--user=0 for a container"), HasSubstr("runAsUser: 0"),
                      Not(HasSubstr("--cap-add"))));
  }

  permissions.bounding->bits = kPerfmon;
  EXPECT_THAT(machine.one("capabilities").remedy,
              AllOf(Not(HasSubstr("CapabilityBoundingSet=")), HasSubstr("setcap")));

  permissions.no_new_privileges = true;
  EXPECT_THAT(machine.one("capabilities").remedy,
              HasSubstr("setcap cap_perfmon=p PROGRAM in the image"));

  permissions.permitted->bits = kPerfmon;
  EXPECT_THAT(machine.one("capabilities").remedy,
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

TEST(DoctorTest, AFindingAboutASettingIsGoneOnceItsRemedyIsFollowed) {
  struct Setting {
    const char* subject;
    const char* setting;
    const char* value;
  };
  const Setting rows[] = {{"perf_event_paranoid", "perf_event_paranoid", "4"},
                          {"NMI watchdog", "nmi_watchdog", "1"},
                          {"sampling", "perf_event_max_sample_rate", "10"},
                          {"sampling", "perf_cpu_time_max_percent", "0"},
                          {"sampling", "perf_cpu_time_max_percent", "100"},
                          {"sampling", "perf_event_mlock_kb", "16"},
                          {"sampling", "perf_event_max_stack", "3"},
                          {"sampling", "perf_event_max_contexts_per_stack", "1"}};
  Machine machine;
  machine.give(0).refuse("dummy", EACCES);
  for (const Setting& row : rows) {
    machine.set(row.setting, row.value);
    const std::vector<Finding> found = machine.not_good(row.subject);
    ASSERT_EQ(found.size(), 1U) << row.setting;
    const auto [name, value] = setting_in(found.front().remedy);

    EXPECT_EQ(name, row.setting);
    machine.set(name, value);
    EXPECT_THAT(machine.not_good(row.subject), IsEmpty()) << found.front().remedy;
  }
}

TEST(DoctorTest, AFindingAboutRightsIsGoneOnceItsRemedyIsFollowed) {
  struct Right {
    std::uint64_t bounding;
    const char* remedy;
    std::uint64_t then;
  };
  for (const Right& row :
       {Right{0, "AmbientCapabilities=CAP_PERFMON", kPerfmon},
        Right{0, "--cap-add=PERFMON", kPerfmon}, Right{kPerfmon, "--user=0", kPerfmon},
        Right{kPerfmon, "setcap cap_perfmon=p", kPerfmon},
        Right{kSysAdmin, "--user=0", kSysAdmin}}) {
    Machine machine;
    machine.give(0);
    machine.self.permissions.bounding->bits = row.bounding;
    EXPECT_THAT(machine.one("capabilities").remedy, HasSubstr(row.remedy));
    machine.give(row.then);
    EXPECT_EQ(machine.one("capabilities").state, kGood) << row.remedy;
  }
}

TEST(DoctorTest, ReportsNothingOnWhatAMachineDoesNotHave) {
  const auto expect_nothing_on = [](const std::string& subject, Machine& machine) {
    EXPECT_THAT(machine.on(subject), IsEmpty()) << subject;
  };
  Machine machine;
  expect_nothing_on("user access", machine);
  expect_nothing_on("switch records", machine.configure_more(kByDescriptors));
  machine.lose(kCorePmu);
  for (const char* subject : {"free counters", "cgroup times", "activity reference"}) {
    expect_nothing_on(subject, machine);
  }
}

TEST(DoctorTest, NotesThatMovesOfTasksAreNotNotedWithoutTheirTracepoint) {
  Machine machine;
  machine.kernel.opened_events.refuse_open = [](perf::EventAttr& attr, const perf::EventTarget&) {
    return attr.type == PERF_TYPE_TRACEPOINT ? EACCES : 0;
  };
  const Finding refused = machine.one("switch records");
  EXPECT_EQ(refused.state, kNote);
  EXPECT_THAT(refused.what, HasSubstr("open the tracepoint of moves between cgroups on CPU 0"));
  EXPECT_THAT(refused.remedy, HasSubstr("CAP_PERFMON"));

  const Finding without_tracefs = machine.lose("sys/kernel/tracing").one("switch records");
  EXPECT_EQ(without_tracefs.state, kNote);
  EXPECT_THAT(without_tracefs.what,
              HasSubstr("moves of running tasks to other cgroups are not noted"));
  EXPECT_THAT(without_tracefs.consequence, HasSubstr("counted for the cgroup that it moved to"));
  EXPECT_THAT(without_tracefs.remedy, HasSubstr("mount -t tracefs"));
}

TEST(DoctorTest, SaysNothingOfACloudThatHasThePmu) {
  Machine machine;
  machine.become_an_instance_of_ec2();

  EXPECT_THAT(format_findings(machine.all()), Not(HasSubstr("Amazon")));
}

TEST(DoctorTest, CountsFreeCountersOnTheCpusOfEachPmu) {
  Machine machine;
  machine.lose(kCorePmu).add_pmu("cpu_core", "cpus", "0").add_pmu("cpu_atom", "cpus", "1");
  const auto atom_is_counted = AllOf(StartsWith("cpu_atom: "), HasSubstr("(CPU 1)"));

  const std::vector<Finding> free = machine.on("free counters");

  ASSERT_EQ(free.size(), 2U);
  EXPECT_THAT(free[0].what, atom_is_counted);
  EXPECT_THAT(free[1].what, AllOf(StartsWith("cpu_core: "), HasSubstr("(CPU 0)")));

  machine.configure_more("cpus: {exclude: [0]}\n");
  const std::vector<Finding> without_core = machine.on("free counters");

  ASSERT_EQ(without_core.size(), 2U);
  EXPECT_THAT(without_core[0].what, atom_is_counted);
  EXPECT_EQ(without_core[1].state, kUnknown);
  EXPECT_THAT(without_core[1].what, HasSubstr("all its CPUs are excluded"));
}

TEST(DoctorTest, TriesNothingOnExcludedCpus) {
  Machine machine;
  machine.configure_more("cpus: {exclude: [0]}\n").run_in_a_cgroup();
  static std::vector<int> bound_to;
  machine.self.run_bound_to = [](int cpu, const std::function<void()>& job) {
    bound_to.push_back(cpu);
    job();
    return true;
  };

  EXPECT_EQ(machine.one("perf_event_open").what, "allowed on every CPU that is not excluded");
  EXPECT_THAT(bound_to, AllOf(Not(IsEmpty()), Each(1)));
  EXPECT_THAT(machine.kernel.opened_groups(), Each(Not(StartsWith("cpu0 "))));
}

TEST(DoctorTest, NotesEachLimitOfSamplingThatCostsSomething) {
  Machine machine;
  const std::pair<const char*, const char*> low[] = {{"perf_event_max_sample_rate", "1000"},
                                                     {"perf_cpu_time_max_percent", "0"},
                                                     {"perf_event_mlock_kb", "64"},
                                                     {"perf_event_max_stack", "16"},
                                                     {"perf_event_max_contexts_per_stack", "1"}};
  for (const auto& [name, value] : low) machine.set(name, value);

  const std::vector<Finding> findings = machine.on("sampling");

  ASSERT_EQ(findings.size(), 1 + std::size(low));
  EXPECT_EQ(findings.front().state, kGood);
  EXPECT_EQ(
      findings.front().what,
      "at most 1000 samples/s, 64 KiB of rings per CPU, call chains of 16 frames and 1 context")
      << "0 % is no limit";
  for (std::size_t i = 0; i < std::size(low); ++i) {
    const auto& [name, value] = low[i];
    const Finding& note = findings[i + 1];
    EXPECT_EQ(note.state, kNote) << name;
    EXPECT_THAT(note.what, StartsWith(std::string("kernel.") + name + "=" + value + ": "));
    EXPECT_THAT(note.remedy, HasSubstr(name));
  }
}

TEST(DoctorTest, HasTheErrorOfASettingOfSamplingThatIsNoNumber) {
  Machine machine;
  machine.set("perf_event_max_stack", "many");

  const std::vector<Finding> findings = machine.on("sampling");

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings.front().what, HasSubstr("call chains of 8 contexts"));
  EXPECT_EQ(findings.back().state, kUnknown);
  EXPECT_THAT(findings.back().what, HasSubstr("perf_event_max_stack"));
}

TEST(DoctorTest, ReportsTheTreeOfCgroupsAndHowManyMatch) {
  Machine machine;

  EXPECT_EQ(machine.one("cgroups").what,
            "version 2 in " + machine.tree.path("cgroup") + "; 2 to count now");
}

TEST(DoctorTest, DoesNotKnowCgroupsOfADirectoryThatItMayNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who may not read";
  Machine machine;
  machine.tree.write("cgroup/closed/c.service/cgroup.procs", "");
  ::chmod(machine.tree.root().c_str(), 0755);
  ::chmod(machine.tree.path("cgroup/closed").c_str(), 0700);

  ASSERT_EQ(::seteuid(65534), 0);
  const Finding cgroups = machine.one("cgroups");
  ASSERT_EQ(::seteuid(0), 0);

  EXPECT_EQ(cgroups.state, kUnknown);
  EXPECT_THAT(cgroups.what, HasSubstr("2 to count now; directories that cannot be read: 1"));
}

TEST(DoctorTest, NotesWhatTheEmbeddedDefaultListsAndTheMachineLacks) {
  Machine machine;
  machine.options.config_file.clear();
  machine.kernel.refuse("cycles", ENOENT);

  const Finding left_out = machine.on("configuration").front();

  EXPECT_EQ(left_out.state, kNote);
  EXPECT_THAT(left_out.what, StartsWith("not counted here: cycles: "));
}

TEST(DoctorTest, NotesAGroupThatHadToBeSplit) {
  Machine machine;
  machine.kernel.refuse_groups_larger_than(1, EINVAL);

  const std::vector<Finding> findings = machine.on("configuration");

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].state, kGood);
  EXPECT_EQ(findings[1].state, kNote);
  EXPECT_THAT(findings[1].what, HasSubstr("{cycles} {instructions}"));
}

TEST(DoctorTest, ListsTheErrorsOfAConfiguration) {
  Machine machine;
  machine.configure("groups: [{name: core, events: [cylces, instruction], scope: cpu}]");

  const std::vector<Finding> errors = machine.on("configuration");

  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].state, kBad);
  EXPECT_THAT(errors[0].what, HasSubstr("config.yaml:1:"));
  EXPECT_THAT(errors[0].remedy, HasSubstr("'cycles'"));
  EXPECT_EQ(machine.one("open files").state, kUnknown);
  EXPECT_THAT(machine.one("open files").what,
              HasSubstr("what the configuration needs is not known"));
}

TEST(DoctorTest, FailsOnlyWhereWhatIsConfiguredCannotBeCounted) {
  struct Run {
    void (*change)(Machine&);
    const char* text;
    ExitStatus status = kOk;
  };
  const Run runs[] = {
      {nothing, "ok       configuration"},
      {nothing, "unknown  cgroup times "},
      {nothing, " unknown, "},
      {[](Machine& m) { m.set("nmi_watchdog", "1"); }, "note     NMI watchdog"},
      {[](Machine& m) { m.configure(std::string("enabled: false\n") + kCpuOnly); },
       "counting is disabled by the configuration (enabled: false)"},
      {[](Machine& m) { m.refuse("cycles", ENOENT); }, "bad      configuration", kFailed},
  };
  for (const Run& run : runs) {
    Machine machine;
    run.change(machine);

    const Printed printed = printed_by([&] { return run_doctor(machine.options, machine.kernel); });

    const std::string file = name_of_config(machine.options);
    EXPECT_EQ(printed.status, run.status) << printed.out;
    EXPECT_THAT(printed.out, HasSubstr(run.text));
    EXPECT_THAT(printed.out,
                HasSubstr(run.status == kOk ? " 0 bad: everything in " + file +
                                                  " that this machine has can be counted\n"
                                            : " 1 bad: not everything in " + file));
  }
}

using State = Finding::State;

TEST(FindingsTest, AreLinesInColumnsWithWhatFollowsBelow) {
  const std::string text =
      format_findings({good("seccomp", "no filter"),
                       {State::kNote, "NMI watchdog", "on", "it holds a counter", "turn it off"},
                       unknown("cgroup times", "not known: no trial"),
                       {State::kBad, "CPUs", "none", "nothing counts", {}}});

  EXPECT_EQ(text,
            "ok       seccomp       no filter\n"
            "note     NMI watchdog  on\n"
            "         consequence   it holds a counter\n"
            "         remedy        turn it off\n"
            "unknown  cgroup times  not known: no trial\n"
            "bad      CPUs          none\n"
            "         consequence   nothing counts\n");
}

TEST(FindingsTest, ALongWordStaysWhole) {
  const std::string path(150, 'x');

  const std::vector<std::string> lines =
      lines_of(format_findings({good("subject", "see " + path + " there")}));

  EXPECT_THAT(lines, testing::ElementsAre(testing::EndsWith("see"), testing::EndsWith(path),
                                          testing::EndsWith("there")));
}

RC_GTEST_PROP(FindingsTest, NoLineIsLongAndNoWordIsLost, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::resize(20, word));
  std::string what;
  for (const std::string& one : words) what += one + " ";

  const std::string text = format_findings({good("subject", what)});

  for (const std::string& line : lines_of(text)) RC_ASSERT(line.size() <= 100U);
  std::istringstream expected{"ok subject " + what};
  std::istringstream printed{text};
  for (std::string one, other; expected >> one;) {
    RC_ASSERT(static_cast<bool>(printed >> other));
    RC_ASSERT(one == other);
  }
}

}  // namespace
}  // namespace pex::daemon::doctor_test
