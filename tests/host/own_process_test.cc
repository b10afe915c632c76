#include "host/own_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <chrono>
#include <string>

#include "base/unique_fd.h"

namespace pex::host {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(OwnProcessTest, HasPlausibleNumbers) {
  const Result<OwnProcess> own = read_own_process();

  ASSERT_TRUE(own) << describe(own.error());
  EXPECT_GT(own->cpu_seconds, 0.0);
  EXPECT_LT(own->cpu_seconds, 3600.0);
  EXPECT_LE(own->start_time_seconds, now_seconds() + 1.0);
  EXPECT_GT(own->start_time_seconds, now_seconds() - 3600.0);
  EXPECT_GE(own->open_fds, 3u);
  EXPECT_GE(own->max_fds, own->open_fds);
  EXPECT_GT(own->resident_bytes, 100u * 1024);
  EXPECT_LT(own->resident_bytes, own->virtual_bytes);
}

TEST(OwnProcessTest, CountsOneDescriptorMoreWhenOneIsOpened) {
  const Result<OwnProcess> before = read_own_process();

  const UniqueFd opened{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const Result<OwnProcess> after = read_own_process();

  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->open_fds, before->open_fds + 1);
}

TEST(OwnProcessTest, SpendsCpuTimeAndNeverGetsItBack) {
  const Result<OwnProcess> before = read_own_process();

  const Result<OwnProcess> after = read_own_process();

  ASSERT_TRUE(before && after);
  EXPECT_GT(after->cpu_seconds, before->cpu_seconds);
  EXPECT_NEAR(after->start_time_seconds, before->start_time_seconds, 0.5);
}

TEST(OwnProcessTest, IsUnderstoodWhateverTheNameOfTheProgram) {
  char name[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  const Result<OwnProcess> before = read_own_process();

  ASSERT_EQ(::prctl(PR_SET_NAME, ") R 1 (x"), 0);
  const Result<OwnProcess> after = read_own_process();
  ASSERT_EQ(::prctl(PR_SET_NAME, name), 0);

  ASSERT_TRUE(before && after);
  EXPECT_NEAR(after->start_time_seconds, before->start_time_seconds, 0.5);
  EXPECT_EQ(after->virtual_bytes, before->virtual_bytes);
}

TEST(RaiseOpenFileLimitTest, RaisesTheSoftLimitToTheHardOne) {
  rlimit original{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &original), 0);
  const rlimit low{64, original.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

  const std::uint64_t in_force = raise_open_file_limit();
  const Result<OwnProcess> own = read_own_process();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &original), 0);

  EXPECT_EQ(in_force, original.rlim_max);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->max_fds, original.rlim_max);
}

}  // namespace
}  // namespace pex::host
