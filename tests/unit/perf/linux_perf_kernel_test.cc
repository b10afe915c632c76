#include "perf/linux_perf_kernel.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>

#include "cgroup/hierarchy.h"
#include "perf/counter_group.h"
#include "support/real_events.h"
#include "support/results.h"
#include "support/test_headers.h"

namespace pex::perf::linux_perf_kernel_test {
namespace {

using test::FailsWith;
using test::Holds;
using test::NewMemory;

constexpr std::size_t kPages = 1024;  // far more than anything else faults here meanwhile

using Events = std::vector<CounterSpec>;

CounterSpec software(std::string name, std::uint64_t config) {
  return {std::move(name), {.type = PERF_TYPE_SOFTWARE, .config = config}};
}

const CounterSpec kTaskClock = software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
const CounterSpec kContextSwitches = software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES);
const CounterSpec kPageFaults = software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);

const CounterSpec kCycles{"cycles",
                          {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}};

CounterRequest request_for(const CounterSpec& event, int cpu) {
  CounterRequest request;
  request.event = event.attributes;
  request.cpu = cpu;
  return request;
}

/// A fault in the kernel for each page, which writes zeros there.
void let_the_kernel_touch(NewMemory& memory) {
  const std::size_t size = kPages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const UniqueFd zeros{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(::read(zeros.get(), memory.data(), size), static_cast<ssize_t>(size));
}

using LinuxPerfKernelTest = test::RealEventsTest;

TEST_F(LinuxPerfKernelTest, CountsNothingUntilALeaderIsEnabled) {
  const Result<OpenCounter> counter = kernel_.open(request_for(kTaskClock, cpu_));
  ASSERT_TRUE(counter);
  std::uint64_t words[words_in_reading(1)] = {};

  EXPECT_THAT(kernel_.read_group(counter->fd.get(), words), Holds(words_in_reading(1)));
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
  NewMemory{kPages}.touch();
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
  CounterSpec in_user_mode = kPageFaults;
  in_user_mode.attributes.exclude_kernel = in_user_mode.attributes.exclude_hypervisor = true;
  CounterSpec in_the_kernel = kPageFaults;
  in_the_kernel.attributes.exclude_user = in_the_kernel.attributes.exclude_hypervisor = true;
  const auto group = CounterGroup::open(kernel_, Events{kPageFaults, in_user_mode, in_the_kernel},
                                        {cpu_, -1, {}}, {});
  ASSERT_TRUE(group) << describe(group.error().error);
  NewMemory for_user{kPages};
  NewMemory for_kernel{kPages};
  GroupReading before;
  GroupReading user;
  GroupReading both;

  ASSERT_TRUE(group->read(kernel_, before));
  for_user.touch();
  ASSERT_TRUE(group->read(kernel_, user));
  let_the_kernel_touch(for_kernel);
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
  EXPECT_THAT(kernel_.open(request_for(kTaskClock, 65'535)),
              FailsWith(::testing::AnyOf(EINVAL, ENODEV)));
}

TEST_F(LinuxPerfKernelTest, FailsWithEbadfForADirectoryThatIsNoCgroup) {
  const UniqueFd directory{::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  CounterRequest request = request_for(kTaskClock, cpu_);
  request.cgroup_fd = directory.get();

  EXPECT_THAT(kernel_.open(request), FailsWith(EBADF));
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
