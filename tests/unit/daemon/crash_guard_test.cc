#include "daemon/run/crash_guard.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "daemon/commands/commands.h"
#include "daemon/run/start_state.h"
#include "support/forwarding_kernel.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/daemon/polled_app.h"

namespace pex::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool is_of_a_cpu() {
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return std::string_view(name).starts_with("cpu");
}

/// Where a start ends by SIGKILL.
enum class Kill { kNone, kTrial, kOpening, kReading };

class KillingKernel final : public test::ForwardingKernel {
 public:
  KillingKernel(perf::PerfKernel& kernel, Kill step) : ForwardingKernel(kernel), step_(step) {}

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override {
    if (step_ == (is_of_a_cpu() ? Kill::kOpening : Kill::kTrial)) die();
    return ForwardingKernel::open(request);
  }
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override {
    if (step_ == Kill::kReading && is_of_a_cpu()) die();
    return ForwardingKernel::read_group(leader_fd, words);
  }

 private:
  static void die() { ::kill(::getpid(), SIGKILL); }

  Kill step_;
};

/// One start of the program, with a hardware and a software group.
struct StartResult {
  std::vector<std::string> opened = {};  ///< after the first poll
  std::string metrics = {};
  std::string status = {};
  std::string ready = {};
  std::vector<Error> errors;
};

class CrashGuardTest : public testing::Test {
 protected:
  CrashGuardTest() { configure(kGroups); }

  void configure(const std::string& text) { tree_.write("config.yaml", text); }
  void boot(const std::string& id) { tree_.write("proc/sys/kernel/random/boot_id", id + "\n"); }

  Options options() const {
    Options options = options_in(tree_);
    options.state_directory = tree_.path("state");
    return options;
  }

  /// Up to its first poll, if it does not end before.
  StartResult start(Kill end = Kill::kNone) {
    test::ScriptedKernel scripted;
    KillingKernel kernel{scripted, end};
    PolledApp app{options(), kernel};
    if (const std::vector<Error> errors = app.start(); !errors.empty()) return {.errors = errors};
    app.poll();
    return {.opened = scripted.open_groups(),
            .metrics = app.scrape(),
            .status = app.get("/api/v1/status").body,
            .ready = app.get("/-/ready").body,
            .errors = {}};
  }

  /// In a process of its own, which is killed.
  void crash(Kill step) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)start(step);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was to be killed";
  }

  static constexpr const char* kGroups =
      "groups:\n"
      "  - {name: core, events: [cycles], scope: cpu}\n"
      "  - {name: software, events: [page-faults], scope: cpu}\n";

  test::TempTree tree_{{"sys/devices/system/cpu/online", "0\n"},
                       {"proc/sys/kernel/random/boot_id", "one\n"},
                       {"state/other", ""}};
};

TEST_F(CrashGuardTest, TheFourthStartCountsSoftwareEventsWhereverTheOthersWereKilled) {
  for (const Kill step : {Kill::kTrial, Kill::kOpening, Kill::kReading}) {
    for (int kill = 0; kill < 3; ++kill) crash(step);

    const StartResult fourth = start();

    EXPECT_THAT(fourth.opened, ElementsAre("cpu0 dummy", "cpu0 page-faults"));
    EXPECT_THAT(fourth.metrics, AllOf(HasSubstr("perf_cpu_page_faults_total"),
                                      Not(HasSubstr("perf_cpu_cycles_total")),
                                      HasSubstr("perf_event_exporter_reduced_info{"
                                                "counted=\"software\",reason=\"crashes\"} 1")));
    EXPECT_THAT(fourth.ready,
                AllOf(HasSubstr("only software events are counted: the exporter crashed"),
                      HasSubstr(step == Kill::kTrial ? "while it tried group 'core'" : "")));
    EXPECT_THAT(fourth.status, HasSubstr("perf_event_exporter reset"));

    EXPECT_EQ(reset_crashes(options()), kOk);
    const StartResult fifth = start();

    EXPECT_THAT(fifth.opened, ElementsAre("cpu0 cycles", "cpu0 dummy", "cpu0 page-faults"));
    EXPECT_EQ(fifth.ready, "ready\n");
  }
}

TEST_F(CrashGuardTest, NothingIsOpenedAfterThreeMore) {
  for (int kill = 0; kill < 6; ++kill) crash(Kill::kOpening);

  const StartResult seventh = start();

  EXPECT_THAT(seventh.opened, IsEmpty());
  EXPECT_THAT(seventh.metrics, HasSubstr("reduced_info{counted=\"nothing\",reason=\"crashes\"} 1"));
  EXPECT_THAT(seventh.ready, HasSubstr("nothing is counted: the exporter crashed three times"));
}

TEST_F(CrashGuardTest, ACheckNextToItOpensNoMoreThanItDoes) {
  for (int kill = 0; kill < 3; ++kill) crash(Kill::kOpening);
  const StartResult fourth = start();
  Options check = options();
  check.check_config = check.check_start = true;
  test::ScriptedKernel kernel;

  EXPECT_EQ(check_config(check, kernel), kOk);

  EXPECT_THAT(kernel.opened_groups(), Each(HasSubstr("page-faults")));
}

TEST_F(CrashGuardTest, AStopOfTheMachineInTheStartIsEnough) {
  crash(Kill::kReading);
  boot("two");

  EXPECT_THAT(start().opened, ElementsAre("cpu0 dummy", "cpu0 page-faults"));
}

TEST_F(CrashGuardTest, AnotherConfigurationCountsEverythingAgain) {
  for (int kill = 0; kill < 3; ++kill) crash(Kill::kOpening);
  configure(std::string(kGroups) + "# better\n");

  EXPECT_THAT(start().opened, ElementsAre("cpu0 cycles", "cpu0 dummy", "cpu0 page-faults"));
}

TEST_F(CrashGuardTest, AStartThatFailsOrEndsOnRequestIsNoCrash) {
  for (int end = 0; end < 9; ++end) {
    configure("groups: [{name: a, events: [cylces], scope: cpu}]\n");
    EXPECT_FALSE(start().errors.empty());
    configure(kGroups);
    EXPECT_THAT(start().opened, ElementsAre("cpu0 cycles", "cpu0 dummy", "cpu0 page-faults"));
  }
}

TEST_F(CrashGuardTest, ADirectoryThatCannotBeWrittenStopsNothing) {
  tree_.remove("state");

  for (int kill = 0; kill < 3; ++kill) crash(Kill::kOpening);

  EXPECT_THAT(start().opened, ElementsAre("cpu0 cycles", "cpu0 dummy", "cpu0 page-faults"));
  EXPECT_EQ(reset_crashes(options()), kOk);
}

using StartStep = StartState::Step;

StartState a_start(const std::string& boot = "one") { return {"1.0", "hash", boot}; }

/// A start that ended in this step.
StartState that_ended(StartState state, StartStep step, const std::string& group = {}) {
  state.step = step;
  state.group = group;
  return state;
}

TEST(StartStateTest, CountsEverythingAtFirst) {
  const StartState first = next_start({}, a_start());

  EXPECT_EQ(first.counted, Counted::kAll);
  EXPECT_EQ(first.step, StartStep::kPlanning);
}

TEST(StartStateTest, CountsLessAfterThreeCrashesAndNothingAfterThreeMore) {
  StartState state = next_start({}, a_start());
  std::vector<Counted> counted;
  for (int crash = 0; crash < 7; ++crash) {
    const StartStep step = crash % 2 == 0 ? StartStep::kPlanning : StartStep::kOpening;
    state = next_start(that_ended(state, step), a_start());
    counted.push_back(state.counted);
  }

  using enum Counted;
  EXPECT_EQ(counted,
            (std::vector{kAll, kAll, kSoftware, kSoftware, kSoftware, kNothing, kNothing}));
}

TEST(StartStateTest, SaysWhereTheLastStartCrashed) {
  StartState state = next_start({}, a_start());
  for (int crash = 0; crash < 3; ++crash) {
    state = next_start(that_ended(state, StartStep::kPlanning, "core"), a_start());
  }
  EXPECT_EQ(state.cause, "the exporter crashed three times, at last while it tried group 'core'");

  state = next_start(that_ended(state, StartStep::kOpening), a_start("two"));
  EXPECT_EQ(state.cause, "the machine stopped in its first poll");
  EXPECT_EQ(state.counted, Counted::kNothing);
}

TEST(StartStateTest, TakesAStopOfTheMachineUpToAMinuteAfterTheFirstPollForACrash) {
  const StartState first = next_start({}, a_start());
  const auto counted_after = [&](StartStep step) {
    return next_start(that_ended(first, step), a_start("two")).counted;
  };

  EXPECT_EQ(counted_after(StartStep::kPlanning), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kOpening), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kPolled), Counted::kSoftware);
  EXPECT_EQ(counted_after(StartStep::kSettled), Counted::kAll);
  EXPECT_EQ(counted_after(StartStep::kEnded), Counted::kAll);
}

TEST(StartStateTest, AnEndAfterTheFirstPollOrOnRequestIsNoCrash) {
  for (const StartStep step : {StartStep::kPolled, StartStep::kSettled, StartStep::kEnded}) {
    StartState state = next_start({}, a_start());
    for (int end = 0; end < 9; ++end) state = next_start(that_ended(state, step), a_start());
    EXPECT_EQ(state.counted, Counted::kAll);
    EXPECT_EQ(state.crashes, 0U);
  }
}

TEST(StartStateTest, StaysReducedOverGoodStartsUntilTheVersionOrTheConfigurationIsAnother) {
  StartState state = next_start(that_ended(a_start(), StartStep::kOpening), a_start("two"));
  state = next_start(that_ended(state, StartStep::kSettled), a_start("three"));
  EXPECT_EQ(state.counted, Counted::kSoftware);
  EXPECT_EQ(state.cause, "the machine stopped in its first poll");

  for (const StartState& other :
       {StartState{"1.1", "hash", "three"}, StartState{"1.0", "other", "three"}}) {
    EXPECT_EQ(next_start(that_ended(state, StartStep::kOpening), other).counted, Counted::kAll);
  }
}

TEST(StartStateTest, IsReadAsItWasWritten) {
  StartState state = a_start();
  state.counted = Counted::kSoftware;
  state.cause = "the machine stopped while it tried group 'a'";
  state.crashes = 2;
  state.group = "core";

  EXPECT_EQ(start_state_of(to_text(state)), state);
}

TEST(StartStateTest, AnIncompleteTextIsNone) {
  const std::string text = to_text(a_start());
  for (const std::string& part :
       {std::string{}, std::string{"step=planning\n"}, text.substr(0, text.find("step")),
        std::string{"step=planning\ncounted=all\ncrashes=3\n"}}) {
    EXPECT_FALSE(start_state_of(part)) << part;
  }
}

}  // namespace
}  // namespace pex::daemon
