#include "perf/known_work.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <thread>

namespace pex::perf::known_work_test {
namespace {

/// Of the calling thread, for good.
bool forbid_getrusage() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(KnownWorkTest, IsNotKnownWhereTheKernelMayNotBeAskedForSwitchesAndFaults) {
  std::optional<WorkDone> allowed, forbidden;
  bool is_forbidden = false;
  std::thread([&] {
    const KnownWork work = {.cpu = ::sched_getcpu(), .pages = 64, .sleeps = 1};
    allowed = do_known_work(work);
    is_forbidden = forbid_getrusage();
    forbidden = do_known_work(work);
  }).join();

  if (!is_forbidden) GTEST_SKIP() << "this kernel has no seccomp filters";
  ASSERT_TRUE(allowed);
  EXPECT_GE(allowed->faults, 64u);
  EXPECT_GE(allowed->switches.least, 1u);
  EXPECT_FALSE(forbidden);
}

}  // namespace
}  // namespace pex::perf::known_work_test
