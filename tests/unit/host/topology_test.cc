#include "host/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "support/temp_tree.h"

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

TEST(OnlineCpusTest, NameTheOptionToSetWhenTheFileIsNotThere) {
  const test::TempTree tree;

  const Result<std::vector<int>> cpus = online_cpus({.sysfs = tree.path("sys"), .cgroupfs = {}});

  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().code, ENOENT);
  EXPECT_THAT(cpus.error().attempted, HasSubstr(tree.path("sys/devices/system/cpu/online")));
  EXPECT_THAT(cpus.error().remedy.text(), HasSubstr("HostRoots"));
}

TEST(OnlineCpusTest, AreNotWaitedForWhereAFifoIsInThePlaceOfTheFile) {
  test::TempTree tree{{"devices/system/cpu/"}};
  ASSERT_EQ(::mkfifo(tree.path("devices/system/cpu/online").c_str(), 0600), 0);

  const Result<std::vector<int>> cpus = online_cpus({.sysfs = tree.root(), .cgroupfs = {}});

  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().code, EINVAL);
}

TEST(OnlineCpusTest, AreNeverNoneAndNeverGuessed) {
  for (const char* content : {"", "\n", "none\n", "0-\n", "0-3\n\n"}) {
    const test::TempTree tree{{"sys/devices/system/cpu/online", content}};

    const Result<std::vector<int>> cpus = online_cpus({.sysfs = tree.path("sys"), .cgroupfs = {}});

    ASSERT_FALSE(cpus) << "'" << content << "'";
    EXPECT_EQ(cpus.error().code, EINVAL);
    EXPECT_THAT(cpus.error().remedy.text(), HasSubstr("HostRoots"));
  }
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
