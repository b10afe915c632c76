#include "host/perf_users.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/ordinary_user.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PerfUsersTest : public testing::Test {
 protected:
  void add(int pid, const std::string& name, int events, int others = 1) {
    const std::string process = std::to_string(pid);
    tree_.write(process + "/comm", name + "\n");
    std::filesystem::create_directories(tree_.path(process + "/fd"));
    for (int fd = 0; fd < events + others; ++fd) {
      std::filesystem::create_symlink(
          fd < events ? "anon_inode:[perf_event]" : "anon_inode:[eventpoll]",
          tree_.path(process + "/fd/" + std::to_string(fd)));
    }
  }
  PerfUsers find() const {
    HostRoots roots;
    roots.procfs = tree_.root();
    return find_perf_users(roots);
  }

  test::TempTree tree_{{"cpuinfo", ""}, {"self/comm", "not a process\n"}};
};

TEST_F(PerfUsersTest, AreTheProgramsWithEventsThoseWithMostFirst) {
  add(7, "perf", 4);
  add(8, "bash", 0);
  add(1200, "cadvisor", 300, 20);

  const PerfUsers found = find();

  EXPECT_THAT(found.users, ElementsAre(PerfUser{1200, "cadvisor", 300}, PerfUser{7, "perf", 4}));
  EXPECT_EQ(found.unreadable, 0U);
}

TEST_F(PerfUsersTest, ThisProcessIsNoOther) {
  add(::getpid(), "doctor", 5);
  EXPECT_THAT(find().users, IsEmpty());
}

TEST_F(PerfUsersTest, AProcessThatEndsMeanwhileIsNone) {
  tree_.write("9/comm", "gone\n");  // and has no fd
  const PerfUsers found = find();
  EXPECT_THAT(found.users, IsEmpty());
  EXPECT_EQ(found.unreadable, 0U);
}

TEST_F(PerfUsersTest, ProcessesThatMayNotBeListedAreCounted) {
  constexpr mode_t kNothing = 0;
  constexpr mode_t kListAlone = 0444;  // its links may not be read
  for (const mode_t mode : {kNothing, kListAlone}) {
    SCOPED_TRACE(mode);
    add(9, "secret", mode == kNothing ? 1 : 0);
    ::chmod(tree_.root().c_str(), 0755);
    ::chmod(tree_.path("9/fd").c_str(), mode);

    const PerfUsers found = [this] {
      const test::OrdinaryUser user;
      return find();
    }();

    ::chmod(tree_.path("9/fd").c_str(), 0700);
    EXPECT_EQ(found.unreadable, 1U);
    EXPECT_THAT(found.users, IsEmpty());
    tree_.remove("9");
  }
}

TEST_F(PerfUsersTest, AProcfsThatCannotBeReadIsReported) {
  HostRoots roots;
  roots.procfs = tree_.path("none");
  EXPECT_EQ(find_perf_users(roots).unreadable, 1U);
}

}  // namespace
}  // namespace pex::host
