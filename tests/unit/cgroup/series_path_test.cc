#include "cgroup/series_path.h"

#include <gtest/gtest.h>

namespace pex::cgroup {
namespace {

TEST(SeriesPathTest, HasAStarForWhatIsUsedOnceAndIsItsOwnSeries) {
  struct Row {
    const char* path;
    const char* series;
  };
  const Row rows[] = {
      {"/system.slice/system-health.slice/"
       "health@147486-192.0.2.68:9200-192.0.2.9:51526.service",
       "/system.slice/system-health.slice/health@*.service"},
      {"/system.slice/sshd@3-2001:db8::1:22-fe80::2:50122.service", "/system.slice/sshd@*.service"},
      {"/system.slice/agent@7-3:1024-2:1025.service",  // AF_VSOCK
       "/system.slice/agent@*.service"},
      {"/system.slice/systemd-coredump@0-4242-1000.service",  // AF_UNIX
       "/system.slice/systemd-coredump@*.service"},
      {"/system.slice/systemd-coredump@12-4242_8-1000.service",
       "/system.slice/systemd-coredump@*.service"},
      {"/system.slice/local@5-unknown.service", "/system.slice/local@*.service"},
      {"/user.slice/user-1000.slice/session-42.scope",
       "/user.slice/user-1000.slice/session-*.scope"},
      {"/user.slice/user-0.slice/session-c1.scope", "/user.slice/user-0.slice/session-*.scope"},
      {"/system.slice/run-u1234.service", "/system.slice/run-*.service"},
      {"/system.slice/run-4242.scope", "/system.slice/run-*.scope"},
      {"/system.slice/run-p4242-i9001.scope", "/system.slice/run-*.scope"},
      {"/system.slice/run-r0123456789abcdef0123456789abcdef.scope", "/system.slice/run-*.scope"},
      {"/user.slice/user-1.slice/session-1.scope/run-u1.service/run-u2.service/in",
       "/user.slice/user-1.slice/session-*.scope/run-*.service/run-*.service/in"}};
  for (const Row& row : rows) {
    EXPECT_EQ(series_path(row.path), row.series);
    EXPECT_EQ(series_path(row.series), row.series);
  }
}

TEST(SeriesPathTest, IsThePathOfAnOrdinaryName) {
  for (const char* path :
       {"", "/", "/system.slice/nginx.service", "/system.slice/getty@tty1.service",
        "/system.slice/postgresql@15-main.service", "/system.slice/redis@1.service",
        "/system.slice/redis@1-2.service", "/system.slice/user@1000.service",
        "/system.slice/openvpn@10.0.0.1:80.service", "/system.slice/run-backup.service",
        "/system.slice/run-u12.service-x", "/system.slice/run-user-1000.mount",
        "/user.slice/user-1000.slice/session-foot.scope", "/session-.scope",
        "/system.slice/@4-unknown.service", "/system.slice/docker-0123456789abcdef.scope",
        "/lxc/session-1"}) {
    EXPECT_EQ(series_path(path), path);
  }
}

}  // namespace
}  // namespace pex::cgroup
