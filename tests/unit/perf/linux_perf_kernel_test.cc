#include "perf/linux_perf_kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cgroup/hierarchy.h"
#include "perf/counter_group.h"

namespace pex::perf::linux_perf_kernel_test {
namespace {

constexpr std::size_t kPages = 1024;  // far more than anything else faults here meanwhile

using Events = std::vector<CounterSpec>;

CounterSpec software(std::string name, std::uint64_t config) {
  return {std::move(name), {.type = PERF_TYPE_SOFTWARE, .config = config}};
}

const CounterSpec kTaskClock = software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
const CounterSpec kContextSwitches = software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES);
const CounterSpec kPageFaults = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
const CounterSpec kPageFaultsInUserMode{"page-faults:u",
                                        {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_PAGE_FAULTS,
                                         .exclude_kernel = true,
                                         .exclude_hypervisor = true}};
const CounterSpec kPageFaultsInTheKernel{"page-faults:k",
                                         {.type = PERF_TYPE_SOFTWARE,
                                          .config = PERF_COUNT_SW_PAGE_FAULTS,
                                          .exclude_user = true,
                                          .exclude_hypervisor = true}};
const CounterSpec kCycles{"cycles",
                          {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}};

CounterRequest request_for(const CounterSpec& event, int cpu) {
  CounterRequest request;
  request.event = event.attributes;
  request.cpu = cpu;
  return request;
}

/// Fresh memory, none of which has been touched.
class NewPages {
 public:
  NewPages() : start_(::mmap(nullptr, size(), PROT_READ | PROT_WRITE, kFlags, -1, 0)) {
    ::madvise(start_, size(), MADV_NOHUGEPAGE);  // else one fault may bring them all
  }
  NewPages(const NewPages&) = delete;
  NewPages& operator=(const NewPages&) = delete;
  ~NewPages() { ::munmap(start_, size()); }

  /// A fault in user mode for each page.
  void touch() {
    for (std::size_t at = 0; at < size(); at += size() / kPages) {
      static_cast<volatile char*>(start_)[at] = 1;
    }
  }
  /// A fault in the kernel for each page, which writes zeros there.
  void let_the_kernel_touch() {
    const UniqueFd zeros{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(::read(zeros.get(), start_, size()), static_cast<ssize_t>(size()));
  }

 private:
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  static std::size_t size() { return kPages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

  void* start_;
};

/// On one CPU throughout. Software events need no PMU, so these run wherever perf_event_open may be
/// called at all.
class LinuxPerfKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_ = ::sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu_), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);

    const Result<OpenCounter> counter = kernel_.open(request_for(kTaskClock, cpu_));
    if (counter) return;
    const int code = counter.error().code;
    if (code == EACCES || code == EPERM || code == ENOSYS) {
      GTEST_SKIP() << "perf_event_open is not allowed here: " << errno_name(code);
    }
    FAIL() << describe(counter.error());
  }

  void TearDown() override { ::sched_setaffinity(0, sizeof before_, &before_); }

  LinuxPerfKernel kernel_;
  int cpu_ = 0;
  cpu_set_t before_{};
};

TEST_F(LinuxPerfKernelTest, OpensCountersCloseOnExec) {
  const Result<OpenCounter> counter = kernel_.open(request_for(kTaskClock, cpu_));

  ASSERT_TRUE(counter);
  EXPECT_EQ(::fcntl(counter->fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(LinuxPerfKernelTest, GivesEveryCounterAnIdOfItsOwn) {
  const Result<OpenCounter> first = kernel_.open(request_for(kTaskClock, cpu_));
  const Result<OpenCounter> second = kernel_.open(request_for(kTaskClock, cpu_));

  ASSERT_TRUE(first && second);
  EXPECT_NE(first->id, 0u);
  EXPECT_NE(first->id, second->id);
}

TEST_F(LinuxPerfKernelTest, CountsNothingUntilALeaderIsEnabled) {
  const Result<OpenCounter> counter = kernel_.open(request_for(kTaskClock, cpu_));
  ASSERT_TRUE(counter);
  std::uint64_t words[words_in_reading(1)] = {};

  const Result<std::size_t> disabled = kernel_.read_group(counter->fd.get(), words);
  ASSERT_TRUE(disabled);
  EXPECT_EQ(*disabled, words_in_reading(1));
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0u) << "time enabled";
  EXPECT_EQ(words[3], 0u) << "count";
  EXPECT_EQ(words[4], counter->id);

  ASSERT_TRUE(kernel_.enable_group(counter->fd.get()));
  ASSERT_TRUE(kernel_.read_group(counter->fd.get(), words));
  EXPECT_GT(words[1], 0u) << "time enabled";
}

TEST_F(LinuxPerfKernelTest, CountsAGroupOfSoftwareEventsOnThisCpu) {
  const auto group = CounterGroup::open(kernel_, Events{kTaskClock, kContextSwitches, kPageFaults},
                                        {cpu_, -1, {}}, {});
  ASSERT_TRUE(group) << describe(group.error().error);
  GroupReading before;
  GroupReading after;

  ASSERT_TRUE(group->read(kernel_, before));
  NewPages().touch();
  std::thread([] {}).join();  // runs on this CPU as well: to it, and back
  ASSERT_TRUE(group->read(kernel_, after));

  ASSERT_EQ(after.counts.size(), 3u);
  EXPECT_EQ(after.state, GroupReading::State::kCounting);
  EXPECT_GT(after.time_enabled, before.time_enabled);
  EXPECT_GT(after.time_running, before.time_running);
  EXPECT_LE(after.time_running, after.time_enabled);
  EXPECT_GT(after.counts[0], before.counts[0]);
  EXPECT_GE(after.counts[1], before.counts[1] + 2);
  EXPECT_GE(after.counts[2], before.counts[2] + kPages);
}

// Other programs run on this CPU too, so only lower bounds hold for each mode; but whoever faulted
// did so in one of the two, and one read of a group is of one instant.
TEST_F(LinuxPerfKernelTest, CountsInTheModeThatWasAskedFor) {
  const auto group = CounterGroup::open(
      kernel_, Events{kPageFaults, kPageFaultsInUserMode, kPageFaultsInTheKernel}, {cpu_, -1, {}},
      {});
  ASSERT_TRUE(group) << describe(group.error().error);
  NewPages for_user;
  NewPages for_kernel;
  GroupReading before;
  GroupReading user;
  GroupReading both;

  ASSERT_TRUE(group->read(kernel_, before));
  for_user.touch();
  ASSERT_TRUE(group->read(kernel_, user));
  for_kernel.let_the_kernel_touch();
  ASSERT_TRUE(group->read(kernel_, both));

  EXPECT_GE(user.counts[1], before.counts[1] + kPages);
  EXPECT_GE(both.counts[2], user.counts[2] + kPages);
  EXPECT_EQ(both.counts[0], both.counts[1] + both.counts[2]);
}

TEST_F(LinuxPerfKernelTest, FailsWithEnoentForAHardwareEventWhereThereIsNone) {
  const Result<OpenCounter> counter = kernel_.open(request_for(kCycles, cpu_));
  if (counter) GTEST_SKIP() << "this machine counts cycles";

  EXPECT_EQ(counter.error().code, ENOENT) << describe(counter.error());
}

TEST_F(LinuxPerfKernelTest, FailsWithEinvalOrEnodevForACpuThatCannotBe) {
  const Result<OpenCounter> counter = kernel_.open(request_for(kTaskClock, 65'535));

  ASSERT_FALSE(counter);
  EXPECT_TRUE(counter.error().code == EINVAL || counter.error().code == ENODEV)
      << describe(counter.error());
}

TEST_F(LinuxPerfKernelTest, FailsWithEbadfForADirectoryThatIsNoCgroup) {
  const UniqueFd directory{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  CounterRequest request = request_for(kTaskClock, cpu_);
  request.cgroup_fd = directory.get();

  const Result<OpenCounter> counter = kernel_.open(request);

  ASSERT_FALSE(counter);
  EXPECT_EQ(counter.error().code, EBADF) << describe(counter.error());
}

TEST_F(LinuxPerfKernelTest, CountsACgroupOfTheHierarchyThatIsFound) {
  const Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy({});
  if (!hierarchy || !*hierarchy) GTEST_SKIP() << "no cgroup tree here has perf_event";
  const std::string& mount = (*hierarchy)->mount;
  const UniqueFd directory{::open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_TRUE(directory) << mount;

  const auto group = CounterGroup::open(kernel_, Events{kTaskClock, kContextSwitches},
                                        {cpu_, directory.get(), "/"}, {});
  ASSERT_TRUE(group) << describe(group.error().error) << " (" << mount << ")";
  GroupReading reading;
  ASSERT_TRUE(group->read(kernel_, reading));

  EXPECT_EQ(reading.counts.size(), 2u);
  EXPECT_LE(reading.time_running, reading.time_enabled);
}

}  // namespace
}  // namespace pex::perf::linux_perf_kernel_test
