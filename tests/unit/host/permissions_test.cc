#include "host/permissions.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

constexpr const char* kServiceStatus =
    "Name:\tperf_event_expo\n"
    "Uid:\t65534\t65533\t65534\t65534\n"
    "CapPrm:\t0000004000200000\n"
    "CapEff:\t0000004000000000\n"
    "CapBnd:\t0000004000200004\n"
    "NoNewPrivs:\t1\n"
    "Seccomp:\t2\n"
    "Seccomp_filters:\t9\n";

TEST(PermissionsTest, AreThoseOfTheStatusFileWhereCapabilitiesInForceAreNotThosePossible) {
  const Permissions service = parse_permissions(kServiceStatus);

  EXPECT_EQ(service.user, 65533U);
  EXPECT_EQ(service.seccomp, Seccomp::kFilter);
  EXPECT_EQ(service.no_new_privileges, true);
  ASSERT_TRUE(service.effective && service.permitted && service.bounding);
  EXPECT_TRUE(service.may(Capability::kPerfmon));
  EXPECT_FALSE(service.may(Capability::kSysAdmin));
  EXPECT_TRUE(service.permitted->has(Capability::kSysAdmin));
  EXPECT_FALSE(service.permitted->has(Capability::kDacReadSearch));
  EXPECT_TRUE(service.bounding->has(Capability::kDacReadSearch));
}

TEST(PermissionsTest, ReportsNothingOfWhatTheKernelDoesNotReport) {
  for (const char* status : {"", "\n", "Uid:\t7\nCapEff:\tall\nSeccomp:\t3\nNoNewPrivs:\t\n",
                             "Uid\nCapEffx:\t1\nSeccomp_filters:\t1\n"}) {
    const Permissions none = parse_permissions(status);

    EXPECT_FALSE(none.user || none.effective || none.bounding) << status;
    EXPECT_FALSE(none.seccomp || none.no_new_privileges) << status;
    EXPECT_FALSE(none.may(Capability::kPerfmon)) << status;
  }
}

TEST(PermissionsTest, OfThisProcessAreKnown) {
  const Permissions own = own_permissions();

  EXPECT_EQ(own.user, ::geteuid());
  EXPECT_TRUE(own.effective && own.bounding);
  EXPECT_EQ(own.no_new_privileges, ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

TEST(FileLimitTest, IsThatOfThisProcess) {
  rlimit expected{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &expected), 0);

  const FileLimit limit = own_file_limit();

  EXPECT_EQ(limit.soft, expected.rlim_cur);
  EXPECT_EQ(limit.hard, expected.rlim_max);
}

TEST(SysctlTest, IsANumberThatMayBeNegative) {
  const test::TempTree tree{{"proc/sys/kernel/perf_event_paranoid", "-1\n"},
                            {"proc/sys/kernel/nmi_watchdog", "1\n"}};
  const HostRoots roots{.procfs = tree.path("proc"), .cgroupfs = {}};

  const Result<std::int64_t> level = read_sysctl(roots, "kernel/perf_event_paranoid");
  const Result<std::int64_t> watchdog = read_sysctl(roots, "kernel/nmi_watchdog");

  ASSERT_TRUE(level && watchdog);
  EXPECT_EQ(*level, -1);
  EXPECT_EQ(*watchdog, 1);
}

TEST(SysctlTest, FailsWithWhatKeepsItFromBeingKnown) {
  const test::TempTree tree{{"proc/sys/kernel/words", "4 2 30\n"}, {"proc/sys/kernel/empty", "\n"}};
  const HostRoots roots{.procfs = tree.path("proc"), .cgroupfs = {}};

  for (const auto& [name, code] :
       {std::pair{"kernel/words", EINVAL}, std::pair{"kernel/empty", EINVAL},
        std::pair{"kernel/absent", ENOENT}, std::pair{"kernel", EISDIR}}) {
    const Result<std::int64_t> setting = read_sysctl(roots, name);

    ASSERT_FALSE(setting) << name;
    EXPECT_EQ(setting.error().code, code) << name;
  }
}

}  // namespace
}  // namespace pex::host
