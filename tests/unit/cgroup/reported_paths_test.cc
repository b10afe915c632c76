#include "cgroup/reported_paths.h"

#include <climits>
#include <cstdint>
#include <string_view>

#include "support/test_headers.h"
#include "watched_tree.h"

namespace pex::cgroup::reported_paths_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Reports = std::vector<NamedCgroup>;

constexpr std::uint64_t kGone = 999'999'999'999;  ///< an id that no directory has

class ReportedPathsTest : public testing::Test {
 protected:
  /// Below a mount of `above`.
  void learn(const std::string& above) { take({{host_.inode(""), above}}); }

  Reports take(const Reports& reported, Tree::Clock::time_point now = kStart) {
    tree_.name_all(true);
    must_update(tree_, now);
    return paths_.take(reported, tree_, now);
  }

  NamedCgroup report(std::string_view path, const std::string& above = "") const {
    return {host_.inode(path), above + "/" + std::string(path)};
  }

  CgroupTree host_;
  Tree tree_{host_.root(), Selection{}};
  ReportedPaths paths_;
};

TEST_F(ReportedPathsTest, AreThoseOfTheKernelWhereTheWholeHierarchyIsMounted) {
  host_.make("a");
  learn("/");

  EXPECT_THAT(take({{kGone, "/a/b"}, report("a")}),
              ElementsAre(NamedCgroup{kGone, "/a/b"}, report("a")));
  EXPECT_THAT(take({}), IsEmpty());
}

TEST_F(ReportedPathsTest, AreOnlyThoseThatTheKernelWrites) {
  learn("/");
  const std::string paths[] = {"",
                               "a",
                               "a/b",
                               "//enomem",
                               "//deleted",
                               "/a/",
                               "/a//b",
                               "/a/../b",
                               "/..",
                               "/./a",
                               {"/a\0b", 4},
                               "(null)",
                               "/" + std::string(PATH_MAX, 'x')};

  for (const std::string& path : paths) EXPECT_THAT(take({{kGone, path}}), IsEmpty()) << path;
  EXPECT_THAT(take({{0, "/a"}}), IsEmpty());
}

TEST_F(ReportedPathsTest, HaveAnyOtherBytes) {
  learn("/");
  const NamedCgroup reported{kGone, "/\xff\x01 (deleted)/..."};

  EXPECT_THAT(take({reported}), ElementsAre(reported));
}

TEST_F(ReportedPathsTest, DoNotEndWhereTheKernelCutThemOff) {
  const std::string above = "/" + std::string(3500, 'x');
  learn(above);
  const std::size_t room = PATH_MAX - 9 - above.size();  // as perf_event_cgroup() leaves it
  const std::string fits = "/a/" + std::string(room - 4, 'b');
  const std::string cut = "/a/" + std::string(room - 3, 'b');

  EXPECT_THAT(take({{kGone, above + fits}, {kGone + 1, above + cut}}),
              ElementsAre(NamedCgroup{kGone, fits}, NamedCgroup{kGone + 1, "/a/"}));
}

// --- a mount that shows a part -------------------------------------------------------------------

TEST_F(ReportedPathsTest, BeginWhereOneOfACgroupThatIsKnownDoes) {
  host_.make("web/worker");

  EXPECT_THAT(
      take({report("web/worker", "/kubepods/pod"),
            {kGone, "/kubepods/pod/gone"},
            {kGone + 1, "/kubepods/pods/other"},
            {kGone + 2, "/web"},
            {kGone + 3, "/kubepods/pod"}}),
      ElementsAre(report("web/worker"), NamedCgroup{kGone, "/gone"}, NamedCgroup{kGone + 3, "/"}));
}

TEST_F(ReportedPathsTest, BeginAtThatOfTheRootOfTheMount) {
  learn("/docker/x");

  EXPECT_THAT(take({{kGone, "/docker/x/gone"}}), ElementsAre(NamedCgroup{kGone, "/gone"}));
}

TEST_F(ReportedPathsTest, DoNotBeginWhereOneOfACgroupOfAnotherPathDoes) {
  host_.make("a/b");

  EXPECT_THAT(take({{host_.inode("a/b"), "/x/c"}, {host_.inode("a/b"), "/b"}, {kGone, "/x/d"}}),
              IsEmpty());
}

TEST_F(ReportedPathsTest, AreThereOnceItIsKnownWhereTheyBegin) {
  EXPECT_THAT(take({{kGone, "/pod/gone"}}), IsEmpty());
  host_.make("a");

  EXPECT_THAT(take({report("a", "/pod")}), ElementsAre(NamedCgroup{kGone, "/gone"}, report("a")));
}

TEST_F(ReportedPathsTest, DoNotWaitForMoreThanAMinute) {
  take({{kGone, "/pod/gone"}});
  take({{kGone + 1, "/pod/late"}}, kStart + 59s);
  take({}, kStart + 60s);

  EXPECT_THAT(take({{host_.inode(""), "/pod"}}, kStart + 61s),
              ElementsAre(NamedCgroup{kGone + 1, "/late"}, NamedCgroup{host_.inode(""), "/"}));
}

TEST_F(ReportedPathsTest, OfABoundedNumberWait) {
  for (std::uint64_t i = 0; i < 5000; ++i) take({{kGone + i, "/pod/x" + std::to_string(i)}});

  const Reports placed = take({{host_.inode(""), "/pod"}});

  EXPECT_LT(placed.size(), 1500U);
  EXPECT_EQ(placed[placed.size() - 2], (NamedCgroup{kGone + 4999, "/x4999"}));
}

}  // namespace
}  // namespace pex::cgroup::reported_paths_test
