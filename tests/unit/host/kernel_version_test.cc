#include "host/kernel_version.h"

#include <gtest/gtest.h>

namespace pex::host {
namespace {

TEST(KernelVersionTest, IsTheNumbersThatAReleaseBeginsWith) {
  struct Row {
    const char* release;
    KernelVersion version;
  };
  const Row rows[] = {
      {"6.12.57+deb13-amd64", {6, 12, 57}},
      {"6.1.0-18-amd64", {6, 1, 0}},
      {"6.18.44", {6, 18, 44}},
      {"5.14.0-503.el9.x86_64", {5, 14, 0}},
      {"6.19-rc3", {6, 19, 0}},
      {"7", {7, 0, 0}},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(parse_kernel_version(row.release), row.version) << row.release;
  }
}

TEST(KernelVersionTest, IsNothingWithoutNumbers) {
  for (const char* release : {"", "linux", ".6", "6.", "6..1", "99999999999.1"}) {
    EXPECT_EQ(parse_kernel_version(release), std::nullopt) << release;
  }
}

TEST(KernelVersionTest, OrdersAsReleasesFollowEachOther) {
  EXPECT_LT(parse_kernel_version("6.2.0"), parse_kernel_version("6.12.1"));
  EXPECT_LT(parse_kernel_version("6.12.114"), parse_kernel_version("6.12.115"));
  EXPECT_LT(parse_kernel_version("5.19"), parse_kernel_version("6.0"));
}

TEST(KernelReleaseTest, OfThisMachineIsAVersion) {
  EXPECT_EQ(parse_kernel_version(kernel_release()), running_kernel()) << kernel_release();
}

TEST(KernelVersionExample, IsRight) {
  const bool has_cgroup_switches = running_kernel() >= KernelVersion{5, 13, 0};

  const KernelVersion before{5, 12, 99999};
  EXPECT_EQ(has_cgroup_switches, running_kernel() > before);
}

}  // namespace
}  // namespace pex::host
