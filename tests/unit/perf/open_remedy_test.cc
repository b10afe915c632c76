#include "perf/open_remedy.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "support/test_headers.h"

namespace pex::perf {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

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
  CounterRequest uprobe_in_cgroup = uprobe;
  uprobe_in_cgroup.cgroup_fd = 5;
  CounterRequest kprobe = request(6, -1);
  kprobe.event.probe = "do_exit";
  CounterRequest kprobe_in_cgroup = kprobe;
  kprobe_in_cgroup.cgroup_fd = 5;
  CounterRequest in_user_mode = request(PERF_TYPE_BREAKPOINT, -1);
  in_user_mode.event.exclude_kernel = true;
  CounterRequest of_kernel = in_user_mode;
  of_kernel.event.config1 = 0xffffffff81000000;
  CounterRequest outside_of_guests = hardware;
  outside_of_guests.event.exclude_guest = true;
  CounterRequest with_config3 = request(11, -1);
  with_config3.event.config3 = 2;
  CounterRequest of_process = hardware;
  of_process.pid = ::getpid();
  CounterRequest of_another = hardware;
  of_another.pid = std::numeric_limits<int>::max();  // of nobody
  CounterRequest software_of_process = software;
  software_of_process.pid = ::getpid();
  CounterRequest at_user_address = request(PERF_TYPE_BREAKPOINT, -1);
  struct Row {
    int code;
    CounterRequest asked;
    const char* cause;
    const char* remedy;
  };
  const Row rows[] = {
      {EACCES, hardware, "CAP_PERFMON is missing", "with --user=0 in a container that has it"},
      {EPERM, at_user_address, "seccomp", "grant CAP_PERFMON"},
      {EACCES, software_in_cgroup, "is too high", "kernel.perf_event_paranoid"},
      {EACCES, of_another, "belongs to another user", "as the user of the process"},
      {EACCES, of_process, "too high for your own process", "run it as root, set"},
      {ESRCH, of_process, "it has ended", "ps"},
      {EINVAL, of_process, "counts whole CPUs only", "manual"},
      {EINVAL, software_of_process, "combination of event and modifiers", "remove the modifiers"},
      {EINVAL, request(PERF_TYPE_BREAKPOINT, -1), "no such breakpoint", "multiple of the length"},
      {EINVAL, in_user_mode, "no such breakpoint", "for x no length"},
      {EINVAL, of_kernel, "in user mode only", "modifier u"},
      {EPERM, of_kernel, "addresses of the kernel", "CAP_SYS_ADMIN"},
      {EINVAL, uprobe, "no probe can be set", "may be traced"},
      {EINVAL, request(PERF_TYPE_TRACEPOINT, -1), "was removed", "loaded again"},
      {EPERM, uprobe, "lockdown", "grant CAP_PERFMON to this program (--cap-add=PERFMON), with"},
      {EPERM, kprobe, "seccomp", "the file lockdown"},
      {E2BIG, uprobe, "too long", "another function"},
      {EADDRNOTAVAIL, uprobe, "several functions", "a name of its own"},
      {EILSEQ, kprobe, "no instruction that can be probed", "the offset of an instruction"},
      {ENOEXEC, uprobe, "no instruction that can be probed", "the offset of an instruction"},
      {kErrnoNotSupported, uprobe, "no instruction that can be probed", "offset of an instruction"},
      {ENOENT, uprobe, "no such file", "a container"},
      {ENOENT, uprobe_in_cgroup, "no such file", "a container"},
      {ENOENT, kprobe, "no such function", "kallsyms"},
      {ENOENT, kprobe_in_cgroup, "module may not be loaded", "load the module"},
      {EACCES, uprobe, "not enough for uprobes", "CAP_SYS_ADMIN"},
      {EPERM, hardware, "seccomp", "allow perf_event_open"},
      {ENOSYS, software, "seccomp", "CONFIG_PERF_EVENTS"},
      {ENOENT, hardware, "no such hardware counter", "virtual PMU"},
      {ENOENT, request(PERF_TYPE_HW_CACHE, -1), "no such hardware counter", "virtual PMU"},
      // The CPU has it.
      {ENOENT, request(PERF_TYPE_HARDWARE, 5), "not attached", "cgroup.subtree_control"},
      {ENOENT, request(PERF_TYPE_TRACEPOINT, -1), "this kernel has no such event", "remove"},
      {ENOENT, software, "this kernel has no such event", "remove"},
      {ENOENT, software_in_cgroup, "not attached", "cgroup.subtree_control"},
      {EOPNOTSUPP, hardware, "given to virtual machines", "the modifier H"},
      {EOPNOTSUPP, outside_of_guests, "cannot count", "remove its modifiers"},
      {EOPNOTSUPP, software, "cannot count", "remove its modifiers"},
      {EINVAL, hardware, "a group that is too large", "manual"},
      {EINVAL, software, "combination of event and modifiers", "remove the modifiers"},
      {EINVAL, filtered, "the filter", "'format'"},
      {EACCES, filtered, "CAP_PERFMON", "CAP_PERFMON"},
      {EMFILE, software, "no free descriptor", "RLIMIT_NOFILE"},
      {ENFILE, software, "the whole system", "fs.file-max"},
      {ENODEV, software, "offline", "online"},
      {EBUSY, hardware, "exclusively", "stop"},
      {ENOSPC, hardware, "slots", "fewer"},
      {EBADF, software_in_cgroup, "not a cgroup", "HostRoots"},
      {ENOMEM, software, "memory", "fewer"},
      {E2BIG, with_config3, "Linux 6.3", "remove"},
      {E2BIG, hardware, "so many events", "fewer events in one group"},
      {ENODATA, request(4, -1), "auxiliary event", "mem-loads-aux"},
      {EINTR, request(PERF_TYPE_TRACEPOINT, -1), "ftrace", "events/uprobes"},
      {EINTR, hardware, "signal", "repeated"},
  };

  for (const Row& row : rows) {
    const Error error = open_error(row.code, "open it", row.asked);
    EXPECT_THAT(error.cause, HasSubstr(row.cause));
    EXPECT_THAT(error.remedy.text(), HasSubstr(row.remedy));
  }
}

TEST(OpenRemedyTest, IsEmptyWhenThereIsNothingToAdvise) {
  for (const int code : {ESRCH, EBADF}) {
    EXPECT_EQ(open_error(code, "open it", request(PERF_TYPE_HARDWARE, -1)),
              (Error{code, "open it", {}}));
  }
}

/// The page and the table of the documents have a column for each.
TEST(OpenRemedyTest, EachEntryHasACauseAndARemedyAndNoneIsInTheOther) {
  for (const OpenRemedy& entry : open_remedies()) {
    const std::string at = errno_name(entry.code) + " " + std::string(name_of(entry.subject));
    EXPECT_FALSE(entry.cause.empty()) << at;
    EXPECT_FALSE(entry.remedy.empty()) << at;
    EXPECT_THAT(entry.remedy.text(), Not(HasSubstr(std::string(entry.cause)))) << at;
    EXPECT_THAT(entry.remedy.text(),
                MatchesRegex("(grant|allow|write|remove|use|see|put|add|none is needed: the|raise|"
                             "run|stop|count) .*"))
        << at << ": it says what to do";
  }
}

TEST(CanBeRemediedTest, IsTrueOfRightsAndLimitsAndFalseOfWhatTheMachineLacks) {
  for (const int code : {EACCES, EPERM, EMFILE, ENFILE, ENOSPC, EBUSY, ENOMEM, ENOSYS,
                         kErrnoNotSupported, EILSEQ, 0}) {
    EXPECT_TRUE(can_be_remedied(code)) << code;
  }
  for (const int code : {ENOENT, EOPNOTSUPP, ENODEV, EINVAL, E2BIG}) {
    EXPECT_FALSE(can_be_remedied(code)) << code;
  }
}

}  // namespace
}  // namespace pex::perf
