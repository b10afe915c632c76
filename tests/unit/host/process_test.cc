#include "host/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/temp_tree.h"

namespace pex::host {
namespace {

constexpr int kBeyondAllProcesses = 0x7fff'ffff;  // PID_MAX_LIMIT is 2^22

TEST(ProcessTest, IsWatchedUntilItEnds) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const UniqueFd process = watch_process(child);
  if (!process) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    GTEST_SKIP() << "this kernel has no pidfd_open";
  }
  pollfd ended{process.get(), POLLIN, 0};

  EXPECT_EQ(::poll(&ended, 1, 20), 0);
  EXPECT_TRUE(process_exists(child));
  ::kill(child, SIGKILL);
  EXPECT_EQ(::poll(&ended, 1, 30'000), 1);
  EXPECT_TRUE(process_exists(child));  // until it is waited for
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_exists(child));
}

TEST(ProcessTest, ThatIsNotThereIsNotWatched) {
  EXPECT_FALSE(watch_process(kBeyondAllProcesses));
  EXPECT_FALSE(process_exists(kBeyondAllProcesses));
}

TEST(ProcessTest, HasTheTimeOfItsUserAndSystemModeWhateverItsNameUnlessItIsTooLong) {
  struct Row {
    std::string stat;
    std::int64_t milliseconds;
    int code = 0;
  };
  const auto with_ticks = [](const std::string& ticks) {
    return "17 (a) b) 1 2) S 1 17 17 0 -1 4194560 100 200 0 0 " + ticks + " 700 800 20 0 1 0 5\n";
  };
  const Row rows[] = {
      {with_ticks("30 12"), 420},
      {with_ticks("922337203685 0"), 9'223'372'036'850},
      {with_ticks("922337203685 1"), 0, EINVAL},
      {with_ticks("18446744073709551615 1"), 0, EINVAL},
      {"17 (short) S 1 2\n", 0, EINVAL},
      {"17 no name", 0, EINVAL},
  };
  for (const Row& row : rows) {
    const test::TempTree tree{{"proc/17/stat", row.stat}};
    const HostRoots roots{tree.path("sys"), tree.path("proc"), {}};

    const Result<std::chrono::nanoseconds> time = cpu_time(roots, 17);

    EXPECT_EQ(time ? *time / std::chrono::milliseconds{1} : 0, row.milliseconds) << row.stat;
    EXPECT_EQ(time ? 0 : time.error().code, row.code) << row.stat;
    EXPECT_EQ(cpu_time(roots, 20).error().code, ENOENT);
  }
}

}  // namespace
}  // namespace pex::host
