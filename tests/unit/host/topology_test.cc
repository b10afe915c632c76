#include "host/topology.h"

#include <sys/stat.h>

#include <cerrno>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OnlineCpusTest, AreThoseOfTheGivenTree) {
  const test::TempTree tree{{"sys/devices/system/cpu/online", "0,2-3\n"}};

  const Result<std::vector<int>> cpus = online_cpus({.sysfs = tree.path("sys"), .cgroupfs = {}});

  ASSERT_TRUE(cpus);
  EXPECT_THAT(*cpus, ElementsAre(0, 2, 3));
}

TEST(OnlineCpusTest, AreTheSameObjectUntilTheyChange) {
  test::TempTree tree{{"sys/devices/system/cpu/online", "0-3\n"}};
  OnlineCpus online{{.sysfs = tree.path("sys"), .cgroupfs = {}}};

  const auto first = online.read();
  const auto second = online.read();
  tree.write("sys/devices/system/cpu/online", "0-2\n");
  const auto third = online.read();

  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(*first, *second);
  EXPECT_THAT(**first, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(**third, ElementsAre(0, 1, 2));
}

void expect_no_cpus(const test::TempTree& tree, int code) {
  const Result<std::vector<int>> cpus = online_cpus({.sysfs = tree.path("sys"), .cgroupfs = {}});

  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().code, code);
  EXPECT_THAT(cpus.error().attempted, HasSubstr(tree.path("sys/devices/system/cpu/online")));
  EXPECT_THAT(cpus.error().remedy.text(), HasSubstr("HostRoots"));
}

TEST(OnlineCpusTest, AreNeverNoneAndNeverGuessedAndNotWaitedFor) {
  for (const char* content : {"", "\n", "none\n", "0-\n", "0-3\n\n"}) {
    SCOPED_TRACE(content);
    expect_no_cpus(test::TempTree{{"sys/devices/system/cpu/online", content}}, EINVAL);
  }
  const test::TempTree tree{{"sys/devices/system/cpu/"}};
  expect_no_cpus(tree, ENOENT);
  ASSERT_EQ(::mkfifo(tree.path("sys/devices/system/cpu/online").c_str(), 0600), 0);
  expect_no_cpus(tree, EINVAL);
}

TEST(IsolatedCpusTest, AreThoseOfTheKernelOrNone) {
  const test::TempTree tree{{"sys/devices/system/cpu/isolated", "2-3\n"},
                            {"sys/devices/system/cpu/nohz_full", "(null)\n"}};
  const HostRoots roots{.sysfs = tree.path("sys"), .cgroupfs = {}};
  const test::TempTree bare;
  const HostRoots without{.sysfs = bare.path("sys"), .cgroupfs = {}};

  EXPECT_THAT(*isolated_cpus(roots), ElementsAre(2, 3));
  EXPECT_THAT(*nohz_full_cpus(roots), ElementsAre());
  EXPECT_THAT(*isolated_cpus(without), ElementsAre());
}

}  // namespace
}  // namespace pex::host
