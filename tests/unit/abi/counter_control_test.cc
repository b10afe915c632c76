#include "abi/counter_control.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "perf/linux_perf_kernel.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/scripted_kernel.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using namespace std::chrono_literals;
using test::count_of;
using test::FailsWith;
using test::Holds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Control = test::ScriptedEvents::Control;

// What the kernel is asked for.

class ScriptedControlTest : public ::testing::Test {
 protected:
  ScriptedControlTest() {
    EventAttr attr;
    event_ = *kernel_.open_event(attr, {.pid = 0});
  }
  CounterControl control() { return {kernel_, event_.fd.get()}; }
  std::vector<Control> asked() { return kernel_.opened_events.controls(); }

  test::ScriptedKernel kernel_;
  OpenCounter event_;
};

TEST_F(ScriptedControlTest, ReachesOneEventUnlessTheGroupIsMeant) {
  ASSERT_TRUE(control().enable());
  ASSERT_TRUE(control().disable());
  ASSERT_TRUE(control().reset(Reach::kGroup));

  EXPECT_THAT(asked(), ElementsAre(Control{0, EventControl::kEnable, 0},
                                   Control{0, EventControl::kDisable, 0},
                                   Control{0, EventControl::kReset, PERF_IOC_FLAG_GROUP}));
}

TEST_F(ScriptedControlTest, PausesAndResumesWithOneOperation) {
  ASSERT_TRUE(control().pause_output());
  ASSERT_TRUE(control().resume_output());

  EXPECT_THAT(asked(), ElementsAre(Control{0, EventControl::kPauseOutput, 1},
                                   Control{0, EventControl::kPauseOutput, 0}));
}

TEST_F(ScriptedControlTest, AsksForNoRefreshThatTheManualLeavesUndefined) {
  for (const int overflows : {0, -1}) {
    EXPECT_THAT(control().refresh(overflows), FailsWith(EINVAL));
  }
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ScriptedControlTest, TakesNoMissingDescriptorForTheWishToDiscard) {
  EXPECT_THAT(control().redirect_output(-1), FailsWith(EBADF));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ScriptedControlTest, SaysWhatItAttempted) {
  kernel_.opened_events.refuse_control = [](const auto&) { return EINVAL; };

  EXPECT_EQ(describe(control().refresh(3).error()),
            "enable an event for some overflows: Invalid argument (EINVAL)");
  EXPECT_THAT(describe(control().modify({}).error()), HasSubstr("modify the breakpoint"));
  EXPECT_THAT(describe(control().id().error()), HasSubstr("read the id"));
  EXPECT_THAT(describe(control().attached_programs().error()), HasSubstr("BPF programs"));
}

TEST(CounterControlExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});
  ASSERT_TRUE(event);
  testing::internal::CaptureStdout();

  const CounterControl control{kernel, event->fd.get()};
  const bool is_on = control.reset() && control.enable();
  if (is_on && control.disable()) std::cout << "event " << *control.id() << " has counted\n";

  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "event " + std::to_string(event->id) + " has counted\n");
}

// What the kernel does. Software events of this thread suffice.

/// A page fault for each.
void touch_new_pages(std::size_t pages) { test::NewMemory{pages}.touch(); }

EventAttr software(std::uint64_t config, std::uint64_t period = 0) {
  EventAttr attr;
  attr.size = kAttrSizeVer7;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.sample_period = period;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.wakeup_events = 1;
  attr.flags = attr_flag(AttrFlag::kDisabled);
  return attr;
}

EventAttr page_faults(std::uint64_t period = 0) {
  return software(PERF_COUNT_SW_PAGE_FAULTS, period);
}

constexpr std::uint64_t kNever = std::uint64_t{1} << 40;  ///< a period

class CounterControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EventAttr attr = page_faults();
    const auto opened = kernel_.open_event(attr, {.pid = 0});
    if (!opened) GTEST_SKIP() << "perf_event_open: " << errno_name(opened.error().code);
  }

  OpenCounter open(EventAttr attr, const EventTarget& target = {.pid = 0}) {
    auto opened = kernel_.open_event(attr, target);
    EXPECT_TRUE(opened) << describe(opened.error());
    return opened ? *std::move(opened) : OpenCounter{};
  }
  CounterControl control(const OpenCounter& event) { return {kernel_, event.fd.get()}; }

  Mapping map_ring(const OpenCounter& event) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto mapping = kernel_.map(event.fd.get(), 9 * page, 0, true);
    EXPECT_TRUE(mapping) << describe(mapping.error());
    return mapping ? *std::move(mapping) : Mapping{};
  }

  LinuxPerfKernel kernel_;
};

std::uint64_t written(const Mapping& ring) {
  const auto* page = reinterpret_cast<const perf_event_mmap_page*>(ring.data());
  return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

TEST_F(CounterControlTest, EnablesAndDisablesAnEvent) {
  const OpenCounter event = open(page_faults());

  touch_new_pages(5);
  EXPECT_EQ(count_of(event), 0U);
  ASSERT_TRUE(control(event).enable());
  touch_new_pages(5);
  ASSERT_TRUE(control(event).disable());
  const std::uint64_t counted = count_of(event);
  touch_new_pages(5);

  EXPECT_GE(counted, 5U);
  EXPECT_EQ(count_of(event), counted);
}

TEST_F(CounterControlTest, EnablesAndDisablesAWholeGroup) {
  const OpenCounter leader = open(page_faults());
  const OpenCounter member = open(page_faults(), {.pid = 0, .group_fd = leader.fd.get()});

  ASSERT_TRUE(control(member).enable(Reach::kGroup));
  touch_new_pages(5);
  ASSERT_TRUE(control(member).disable(Reach::kGroup));
  const std::uint64_t counted = count_of(leader);
  touch_new_pages(5);

  EXPECT_GE(counted, 5U);
  EXPECT_GE(count_of(member), 5U);
  EXPECT_EQ(count_of(leader), counted);
}

TEST_F(CounterControlTest, ResetsTheCountAndNotTheTimes) {
  EventAttr attr = page_faults();
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  const OpenCounter event = open(attr);
  ASSERT_TRUE(control(event).enable());
  touch_new_pages(5);
  ASSERT_TRUE(control(event).disable());

  std::uint64_t before[2] = {};
  std::uint64_t after[2] = {};
  ASSERT_GT(::read(event.fd.get(), before, sizeof before), 0);
  ASSERT_TRUE(control(event).reset());
  ASSERT_GT(::read(event.fd.get(), after, sizeof after), 0);

  EXPECT_GE(before[0], 5U);
  EXPECT_EQ(after[0], 0U);
  EXPECT_GT(after[1], 0U);
  EXPECT_EQ(after[1], before[1]);
}

TEST_F(CounterControlTest, DisablesAnEventAfterTheOverflowsOfARefresh) {
  const OpenCounter event = open(page_faults(1));

  ASSERT_TRUE(control(event).refresh(3));
  touch_new_pages(1000);
  const std::uint64_t counted = count_of(event);
  ASSERT_TRUE(control(event).refresh(2));
  touch_new_pages(1000);

  // Where interrupts of the CPU to itself are late, so is the end.
  EXPECT_GE(counted, 3U);
  EXPECT_LT(counted, 100U);
  EXPECT_GE(count_of(event), counted + 2);
  EXPECT_LT(count_of(event), counted + 100);
}

TEST_F(CounterControlTest, RefreshesNoEventWithoutAPeriodAndNoInheritedOne) {
  EventAttr inherited = page_faults(1);
  inherited.flags |= attr_flag(AttrFlag::kInherit);

  for (const EventAttr& attr : {page_faults(), inherited}) {
    const OpenCounter event = open(attr);
    EXPECT_THAT(control(event).refresh(1), FailsWith(EINVAL));
  }
}

TEST_F(CounterControlTest, ChangesThePeriod) {
  const OpenCounter event = open(page_faults(kNever));
  const Mapping ring = map_ring(event);
  ASSERT_TRUE(control(event).enable());

  touch_new_pages(10);
  EXPECT_EQ(written(ring), 0U);
  ASSERT_TRUE(control(event).set_period(1));
  touch_new_pages(10);

  EXPECT_GE(written(ring), 10 * (sizeof(perf_event_header) + sizeof(std::uint64_t)));
}

TEST_F(CounterControlTest, RefusesAPeriodThatCannotBe) {
  const OpenCounter event = open(page_faults(5));
  const OpenCounter counting = open(page_faults());

  for (const std::uint64_t period : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
    EXPECT_THAT(control(event).set_period(period), FailsWith(EINVAL)) << period;
  }
  EXPECT_THAT(control(counting).set_period(5), FailsWith(EINVAL));
}

TEST_F(CounterControlTest, WritesIntoTheRingOfAnotherEventAndThenNowhere) {
  const OpenCounter owner = open(page_faults(kNever));
  const Mapping ring = map_ring(owner);
  const OpenCounter event = open(page_faults(1));

  ASSERT_TRUE(control(event).redirect_output(owner.fd.get()));
  ASSERT_TRUE(control(event).enable());
  touch_new_pages(3);
  const std::uint64_t redirected = written(ring);
  ASSERT_TRUE(control(event).discard_output());
  const std::uint64_t until_then = written(ring);
  touch_new_pages(3);

  EXPECT_GT(redirected, 0U);
  EXPECT_EQ(written(ring), until_then);
}

TEST_F(CounterControlTest, WritesIntoNoRingThatIsNotMappedNorIntoItsOwn) {
  const OpenCounter unmapped = open(page_faults(kNever));
  const OpenCounter event = open(page_faults(1));

  for (const int target : {unmapped.fd.get(), event.fd.get()}) {
    EXPECT_THAT(control(event).redirect_output(target), FailsWith(EINVAL));
  }
}

TEST_F(CounterControlTest, PausesNothingWithoutARing) {
  const OpenCounter event = open(page_faults(1));

  EXPECT_THAT(control(event).pause_output(), FailsWith(EINVAL));
}

TEST_F(CounterControlTest, ReadsTheIdThatTheEventWasOpenedWith) {
  const OpenCounter event = open(page_faults());

  EXPECT_THAT(control(event).id(), Holds(event.id));
}

TEST_F(CounterControlTest, RefusesADescriptorThatIsNoEvent) {
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};

  EXPECT_THAT((CounterControl{kernel_, null.get()}.enable()), FailsWith(ENOTTY));
}

// Tracepoints and BPF.

/// Numbers of tracepoints are small; without tracefs, the first that can be opened is as good as
/// any other.
constexpr std::uint64_t kMaxTracepoint = 4000;

/// The first tracepoint whose event does what `attempt` wants.
template <typename Attempt>
OpenCounter find_tracepoint(PerfKernel& kernel, Attempt attempt) {
  for (std::uint64_t number = 1; number < kMaxTracepoint; ++number) {
    EventAttr attr = software(number);
    attr.type = PERF_TYPE_TRACEPOINT;
    auto opened = kernel.open_event(attr, {.pid = 0});
    if (opened && attempt(CounterControl{kernel, opened->fd.get()})) return *std::move(opened);
  }
  return {};
}

TEST_F(CounterControlTest, FiltersATracepointOnce) {
  const OpenCounter event = find_tracepoint(kernel_, [](const CounterControl& tried) {
    return bool{tried.set_filter("common_pid == 1")};
  });
  if (!event.fd) GTEST_SKIP() << "this kernel has no tracepoint";

  EXPECT_THAT(control(event).set_filter("common_pid == 2"), FailsWith(EEXIST));
}

/// Of these the kernel returns numbers that are no errno: EPERM, ENOENT and ESRCH.
TEST_F(CounterControlTest, RefusesAFilterWithoutItsOtherParenthesisOrQuote) {
  const OpenCounter event =
      find_tracepoint(kernel_, [](const CounterControl& tried) { return bool{tried.id()}; });
  if (!event.fd) GTEST_SKIP() << "this kernel has no tracepoint";

  for (const char* filter : {"common_pid == 1)", "(common_pid == 1", "common_pid == \"1"}) {
    EXPECT_THAT(control(event).set_filter(filter), FailsWith(EINVAL)) << filter;
  }
}

TEST_F(CounterControlTest, RefusesAFilterOfAnEventThatHasNone) {
  const OpenCounter event = open(page_faults());

  EXPECT_THAT(control(event).set_filter("common_pid == 1"), FailsWith(EINVAL));
}

/// A program that returns 0; -1 with errno if it may not be loaded.
int load_program(bpf_prog_type type) {
  bpf_insn program[2] = {};
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;  // r0 = 0
  program[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.prog_type = type;
  attr.insns = reinterpret_cast<std::uintptr_t>(program);
  attr.insn_cnt = std::size(program);
  attr.license = reinterpret_cast<std::uintptr_t>("GPL");
  return static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr));
}

TEST_F(CounterControlTest, RunsABpfProgramInsteadOfWritingARecord) {
  const UniqueFd program{load_program(BPF_PROG_TYPE_PERF_EVENT)};
  if (!program) GTEST_SKIP() << "bpf(2): " << errno_name(errno);
  const OpenCounter event = open(page_faults(1));
  const Mapping ring = map_ring(event);

  ASSERT_TRUE(control(event).attach_program(program.get()));
  ASSERT_TRUE(control(event).enable());
  touch_new_pages(3);

  EXPECT_GE(count_of(event), 3U);
  EXPECT_EQ(written(ring), 0U);
  EXPECT_EQ(control(event).attach_program(program.get()).error().code, EEXIST);
}

TEST_F(CounterControlTest, RefusesWhatIsNoBpfProgram) {
  const OpenCounter event = open(page_faults(1));

  EXPECT_THAT(control(event).attach_program(-1), FailsWith(EBADF));
  EXPECT_THAT(control(event).attach_program(event.fd.get()), FailsWith(EINVAL));
}

TEST_F(CounterControlTest, ListsTheBpfProgramsOfATracepoint) {
  const UniqueFd program{load_program(BPF_PROG_TYPE_TRACEPOINT)};
  if (!program) GTEST_SKIP() << "bpf(2): " << errno_name(errno);
  const OpenCounter event = find_tracepoint(kernel_, [&](const CounterControl& tried) {
    return bool{tried.attach_program(program.get())};
  });
  if (!event.fd) GTEST_SKIP() << "this kernel has no tracepoint for BPF programs";

  const Result<std::vector<std::uint32_t>> programs = control(event).attached_programs();

  ASSERT_TRUE(programs) << describe(programs.error());
  ASSERT_THAT(*programs, SizeIs(testing::Ge(1U)));
  EXPECT_GT(programs->front(), 0U);
}

TEST_F(CounterControlTest, ListsNoBpfProgramsOfOtherEvents) {
  const OpenCounter event = open(page_faults());

  EXPECT_THAT(control(event).attached_programs(), FailsWith(AnyOf(EINVAL, EPERM)));
}

// Breakpoints.

EventAttr writes_to(const volatile std::uint64_t& variable) {
  EventAttr attr;
  attr.size = kAttrSizeVer7;
  attr.type = PERF_TYPE_BREAKPOINT;
  attr.flags = attr_flag(AttrFlag::kExcludeKernel) | attr_flag(AttrFlag::kExcludeHv);
  attr.bp_type = HW_BREAKPOINT_W;
  attr.config1 = reinterpret_cast<std::uintptr_t>(&variable);
  attr.config2 = HW_BREAKPOINT_LEN_8;
  return attr;
}

/// Some virtual machines let debug registers be set and do not heed them.
bool breakpoints_fire(PerfKernel& kernel) {
  static volatile std::uint64_t variable = 0;
  EventAttr attr = writes_to(variable);
  auto opened = kernel.open_event(attr, {.pid = 0});
  variable = 1;
  return opened && count_of(*opened) > 0;
}

TEST_F(CounterControlTest, MovesABreakpoint) {
  static volatile std::uint64_t first = 0;
  static volatile std::uint64_t second = 0;
  EventAttr attr = writes_to(first);
  auto opened = kernel_.open_event(attr, {.pid = 0});
  if (!opened) GTEST_SKIP() << "no breakpoint: " << errno_name(opened.error().code);

  if (!breakpoints_fire(kernel_)) {
    GTEST_SKIP() << "this machine does not stop at the debug registers it lets us set: NOT tested";
  }

  first = 1;
  second = 1;
  const std::uint64_t at_first = count_of(*opened);
  const Result<> moved = control(*opened).modify(writes_to(second));
  first = 2;
  second = 2;
  second = 3;

  ASSERT_TRUE(moved) << describe(moved.error());
  EXPECT_EQ(at_first, 1U);
  EXPECT_EQ(count_of(*opened), 3U);
}

TEST_F(CounterControlTest, ModifiesNothingElseOfABreakpoint) {
  static volatile std::uint64_t variable = 0;
  EventAttr attr = writes_to(variable);
  auto opened = kernel_.open_event(attr, {.pid = 0});
  if (!opened) GTEST_SKIP() << "no breakpoint: " << errno_name(opened.error().code);
  attr.sample_period = 7;

  EXPECT_THAT(control(*opened).modify(attr), FailsWith(EINVAL));
}

TEST_F(CounterControlTest, ModifiesNoOtherEvent) {
  const OpenCounter event = open(page_faults(5));

  EXPECT_THAT(control(event).modify(page_faults(5)), FailsWith(EOPNOTSUPP));
}

// All events of a thread.

TEST_F(CounterControlTest, StopsAllEventsThatThisThreadOpened) {
  EventAttr running = page_faults();
  running.flags = 0;
  const OpenCounter own = open(running);
  const OpenCounter disabled = open(page_faults());

  ASSERT_TRUE(disable_events_of_this_thread());
  const std::uint64_t stopped_at = count_of(own);
  touch_new_pages(5);
  const std::uint64_t still = count_of(own);
  ASSERT_TRUE(enable_events_of_this_thread());
  touch_new_pages(5);

  EXPECT_EQ(still, stopped_at);
  EXPECT_GE(count_of(own), stopped_at + 5);
  EXPECT_GE(count_of(disabled), 5U) << "events that were disabled start as well";
}

TEST_F(CounterControlTest, LeavesAloneWhatAnotherThreadOpened) {
  EventAttr running = page_faults();
  running.flags = 0;
  OpenCounter event;
  const pid_t self = ::gettid();
  std::thread{[&] { event = open(running, {.pid = self}); }}.join();

  ASSERT_TRUE(disable_events_of_this_thread());
  const std::uint64_t before = count_of(event);
  touch_new_pages(5);
  const std::uint64_t after = count_of(event);
  ASSERT_TRUE(enable_events_of_this_thread());

  EXPECT_GE(after, before + 5);
}

// Overflows.

class OverflowTest : public CounterControlTest {
 protected:
  /// Signals of the queue, oldest first.
  static std::vector<siginfo_t> pending_signals() {
    const sigset_t signals = only_ours();
    const timespec now{};
    std::vector<siginfo_t> pending;
    siginfo_t info;
    while (::sigtimedwait(&signals, &info, &now) == kSignal) pending.push_back(info);
    return pending;
  }

  void SetUp() override {
    const sigset_t signals = only_ours();
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &signals, &before_), 0);
    CounterControlTest::SetUp();
  }
  void TearDown() override {
    (void)pending_signals();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  static inline const int kSignal = SIGRTMIN + 3;

 private:
  static sigset_t only_ours() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, kSignal);
    return signals;
  }

  sigset_t before_{};
};

TEST_F(OverflowTest, AwakensAtAnOverflow) {
  const OpenCounter event = open(page_faults(1));
  const Mapping ring = map_ring(event);
  ASSERT_TRUE(control(event).enable());
  touch_new_pages(1);

  EXPECT_THAT(wait_for_overflow(event.fd.get(), 10s), Holds(OverflowWait::kOverflow));
}

TEST_F(OverflowTest, TimesOutWithoutOverflows) {
  const OpenCounter event = open(page_faults(kNever));
  const Mapping ring = map_ring(event);
  ASSERT_TRUE(control(event).enable());

  EXPECT_THAT(wait_for_overflow(event.fd.get(), 1ms), Holds(OverflowWait::kTimeout));
}

TEST_F(OverflowTest, ReportsAnEndWhereNoRingIsMapped) {
  const OpenCounter event = open(page_faults(1));

  EXPECT_THAT(wait_for_overflow(event.fd.get(), 10s), Holds(OverflowWait::kEnded));
}

TEST_F(OverflowTest, ReportsTheEndOfTheThread) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const OpenCounter event = open(page_faults(1), {.pid = child});
  const Mapping ring = map_ring(event);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);

  // What it did until then may come first.
  Result<OverflowWait> waited = wait_for_overflow(event.fd.get(), 10s);
  if (waited && *waited == OverflowWait::kOverflow) {
    waited = wait_for_overflow(event.fd.get(), 10s);
  }

  EXPECT_THAT(waited, Holds(OverflowWait::kEnded));
}

TEST_F(OverflowTest, KnowsEveryAnswerOfPoll) {
  EXPECT_EQ(overflow_wait_of(0), OverflowWait::kTimeout);
  EXPECT_EQ(overflow_wait_of(POLLIN), OverflowWait::kOverflow);
  EXPECT_EQ(overflow_wait_of(POLLIN | POLLHUP), OverflowWait::kOverflow);
  EXPECT_EQ(overflow_wait_of(POLLHUP), OverflowWait::kEnded);
  EXPECT_EQ(overflow_wait_of(POLLERR), OverflowWait::kFailed);
}

TEST_F(OverflowTest, SendsASignalWithTheDescriptor) {
  const OpenCounter event = open(page_faults(1));
  ASSERT_TRUE(signal_overflows(event.fd.get(), kSignal, ::gettid()));

  ASSERT_TRUE(control(event).enable());
  touch_new_pages(1);
  ASSERT_TRUE(control(event).disable());

  const std::vector<siginfo_t> signals = pending_signals();
  ASSERT_THAT(signals, SizeIs(testing::Ge(1U)));
  const std::optional<OverflowSignal> overflow = overflow_of(signals.front());
  ASSERT_TRUE(overflow);
  EXPECT_EQ(overflow->fd, event.fd.get());
  EXPECT_FALSE(overflow->is_last);
}

TEST_F(OverflowTest, MarksTheLastSignalOfARefresh) {
  const OpenCounter event = open(page_faults(1));
  ASSERT_TRUE(signal_overflows(event.fd.get(), kSignal, ::gettid()));

  ASSERT_TRUE(control(event).refresh(3));
  touch_new_pages(100);

  int last = 0;
  const std::vector<siginfo_t> signals = pending_signals();
  for (const siginfo_t& info : signals) {
    const std::optional<OverflowSignal> overflow = overflow_of(info);
    ASSERT_TRUE(overflow);
    EXPECT_EQ(overflow->fd, event.fd.get());
    last += overflow->is_last ? 1 : 0;
  }
  EXPECT_GE(signals.size(), 2U);
  EXPECT_EQ(last, 1);
}

TEST_F(OverflowTest, SendsNoSignalsAfterTheyWereStopped) {
  const OpenCounter event = open(page_faults(1));
  ASSERT_TRUE(signal_overflows(event.fd.get(), kSignal, ::gettid()));
  ASSERT_TRUE(stop_signals(event.fd.get()));

  ASSERT_TRUE(control(event).enable());
  touch_new_pages(10);

  EXPECT_THAT(pending_signals(), IsEmpty());
}

TEST_F(OverflowTest, RefusesASignalThatCannotBeAndAThreadThatIsNot) {
  const OpenCounter event = open(page_faults(1));

  EXPECT_THAT(signal_overflows(event.fd.get(), 1000, ::gettid()), FailsWith(EINVAL));
  // fcntl(2) would take 0 for SIGIO without the descriptor.
  EXPECT_THAT(signal_overflows(event.fd.get(), 0, ::gettid()), FailsWith(EINVAL));
  EXPECT_THAT(signal_overflows(event.fd.get(), kSignal, 0x7fffffff), FailsWith(ESRCH));
}

TEST_F(OverflowTest, KnowsEverySignalOfAnEvent) {
  siginfo_t info{};
  info.si_signo = kSignal;
  info.si_fd = 7;
  const auto reported = [&](int code) {
    info.si_code = code;
    return overflow_of(info);
  };

  EXPECT_EQ(reported(POLL_IN), (OverflowSignal{.fd = 7}));
  EXPECT_EQ(reported(POLL_HUP), (OverflowSignal{.fd = 7, .is_last = true}));
  EXPECT_EQ(reported(POLL_ERR), (OverflowSignal{.fd = 7, .has_failed = true}));
  EXPECT_EQ(reported(POLL_PRI), std::nullopt);
}

TEST_F(OverflowTest, TakesNoSignalOfAProgramOrWithCodesOfItsOwnForAnOverflow) {
  const auto is_overflow = [](int signal, int code) {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = code;
    return overflow_of(info).has_value();
  };

  for (const int signal : {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGCHLD, SIGSYS}) {
    for (const int code : {POLL_IN, POLL_ERR, POLL_HUP}) {  // SIGTRAP: POLL_HUP is TRAP_PERF
      EXPECT_FALSE(is_overflow(signal, code)) << signal << ' ' << code;
    }
  }
  for (const int code : {SI_USER, SI_QUEUE, SI_TKILL, SI_KERNEL}) {
    EXPECT_FALSE(is_overflow(kSignal, code)) << code;
  }
}

TEST_F(OverflowTest, TakesNoOtherSignalForATrapOfAnEvent) {
  constexpr int kTrapPerf = 6;
  constexpr int kCodes[] = {SI_USER, SI_KERNEL, TRAP_BRKPT, TRAP_TRACE, 3, 4, 5, kTrapPerf};
  siginfo_t info{};
  for (const int signal : {SIGTRAP, SIGSEGV, kSignal}) {
    for (const int code : kCodes) {
      info.si_signo = signal;
      info.si_code = code;
      EXPECT_EQ(trap_of(info).has_value(), signal == SIGTRAP && code == kTrapPerf)
          << signal << ' ' << code;
    }
  }
}

}  // namespace
}  // namespace pex::perf
