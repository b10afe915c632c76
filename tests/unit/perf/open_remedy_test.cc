#include "perf/open_remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <string>

namespace pex::perf {
namespace {

using ::testing::HasSubstr;

CounterRequest request(std::uint32_t type, int cgroup_fd) {
  CounterRequest request;
  request.event.type = type;
  request.cgroup_fd = cgroup_fd;
  return request;
}

TEST(OpenRemedyTest, DependsOnTheErrorAndOnWhatWasAskedFor) {
  const CounterRequest hardware = request(PERF_TYPE_HARDWARE, -1);
  const CounterRequest software = request(PERF_TYPE_SOFTWARE, -1);
  const CounterRequest software_in_cgroup = request(PERF_TYPE_SOFTWARE, 5);
  CounterRequest filtered = request(PERF_TYPE_TRACEPOINT, -1);
  filtered.event.filter = "prev_prio < 100";
  CounterRequest uprobe = request(7, -1);
  uprobe.event.probe = "/bin/sh";
  CounterRequest with_config3 = request(11, -1);
  with_config3.event.config3 = 2;
  struct Row {
    int code;
    CounterRequest asked;
    const char* part;
  };
  const Row rows[] = {
      {EACCES, hardware, "CAP_PERFMON"},
      {EPERM, request(PERF_TYPE_BREAKPOINT, -1), "addresses of the kernel"},
      {EACCES, software_in_cgroup, "kernel.perf_event_paranoid"},
      {EACCES, uprobe, "CAP_SYS_ADMIN"},
      {EPERM, hardware, "seccomp"},
      {ENOSYS, software, "CONFIG_PERF_EVENTS"},
      {ENOENT, hardware, "no such hardware counter"},
      {ENOENT, request(PERF_TYPE_HW_CACHE, -1), "no such hardware counter"},
      {ENOENT, request(PERF_TYPE_HARDWARE, 5), "cgroup.subtree_control"},  // the CPU has it
      {ENOENT, request(PERF_TYPE_TRACEPOINT, -1), "this kernel has no such event"},
      {ENOENT, software, "this kernel has no such event"},
      {ENOENT, software_in_cgroup, "cgroup.subtree_control"},
      {EOPNOTSUPP, hardware, "modifiers"},
      {EINVAL, hardware, "a group that is too large"},
      {EINVAL, software, "combination of event and modifiers"},
      {EINVAL, filtered, "the filter"},
      {EACCES, filtered, "CAP_PERFMON"},
      {EMFILE, software, "RLIMIT_NOFILE"},
      {ENFILE, software, "fs.file-max"},
      {ENODEV, software, "offline"},
      {EBUSY, hardware, "exclusively"},
      {ENOSPC, hardware, "slots"},
      {EBADF, software_in_cgroup, "HostRoots"},
      {ENOMEM, software, "memory"},
      {E2BIG, with_config3, "Linux 6.3"},
      {E2BIG, hardware, "fewer events in one group"},
      {ENODATA, request(4, -1), "mem-loads-aux"},
      {EINTR, request(PERF_TYPE_TRACEPOINT, -1), "events/uprobes"},
      {EINTR, hardware, "retried"},
  };

  for (const Row& row : rows) {
    EXPECT_THAT(open_remedy(row.code, row.asked).text(), HasSubstr(row.part));
  }
}

TEST(OpenRemedyTest, IsEmptyWhenThereIsNothingToAdvise) {
  EXPECT_EQ(open_remedy(ESRCH, request(PERF_TYPE_HARDWARE, -1)), "");
  EXPECT_EQ(open_remedy(EBADF, request(PERF_TYPE_HARDWARE, -1)), "");
  EXPECT_EQ(open_remedy(0, request(PERF_TYPE_HARDWARE, -1)), "");
}

}  // namespace
}  // namespace pex::perf
