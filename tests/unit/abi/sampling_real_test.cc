// Attributes that the real kernel heeds.

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "abi/counter_control.h"
#include "abi/record/callchain.h"
#include "abi/sampling_table.h"
#include "base/unique_fd.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf::sampling_real_test {
namespace {

using test::count_of;
using test::FailsWith;
using test::HasError;
using test::NewMemory;
using test::RecordedEvent;
using test::time_of;
using test::WaitingChild;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::size_t kPages = 200;

/// Counts and samples the page faults of user mode.
SamplingRequest page_faults() {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_PAGE_FAULTS);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_TID;
  request.event.exclude_kernel = true;
  request.disabled = true;
  return request;
}

void touch_new_memory() { NewMemory{kPages}.touch(); }

using SamplingRealTest = test::RealEventsTest;

TEST_F(SamplingRealTest, CountsOnlyOnceItIsEnabled) {
  RecordedEvent event{kernel_, page_faults(), this_thread()};

  touch_new_memory();
  const std::uint64_t before = event.count();
  event.during(touch_new_memory);

  EXPECT_EQ(before, 0U);
  EXPECT_GE(event.count(), kPages);
}

TEST_F(SamplingRealTest, SamplesAfterSoManyEvents) {
  SamplingRequest request = page_faults();
  request.period = 10;
  RecordedEvent event{kernel_, request, this_thread()};

  event.during(touch_new_memory);

  EXPECT_EQ(event.all<Sample>().size(), event.count() / 10);
}

/// Since Linux 6.3 the events share what is prepared for a sample, in the order of the kernel's
/// list.
TEST_F(SamplingRealTest, DecodesSamplesThatHaveRoomForTheFieldsOfAnotherEvent) {
  SamplingRequest request = page_faults();
  request.disabled = false;
  RecordedEvent first{kernel_, request, this_thread()};
  request.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
  RecordedEvent longer{kernel_, request, this_thread()};
  request.sample_type = PERF_SAMPLE_TID;
  RecordedEvent last{kernel_, request, this_thread()};

  touch_new_memory();

  for (RecordedEvent* event : {&first, &longer, &last}) {
    const auto samples = event->all<Sample>();
    EXPECT_GE(samples.size(), kPages);
    for (const Sample& sample : samples) EXPECT_EQ(sample.task->pid, ::getpid());
  }
}

TEST_F(SamplingRealTest, SamplesSoOftenASecond) {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_CPU_CLOCK);
  request.frequency = 1000;
  request.sample_type = PERF_SAMPLE_PERIOD;
  RecordedEvent event{kernel_, request, this_thread()};

  const std::uint64_t start = time_of(CLOCK_THREAD_CPUTIME_ID);
  while (time_of(CLOCK_THREAD_CPUTIME_ID) - start < 100'000'000) {
  }

  const auto samples = event.all<Sample>();
  EXPECT_GT(samples.size(), 20U);  // a virtual machine has fewer interrupts than it asks for
  // The event's clock goes on while the hypervisor has the CPU, that of the thread does not.
  EXPECT_LT(static_cast<double>(samples.size()), 1.3 * static_cast<double>(event.count()) / 1e6);
}

TEST_F(SamplingRealTest, CountsChildrenThatInherit) {
  SamplingRequest request = page_faults();
  request.disabled = false;
  const auto alone = open_sampling(kernel_, request, this_thread());
  request.inherit = true;
  const auto inherited = open_sampling(kernel_, request, this_thread());
  ASSERT_TRUE(alone && inherited);

  WaitingChild child{touch_new_memory};
  child.run();

  EXPECT_GE(count_of(*inherited), count_of(*alone) + kPages / 2);
}

TEST_F(SamplingRealTest, CountsThreadsThatInherit) {
  SamplingRequest request = page_faults();
  request.disabled = false;
  const auto alone = open_sampling(kernel_, request, this_thread());
  request.inherit = request.inherit_thread = true;
  const auto inherited = open_sampling(kernel_, request, this_thread());
  ASSERT_TRUE(alone && inherited);

  // The other event is opened and read a moment earlier, and this thread has page faults as well.
  const auto of_others = [&] {
    return static_cast<std::int64_t>(count_of(*inherited) - count_of(*alone));
  };
  constexpr std::int64_t kOfEach = kPages;
  WaitingChild child{touch_new_memory};
  child.run();
  const std::int64_t of_child = of_others();
  std::thread{touch_new_memory}.join();
  const std::int64_t of_thread = of_others() - of_child;

  EXPECT_LT(of_child, kOfEach / 2);
  EXPECT_GE(of_thread, kOfEach / 2);
}

TEST_F(SamplingRealTest, HasTheValuesOfAThreadThatInherited) {
  SamplingRequest request = page_faults();
  request.inherit = true;
  request.disabled = false;
  request.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ;
  const auto attr = to_attr(request);
  ASSERT_TRUE(attr);
  const auto event = open_sampling(kernel_, request, this_thread());
  if (!event && host::running_kernel() < host::KernelVersion{6, 12, 0}) {
    EXPECT_THAT(event.error().cause, HasSubstr("PERF_SAMPLE_READ with inherit (6.12)"));
    GTEST_SKIP() << "Linux 6.12 is the first that reads inherited events";
  }
  EXPECT_TRUE(event) << describe(event.error());
}

TEST_F(SamplingRealTest, IsRemovedByAnExec) {
  SamplingRequest request = page_faults();
  request.disabled = false;
  WaitingChild child{[] { ::execl("/bin/true", "true", nullptr); }};
  const auto kept = open_sampling(kernel_, request, process(child.pid()));
  request.remove_on_exec = true;
  const auto removed = open_sampling(kernel_, request, process(child.pid()));
  ASSERT_TRUE(kept && removed);

  child.run();

  EXPECT_LT(count_of(*removed), count_of(*kept));
}

/// The frames of each call chain by their contexts.
struct Frames {
  std::size_t kernel = 0;
  std::size_t user = 0;
  std::size_t most = 0;  ///< of one chain
};
Frames frames_of(const std::vector<Sample>& samples) {
  Frames frames;
  for (const Sample& sample : samples) {
    std::size_t all = 0;
    visit_frames(*sample.callchain, [&](CallchainContext context, std::uint64_t) {
      frames.kernel += context == CallchainContext::kKernel ? 1 : 0;
      frames.user += context == CallchainContext::kUser ? 1 : 0;
      ++all;
    });
    frames.most = std::max(frames.most, all);
  }
  return frames;
}

/// Each has frames of both contexts.
SamplingRequest switches_with_chains() {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_CONTEXT_SWITCHES);
  request.period = 1;
  request.sample_type = PERF_SAMPLE_CALLCHAIN;
  request.disabled = true;
  return request;
}

void sleep_a_moment() { ::usleep(1000); }

TEST_F(SamplingRealTest, LeavesOutTheFramesOfTheKernel) {
  SamplingRequest request = switches_with_chains();
  RecordedEvent both{kernel_, request, this_thread()};
  request.exclude_callchain_kernel = true;
  RecordedEvent user{kernel_, request, this_thread()};
  request.exclude_callchain_kernel = false;
  request.exclude_callchain_user = true;
  RecordedEvent kernel{kernel_, request, this_thread()};

  for (RecordedEvent* event : {&both, &user, &kernel}) event->during(sleep_a_moment);

  const Frames of_both = frames_of(both.all<Sample>());
  const Frames of_user = frames_of(user.all<Sample>());
  const Frames of_kernel = frames_of(kernel.all<Sample>());
  EXPECT_GT(of_both.kernel, 0U);
  EXPECT_GT(of_both.user, 0U);
  EXPECT_EQ(of_user.kernel, 0U);
  EXPECT_GT(of_user.user, 0U);
  EXPECT_GT(of_kernel.kernel, 0U);
  EXPECT_EQ(of_kernel.user, 0U);
}

TEST_F(SamplingRealTest, LimitsTheDepthOfCallChains) {
  SamplingRequest request = switches_with_chains();
  request.exclude_callchain_user = true;
  RecordedEvent any{kernel_, request, this_thread()};
  request.sample_max_stack = 3;
  RecordedEvent three{kernel_, request, this_thread()};

  any.during(sleep_a_moment);
  three.during(sleep_a_moment);

  EXPECT_GT(frames_of(any.all<Sample>()).most, 3U);
  EXPECT_EQ(frames_of(three.all<Sample>()).most, 3U);
}

TEST_F(SamplingRealTest, RefusesDeeperCallChainsThanTheKernelAllows) {
  SamplingRequest request = switches_with_chains();
  request.sample_max_stack = 65535;

  const auto event = open_sampling(kernel_, request, this_thread());

  ASSERT_THAT(event, FailsWith(EOVERFLOW));
  EXPECT_THAT(event.error().cause, HasSubstr("kernel.perf_event_max_stack"));
}

TEST_F(SamplingRealTest, HasTheTimesOfTheClockThatWasAskedFor) {
  for (const clockid_t clock :
       {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI}) {
    SamplingRequest request = page_faults();
    request.sample_type = PERF_SAMPLE_TIME;
    request.clockid = clock;
    RecordedEvent event{kernel_, request, this_thread()};
    if (!event) continue;

    const std::uint64_t before = time_of(clock);
    event.during(touch_new_memory);
    const std::uint64_t after = time_of(clock);

    const auto samples = event.all<Sample>();
    ASSERT_FALSE(samples.empty());
    EXPECT_GE(static_cast<std::uint64_t>(samples.front().time->count()), before) << clock;
    EXPECT_LE(static_cast<std::uint64_t>(samples.back().time->count()), after) << clock;
  }
}

#if defined(__x86_64__)
constexpr std::uint64_t kStackPointer = std::uint64_t{1} << 7;  // PERF_REG_X86_SP
#elif defined(__aarch64__)
constexpr std::uint64_t kStackPointer = std::uint64_t{1} << 31;  // PERF_REG_ARM64_SP
#else
constexpr std::uint64_t kStackPointer = 0;
#endif

TEST_F(SamplingRealTest, HasTheRegistersOfUserMode) {
  if (kStackPointer == 0) GTEST_SKIP() << "the registers of this architecture are not known here";
  SamplingRequest request = page_faults();
  request.sample_type =
      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_ADDR;
  request.sample_regs_user = request.sample_regs_intr = kStackPointer;
  request.sample_stack_user = 256;
  NewMemory memory{1};
  RecordedEvent event{kernel_, request, this_thread()};

  std::uint64_t here = 0;
  event.during([&] {
    here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    memory.touch();
  });

  const auto samples = event.all<Sample>();
  ASSERT_FALSE(samples.empty());
  const Sample& sample = samples.back();
  const std::uint64_t stack = sample.user_registers->values[0];
  EXPECT_LT(stack, here);
  EXPECT_GT(stack + 65536, here);
  EXPECT_EQ(sample.interrupt_registers->values.size(), 1U);
  EXPECT_EQ(sample.user_stack->bytes.size(), 256U);
  EXPECT_GT(sample.user_stack->valid, 0U);
}

// What the handler of SIGTRAP was given.
volatile sig_atomic_t traps = 0;
volatile sig_atomic_t late_traps = 0;
OverflowTrap last_trap;

void keep_trap(int, siginfo_t* info, void*) {
  const std::optional<OverflowTrap> trap = trap_of(*info);
  if (!trap) return;
  traps = traps + 1;
  late_traps = late_traps + (trap->is_late ? 1 : 0);
  last_trap = *trap;
}

/// An event that sends SIGTRAP to this thread, with keep_trap() as its handler meanwhile.
class TrappingEvent {
 public:
  TrappingEvent(PerfKernel& kernel, SamplingRequest request, const EventTarget& target)
      : kernel_(kernel) {
    struct sigaction action {};
    action.sa_sigaction = keep_trap;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTRAP, &action, &before_);
    traps = 0;
    late_traps = 0;
    last_trap = {};
    request.sigtrap = request.remove_on_exec = true;
    auto opened = open_sampling(kernel, request, target);
    EXPECT_TRUE(opened) << describe(opened.error());
    if (opened) event_ = *std::move(opened);
  }
  ~TrappingEvent() { ::sigaction(SIGTRAP, &before_, nullptr); }
  TrappingEvent(const TrappingEvent&) = delete;
  TrappingEvent& operator=(const TrappingEvent&) = delete;

  template <typename Work>
  void during(Work work) {
    (void)kernel_.control(event_.fd.get(), EventControl::kEnable, 0);
    work();
    (void)kernel_.control(event_.fd.get(), EventControl::kDisable, 0);
  }
  const OpenCounter& event() const { return event_; }

 private:
  PerfKernel& kernel_;
  OpenCounter event_;
  struct sigaction before_ {};
};

TEST_F(SamplingRealTest, SendsASignalForEachOverflow) {
  SamplingRequest request = page_faults();
  request.sig_data = 0x0123456789abcdef;
  TrappingEvent event{kernel_, request, this_thread()};
  NewMemory memory{5};

  event.during([&] { memory.touch(); });

  EXPECT_GE(traps, 5);
  EXPECT_EQ(late_traps, 0);
  EXPECT_EQ(last_trap.data, static_cast<unsigned long>(request.sig_data));
  EXPECT_EQ(last_trap.type, std::uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_NE(last_trap.address, 0U);
}

TEST_F(SamplingRealTest, SignalsWhichAddressWasAccessed) {
  static volatile int watched = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&watched);
  SamplingRequest request = page_faults();
  request.event = {.type = PERF_TYPE_BREAKPOINT,
                   .config1 = address,
                   .config2 = sizeof watched,
                   .breakpoint = HW_BREAKPOINT_W,
                   .exclude_kernel = true};
  request.disabled = false;
  const auto possible = open_sampling(kernel_, request, this_thread());
  if (!possible) GTEST_SKIP() << "no breakpoint can be set: " << describe(possible.error());
  watched = 1;
  if (count_of(*possible) == 0)
    GTEST_SKIP() << "breakpoints do not fire on this machine: NOT tested";
  request.disabled = true;
  TrappingEvent event{kernel_, request, this_thread()};

  event.during([&] { watched = 1; });

  EXPECT_EQ(traps, 1);
  EXPECT_EQ(last_trap, (OverflowTrap{.type = PERF_TYPE_BREAKPOINT, .address = address}));
}

TEST_F(SamplingRealTest, SendsOneSignalForAllOverflowsInASystemCall) {
  SamplingRequest request = page_faults();
  request.event.exclude_kernel = false;
  TrappingEvent event{kernel_, request, this_thread()};
  constexpr std::size_t kRead = 5;
  NewMemory memory{kRead};
  const UniqueFd zeros{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
  ssize_t bytes = 0;

  event.during([&] { bytes = ::read(zeros.get(), memory.data(), kRead * ::getpagesize()); });

  EXPECT_EQ(bytes, static_cast<ssize_t>(kRead * ::getpagesize()));
  EXPECT_GE(count_of(event.event()), kRead);
  EXPECT_GE(traps, 1);
  EXPECT_LT(static_cast<std::size_t>(traps), kRead);
}

TEST_F(SamplingRealTest, SendsOneLateSignalForAllOverflowsWhileItIsBlocked) {
  if (host::running_kernel() < host::KernelVersion{5, 19, 0}) {
    GTEST_SKIP() << "older kernels than Linux 5.19 end a process that blocks SIGTRAP";
  }
  TrappingEvent event{kernel_, page_faults(), this_thread()};
  NewMemory memory{5};
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTRAP);

  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  event.during([&] { memory.touch(); });
  const int while_blocked = traps;
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);

  EXPECT_EQ(while_blocked, 0);
  EXPECT_EQ(traps, 1);
  EXPECT_EQ(late_traps, 1);
}

TEST_F(SamplingRealTest, RefusesSignalsWithoutAThread) {
  SamplingRequest request = page_faults();
  request.sigtrap = request.remove_on_exec = true;

  EXPECT_THAT(open_sampling(kernel_, request, this_cpu()),
              HasError(Field(&Error::cause, HasSubstr("gets the signal"))));
}

TEST_F(SamplingRealTest, RefusesAHigherFrequencyThanTheKernelAllows) {
  SamplingRequest request = test::software_request(PERF_COUNT_SW_CPU_CLOCK);
  request.frequency = 100'000'000;

  EXPECT_THAT(open_sampling(kernel_, request, this_thread()),
              HasError(Field(&Error::cause, HasSubstr("kernel.perf_event_max_sample_rate"))));
}

/// Whatever this kernel does not have, it says so, and says since when there is.
TEST_F(SamplingRealTest, SaysWhichReleaseAFlagNeeds) {
  const host::KernelVersion running = host::running_kernel();
  for (const AttrFlagEntry& entry : attr_flags()) {
    const bool is_alone = entry.flag == AttrFlag::kDeferCallchain ||
                          entry.flag == AttrFlag::kDeferOutput ||
                          entry.flag == AttrFlag::kTextPoke || entry.flag == AttrFlag::kCgroup;
    if (!is_alone) continue;
    SamplingRequest request = test::software_request(PERF_COUNT_SW_DUMMY);
    request.*entry.member = true;
    const auto event = open_sampling(kernel_, request, this_thread());
    if (running >= *host::parse_kernel_version(entry.abi.since)) continue;
    ASSERT_FALSE(event) << entry.abi.name;
    EXPECT_THAT(event.error().cause,
                AllOf(HasSubstr(std::string(entry.abi.name)), HasSubstr("is older than")));
  }
}

TEST_F(SamplingRealTest, SaysWhatThePerfEventAttrOfTheKernelDoesNotHave) {
  const auto with = [&](std::uint64_t config4) {
    EventAttr attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.size = sizeof attr;
    attr.config4 = config4;
    const auto event = kernel_.open_event(attr, this_thread());
    return std::pair{event ? 0 : event.error().code, attr.size};
  };

  const auto [code, size] = with(1);

  EXPECT_EQ(with(0).first, 0) << "zeros at the end are never refused";
  if (code != E2BIG) GTEST_SKIP() << "this kernel has config4: E2BIG is NOT tested";
  EXPECT_LT(size, sizeof(EventAttr));
  EXPECT_GE(size, kAttrSizeVer7);
}

}  // namespace
}  // namespace pex::perf::sampling_real_test
