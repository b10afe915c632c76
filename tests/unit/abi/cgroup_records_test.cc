// The names of cgroups from the records of the real kernel (cgroup/discovery/discovery.h).

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "cgroup/discovery/discovery.h"
#include "cgroup/hierarchy.h"
#include "support/real_events.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::RecordedEvent;
using Clock = cgroup::Discovery::Clock;

const Clock::time_point kStart{std::chrono::hours{1}};

/// In a directory of its own, in which cgroups can be made.
class CgroupRecordsTest : public test::RealEventsTest {
 protected:
  void SetUp() override {
    RealEventsTest::SetUp();
    if (IsSkipped()) return;
    const auto found = cgroup::find_hierarchy({});
    if (!found || !*found) GTEST_SKIP() << "no cgroup tree here has perf_event: NOT tested";
    hierarchy_ = **found;
    top_ = "/pex-records-" + std::to_string(::getpid());
    if (!make("")) GTEST_SKIP() << "cgroups cannot be made here: NOT tested";
    is_made_ = true;
  }
  void TearDown() override {
    if (is_made_) remove("");
    RealEventsTest::TearDown();
  }

  bool make(const std::string& below) const {
    return ::mkdir((hierarchy_.mount + top_ + below).c_str(), 0755) == 0;
  }
  std::uint64_t id(const std::string& below) const {
    struct stat status {};
    return ::stat((hierarchy_.mount + top_ + below).c_str(), &status) == 0 ? status.st_ino : 0;
  }
  /// A process that has just ended may still be in it.
  void remove(const std::string& below) const {
    int tries = 1000;
    while (::rmdir((hierarchy_.mount + top_ + below).c_str()) != 0 && --tries > 0) ::usleep(1000);
    EXPECT_GT(tries, 0) << below;
  }

  std::unique_ptr<RecordedEvent> recording() {
    SamplingRequest request = test::software_request(PERF_COUNT_SW_DUMMY);
    request.cgroup = true;
    return std::make_unique<RecordedEvent>(kernel_, request, this_cpu());
  }

  cgroup::Hierarchy hierarchy_;
  std::string top_;
  bool is_made_ = false;
};

std::vector<cgroup::NamedCgroup> reports(RecordedEvent& event) {
  std::vector<cgroup::NamedCgroup> all;
  for (const Cgroup& record : event.all<Cgroup>())
    all.push_back({record.id, std::string(record.path)});
  return all;
}

TEST_F(CgroupRecordsTest, NameAThousandThatAreGone) {
  cgroup::Discovery discovery{hierarchy_, {}};
  const auto event = recording();
  std::map<std::uint64_t, std::string> made;
  for (int i = 0; i < 1000; ++i) {
    const std::string below = "/x" + std::to_string(i);
    ASSERT_TRUE(make(below));
    made.emplace(id(below), top_ + below);
    remove(below);
  }
  ASSERT_TRUE(make("/lasting"));  // where only a part of the hierarchy is mounted, it shows which

  const auto reported = reports(*event);
  ASSERT_TRUE(discovery.update(0, kStart, reported));
  const auto names = discovery.names();
  remove("/lasting");

  ASSERT_EQ(made.size(), 1000U);
  for (const auto& [id, path] : made) {
    const std::string* const name = names->path_of(id);
    ASSERT_NE(name, nullptr) << path;
    EXPECT_EQ(*name, path);
  }
}

/// In a process of its own, in the cgroup "/pod", which is the root of its cgroup namespace and of
/// the mount at `point`. Returns what its work returns.
bool in_namespace(const std::string& pod, const std::string& point,
                  const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream{pod + "/cgroup.procs"} << "0" << std::flush;
    const bool is_there = ::unshare(CLONE_NEWCGROUP | CLONE_NEWNS) == 0 &&
                          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("none", point.c_str(), "cgroup2", 0, nullptr) == 0;
    ::_exit(is_there && work() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(CgroupRecordsTest, OfACgroupNamespaceBeginAtTheRootOfTheHierarchyAndAreMapped) {
  if (hierarchy_.version != cgroup::Hierarchy::Version::kV2) GTEST_SKIP() << "mounts version 2";
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a cgroup namespace";
  ASSERT_TRUE(make("/pod"));
  const test::TempTree point;

  EXPECT_TRUE(in_namespace(hierarchy_.mount + top_ + "/pod", point.root(), [&] {
    cgroup::Discovery discovery{{point.root()}, {}};
    const auto event = recording();
    const auto make_inside = [&](const std::string& name) {
      struct stat status {};
      ::mkdir((point.root() + name).c_str(), 0755);
      ::stat((point.root() + name).c_str(), &status);
      return status.st_ino;
    };
    const std::uint64_t gone = make_inside("/gone");
    ::rmdir((point.root() + "/gone").c_str());
    const std::uint64_t lasting = make_inside("/lasting");
    const auto reported = reports(*event);
    const auto is_whole = [&](const cgroup::NamedCgroup& cgroup) {
      return cgroup == cgroup::NamedCgroup{gone, top_ + "/pod/gone"};
    };
    const bool is_read = discovery.update(0, kStart, reported).has_value();
    const auto names = discovery.names();
    ::rmdir((point.root() + "/lasting").c_str());
    return is_read && std::any_of(reported.begin(), reported.end(), is_whole) &&
           names->path_of(gone) != nullptr && *names->path_of(gone) == "/gone" &&
           *names->path_of(lasting) == "/lasting";
  }));
  remove("/pod");
}

}  // namespace
}  // namespace pex::perf
