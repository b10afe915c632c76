#include "cgroup/selection.h"

#include "support/test_headers.h"
#include "unit/cgroup/patterns.h"

namespace pex::cgroup::selection_test {
namespace {

std::vector<Pattern> patterns(const std::vector<std::string>& texts) {
  std::vector<Pattern> all;
  for (const std::string& text : texts) all.push_back(pattern(text));
  return all;
}

Selection selection(const std::vector<std::string>& include,
                    const std::vector<std::string>& exclude = {}) {
  return {patterns(include), patterns(exclude)};
}

const std::string kId(64, 'a');

TEST(SelectionTest, WantsNothingUnlessItIsIncluded) {
  const Selection none;

  EXPECT_FALSE(none.matches("/a"));
  EXPECT_FALSE(none.may_match_below("/"));
}

TEST(SelectionTest, WantsWhatOnePatternIncludesAndNoneExcludes) {
  const Selection wanted = selection({"/a/*", "re:/b/.+"}, {"/a/x*", "re:/b/.*/secret"});

  EXPECT_TRUE(wanted.matches("/a/1"));
  EXPECT_TRUE(wanted.matches("/b/1/2"));
  EXPECT_FALSE(wanted.matches("/a/x1"));
  EXPECT_FALSE(wanted.matches("/b/1/secret"));
  EXPECT_FALSE(wanted.matches("/c"));
}

TEST(SelectionTest, NamesThePatternThatDecides) {
  const std::string helper = "/machine.slice/libpod-conmon-" + kId + ".scope";
  const Selection wanted = selection({"/a/*", "/**"}, {"/a/x*"});
  using Reason = Verdict::Reason;

  EXPECT_EQ(wanted.judge("/a/1").reason, Reason::kIncluded);
  EXPECT_EQ(wanted.judge("/a/1").pattern->text(), "/a/*");
  EXPECT_EQ(wanted.judge("/a/x1").reason, Reason::kExcluded);
  EXPECT_EQ(wanted.judge("/a/x1").pattern->text(), "/a/x*");
  EXPECT_EQ(wanted.judge(helper).reason, Reason::kHelper);
  EXPECT_EQ(Selection{}.judge("/a/1").reason, Reason::kNotIncluded);
  EXPECT_EQ(Selection{}.judge("/a/1").pattern, nullptr);
}

TEST(SelectionTest, WantsNoHelperOfAContainerUnlessAskedTo) {
  const std::string helper = "/machine.slice/libpod-conmon-" + kId + ".scope";
  Selection wanted = selection({"/machine.slice/*"});

  EXPECT_TRUE(wanted.matches("/machine.slice/libpod-" + kId + ".scope"));
  EXPECT_FALSE(wanted.matches(helper));
  wanted.helpers = true;
  EXPECT_TRUE(wanted.matches(helper));
}

TEST(SelectionTest, ReadsBelowWhatSomePatternMayIncludeBelow) {
  const Selection wanted = selection({"/a/*/x", "re:/b/.+"});

  EXPECT_TRUE(wanted.may_match_below("/"));
  EXPECT_TRUE(wanted.may_match_below("/a"));
  EXPECT_TRUE(wanted.may_match_below("/a/1"));
  EXPECT_TRUE(wanted.may_match_below("/b/1/2"));
  EXPECT_FALSE(wanted.may_match_below("/a/1/x"));
  EXPECT_FALSE(wanted.may_match_below("/c"));
}

TEST(SelectionTest, DoesNotReadBelowWhatIsExcludedWithAllBelowIt) {
  const Selection wanted = selection({"/**/*.service"}, {"/user.slice/**", "/a/*"});

  EXPECT_TRUE(wanted.may_match_below("/"));
  EXPECT_TRUE(wanted.may_match_below("/a/b"));  // it is excluded itself, and nothing more
  EXPECT_FALSE(wanted.may_match_below("/user.slice"));
  EXPECT_FALSE(wanted.may_match_below("/user.slice/user-0.slice"));
}

using Components = std::vector<std::string>;

rc::Gen<std::vector<std::string>> some_patterns() {
  return rc::gen::resize(
      3, rc::gen::container<std::vector<std::string>>(
             rc::gen::element<std::string>("/a", "/a/**", "/*/b", "/**/b", "/**", "re:/a.*",
                                           "re:/(a|b)/.*", "re:.*/b", "/a/b/**", "/*/b/**")));
}

RC_GTEST_PROP(SelectionTest, ReadsBelowEveryAncestorOfWhatItWants, ()) {
  const Selection wanted = selection(*some_patterns(), *some_patterns());
  const auto path = *rc::gen::resize(
      5, rc::gen::container<Components>(rc::gen::element<std::string>("a", "b", "c")));
  if (!wanted.matches(path_of(path))) return;

  for (std::size_t length = 0; length < path.size(); ++length) {
    RC_ASSERT(wanted.may_match_below(path_of(std::span(path).first(length))));
  }
}

}  // namespace
}  // namespace pex::cgroup::selection_test
