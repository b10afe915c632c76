#include "host/tracing.h"

#include <sys/stat.h>

#include <cerrno>

#include "support/ordinary_user.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSwitch = "sys/kernel/tracing/events/sched/sched_switch/id";

HostRoots below(const test::TempTree& tree) {
  return {.sysfs = tree.path("sys"), .procfs = tree.path("proc"), .cgroupfs = {}};
}

std::string mount_of(const std::string& fs_type, const std::string& point) {
  return "36 35 0:12 / " + point + " rw - " + fs_type + " " + fs_type + " rw\n";
}

/// What `call` gives an ordinary user who may not read that file or directory.
template <typename Call>
auto without_access_to(const test::TempTree& tree, const char* path, const Call& call) {
  EXPECT_EQ(::chmod(tree.root().c_str(), 0755), 0);
  EXPECT_EQ(::chmod(tree.path(path).c_str(), 0), 0);
  auto result = [&] {
    const test::OrdinaryUser user;
    return call(below(tree));
  }();
  EXPECT_EQ(::chmod(tree.path(path).c_str(), 0700), 0);
  return result;
}

TEST(FindTracingTest, PrefersItsOwnPlaceToThatOfOldIfItIsNotOnlyAFolderToMountAt) {
  for (const bool is_mounted : {true, false}) {
    const test::TempTree tree{{is_mounted ? "sys/kernel/tracing/events/" : "sys/kernel/tracing/"},
                              {"sys/kernel/debug/tracing/events/"}};

    const Result<std::string> tracing = find_tracing(below(tree));

    ASSERT_TRUE(tracing) << describe(tracing.error());
    EXPECT_EQ(*tracing, tree.path(is_mounted ? "sys/kernel/tracing" : "sys/kernel/debug/tracing"));
  }
}

TEST(FindTracingTest, ReadsFromTheMountTableAtLast) {
  test::TempTree tree{{"sys/"}, {"mnt/sys/events/"}, {"mnt/trace/events/"}};
  tree.write("proc/self/mountinfo", mount_of("sysfs", tree.path("mnt/sys")) +
                                        mount_of("tracefs", tree.path("mnt/gone")) +
                                        mount_of("tracefs", tree.path("mnt/trace")));

  const Result<std::string> tracing = find_tracing(below(tree));

  ASSERT_TRUE(tracing) << describe(tracing.error());
  EXPECT_EQ(*tracing, tree.path("mnt/trace"));
}

TEST(FindTracingTest, ReportsHowToMountItWhenItIsNowhere) {
  const test::TempTree tree{{"sys/kernel/tracing/"}};

  const Result<std::string> tracing = find_tracing(below(tree));

  ASSERT_FALSE(tracing);
  EXPECT_EQ(tracing.error().code, ENOENT);
  EXPECT_EQ(tracing.error().remedy, "mount -t tracefs tracefs /sys/kernel/tracing");
}

TEST(FindTracingTest, NamesTheCapabilityWhenOnlyRootMayRead) {
  const test::TempTree tree{{kSwitch, "316\n"}};

  const auto tracing = without_access_to(tree, "sys/kernel/tracing", find_tracing);

  ASSERT_FALSE(tracing);
  EXPECT_EQ(tracing.error().code, EACCES);
  EXPECT_THAT(tracing.error().attempted, HasSubstr(tree.path("sys/kernel/tracing")));
  EXPECT_THAT(tracing.error().remedy.text(), HasSubstr("CAP_DAC_READ_SEARCH"));
}

TEST(FindTracingTest, PrefersWhatCanBeReadToWhatComesFirst) {
  const test::TempTree tree{{kSwitch, "316\n"}, {"sys/kernel/debug/tracing/events/"}};

  const auto tracing = without_access_to(tree, "sys/kernel/tracing", find_tracing);

  ASSERT_TRUE(tracing) << describe(tracing.error());
  EXPECT_EQ(*tracing, tree.path("sys/kernel/debug/tracing"));
}

TEST(TracepointIdTest, IsTheNumberInTheFileOfTheTracepoint) {
  const test::TempTree tree{{kSwitch, "316\n"}};

  const Result<std::uint64_t> id = tracepoint_id(below(tree), "sched", "sched_switch");

  ASSERT_TRUE(id) << describe(id.error());
  EXPECT_EQ(*id, 316u);
}

TEST(TracepointIdTest, IsAbsentWithTheNameThatWasMeant) {
  const test::TempTree tree{{kSwitch, "316\n"},
                            {"sys/kernel/tracing/events/sched/sched_wakeup/id", "318\n"}};

  const Result<std::uint64_t> id = tracepoint_id(below(tree), "sched", "shed_switch");

  ASSERT_FALSE(id);
  EXPECT_EQ(id.error(), (Error{ENOENT, "find the tracepoint 'sched:shed_switch'",
                               "did you mean 'sched:sched_switch'?"}));
}

TEST(TracepointIdTest, IsAbsentWithAnAdviceWhenNoNameIsNear) {
  const test::TempTree tree{{kSwitch, "316\n"}};

  const Result<std::uint64_t> id = tracepoint_id(below(tree), "kvm", "kvm_exit");

  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ENOENT);
  EXPECT_THAT(id.error().remedy.text(), HasSubstr("load the kernel module"));
}

TEST(TracepointIdTest, IsNeverReadFromElsewhere) {
  const test::TempTree tree{{kSwitch, "316\n"},
                            {"sys/kernel/tracing/id", "1\n"},
                            {"sys/kernel/tracing/events/id", "2\n"}};
  struct Row {
    std::string system;
    std::string name;
  };
  const Row rows[] = {
      {"", "sched_switch"}, {"sched", ""},
      {"sched", ".."},      {".", "."},
      {"..", "events"},     {"sched/sched_switch", "."},
      {"sched", "../.."},   {std::string("sched\0x", 7), "sched_switch"},
      {"sched", "enable"},  {"sched", std::string(5000, 's')},
  };

  for (const Row& row : rows) {
    const Result<std::uint64_t> id = tracepoint_id(below(tree), row.system, row.name);

    ASSERT_FALSE(id) << row.system << ":" << row.name;
    EXPECT_EQ(id.error().code, ENOENT) << row.system << ":" << row.name;
  }
}

TEST(TracepointIdTest, IsNeverGuessed) {
  for (const char* content : {"", "\n", "-1\n", "one\n", "316 317\n"}) {
    const test::TempTree tree{{kSwitch, content}};

    const Result<std::uint64_t> id = tracepoint_id(below(tree), "sched", "sched_switch");

    ASSERT_FALSE(id) << "'" << content << "'";
    EXPECT_EQ(id.error().code, EINVAL) << "'" << content << "'";
  }
}

TEST(TracepointIdTest, ReportsThatItMayNotBeRead) {
  const test::TempTree tree{{kSwitch, "316\n"}};

  const auto id = without_access_to(tree, kSwitch, [](const HostRoots& roots) {
    return tracepoint_id(roots, "sched", "sched_switch");
  });

  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, EACCES);
  EXPECT_THAT(id.error().attempted, HasSubstr("sched:sched_switch"));
  EXPECT_THAT(id.error().remedy.text(), HasSubstr("CAP_DAC_READ_SEARCH"));
}

TEST(ListTracepointsTest, NamesEveryFolderWithANumberInOrder) {
  const test::TempTree tree{{"sys/kernel/tracing/events/sched/sched_wakeup/id", "318\n"},
                            {kSwitch, "316\n"},
                            {"sys/kernel/tracing/events/kvm/kvm_exit/id", "1893\n"},
                            {"sys/kernel/tracing/events/kvm/enable", "0\n"},
                            {"sys/kernel/tracing/events/kvm/half/format", ""},
                            {"sys/kernel/tracing/events/header_page", ""},
                            {"sys/kernel/tracing/events/empty/"}};

  const Result<std::vector<std::string>> names = list_tracepoints(below(tree));

  ASSERT_TRUE(names) << describe(names.error());
  EXPECT_THAT(*names, ElementsAre("kvm:kvm_exit", "sched:sched_switch", "sched:sched_wakeup"));
}

TEST(ListTracepointsTest, FailsAsTheSearchForTracefsDoes) {
  const test::TempTree tree;

  const Result<std::vector<std::string>> names = list_tracepoints(below(tree));

  ASSERT_FALSE(names);
  EXPECT_EQ(names.error(), find_tracing(below(tree)).error());
}

TEST(ListTracepointsTest, NamesTheOnesOfThisMachineThatCanBeAskedFor) {
  const Result<std::vector<std::string>> names = list_tracepoints({});
  if (!names) GTEST_SKIP() << describe(names.error()) << ": the kernel's own is NOT tested";

  const Result<std::uint64_t> id = tracepoint_id({}, "sched", "sched_switch");

  ASSERT_TRUE(id) << describe(id.error());
  EXPECT_THAT(*names, ::testing::Contains("sched:sched_switch"));
}

}  // namespace
}  // namespace pex::host
