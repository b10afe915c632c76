#include "support/test_headers.h"
#include "unit/cgroup/patterns.h"

namespace pex::cgroup::glob_test {
namespace {

TEST(GlobTest, MatchesByComponents) {
  const PatternRow rows[] = {
      {"/system.slice", "/system.slice", true},
      {"/system.slice", "/system.slice/a", false},
      {"/system.slice", "/", false},
      {"/system.slice", "/system_slice", false},
      {"/", "/", true},
      {"/", "/a", false},
      {"/*", "/a", true},
      {"/*", "/", false},
      {"/*", "/a/b", false},
      {"/a/*.service", "/a/x.service", true},
      {"/a/*.service", "/a/.service", true},
      {"/a/*.service", "/a/x.services", false},
      {"/a/*.service", "/a/b/x.service", false},
      {"/a/*-*-*", "/a/1-2-3-4", true},
      {"/a/*-*-*", "/a/1-2", false},
      {"/a/x*y*z", "/a/xz", false},
      {"/a/x*y*z", "/a/x-y-y-z", true},
      {"/a?", "/ab", true},
      {"/a?", "/a", false},
      {"/a?", "/abc", false},
      {"/a?b", "/a/b", false},
      {"/a**b", "/axxb", true},
      {"/a**b", "/a/b", false},
      {"/a/**", "/a", false},
      {"/a/**", "/a/b", true},
      {"/a/**", "/a/b/c/d", true},
      {"/a/**", "/b/a/c", false},
      {"/**", "/", false},
      {"/**", "/a", true},
      {"/**", "/a/b/c", true},
      {"/**/b", "/b", true},
      {"/**/b", "/a/b", true},
      {"/**/b", "/a/a/b", true},
      {"/**/b", "/a/b/a", false},
      {"/a/**/b", "/a/b", true},
      {"/a/**/b", "/a/x/y/b", true},
      {"/a/**/b", "/a/x/b/y", false},
      {"/a/**/b/*", "/a/b/b/c", true},
      {"/a/**/b/**", "/a/b/c", true},
      {"/a/**/b/**", "/a/x/b", false},
      {"/a/**/**", "/a", false},
      {"/a/**/**", "/a/b", true},
      {"/**/pod*/*", "/kubepods.slice/kubepods-burstable.slice/pod12/cri-1", true},
      {"/[a]", "/a", false},
      {"/[a]", "/[a]", true},
      {"/a\\*", "/a\\b", true},
      {"/a+b.(c)$", "/a+b.(c)$", true},
      {"/a+b.(c)$", "/aab.c", false},
      {"/***", "/", false},
      {"/***", "/a", true},
      {"/***", "/a/b", false},
      {"/a*b", "/a\nb", true},
      {"/a?b", "/a\nb", true},
      // Characters rather than bytes; a byte that is none is one as well.
      {"/gr??e", "/größe", true},
      {"/gr????e", "/größe", false},
      {"/größe", "/größe", true},
      {"/a?", "/a\xff", true},
      {"/a?", "/a\xff\xfe", false},
      {"/a*", "/a\xff\xfe", true},
  };

  expect_of_each(&Pattern::matches, rows);
}

TEST(GlobTest, ReportsWhereAWalkNeedNotGoOn) {
  const PatternRow rows[] = {
      {"/a/b", "/", true},       {"/a/b", "/a", true},      {"/a/b", "/a/b", false},
      {"/a/b", "/b", false},     {"/a/b", "/a/b/c", false}, {"/*/b", "/x", true},
      {"/*/b", "/x/b", false},   {"/a*/b", "/b", false},    {"/a/**", "/a", true},
      {"/a/**", "/a/b/c", true}, {"/a/**", "/b", false},    {"/**/b", "/x/y/z", true},
      {"/a/**/b", "/a/b", true}, {"/", "/", false},         {"/a", "/", true},
  };

  expect_of_each(&Pattern::may_match_below, rows);
}

TEST(GlobTest, IsRefusedWhereItIsNotUtf8) {
  const Result<Pattern> refused = Pattern::parse("/a\xff");

  ASSERT_FALSE(refused);
  EXPECT_EQ(describe(refused.error()),
            "cannot be compiled: invalid UTF-8. Remedy: write a shorter one, in UTF-8");
}

// The longest that a configuration may hold.
TEST(GlobTest, OfAThousandBytesIsTaken) {
  for (const std::string part : {"?", "a*", "/*", "/a", "ä"}) {
    std::string text = "/";
    while (text.size() + part.size() < 1024) text += part;
    if (part.starts_with('/')) text = text.substr(1);
    EXPECT_TRUE(Pattern::parse(text)) << part;
  }
}

// A matcher that backtracks would never return.
TEST(GlobTest, EndsOnHostilePatterns) {
  std::string stars = "/";
  std::string deep = "";
  std::string deep_path = "";
  for (int i = 0; i < 100; ++i) {
    stars += "a*";
    deep += "/**/a";
    deep_path += "/a/a";
  }
  const std::string long_name = "/" + std::string(4000, 'a');

  EXPECT_FALSE(pattern(stars + "b").matches(long_name));
  EXPECT_TRUE(pattern(stars).matches(long_name));
  EXPECT_FALSE(pattern(deep + "/b").matches(deep_path));
  EXPECT_TRUE(pattern(deep).matches(deep_path));
  EXPECT_FALSE(pattern("/**/" + std::string(2000, '*') + "b").matches(long_name + long_name));
}

using Components = std::vector<std::string>;

bool name_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return name_matches(pattern.substr(1), name) ||
           (!name.empty() && name_matches(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         name_matches(pattern.substr(1), name.substr(1));
}

/// The documented meaning, in the plainest form and with no care for time.
bool plainly_matches(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern.front() == "**") {
    const bool takes_none = pattern.size() > 1 && plainly_matches(pattern.subspan(1), path);
    const bool is_last_of_path = pattern.size() == 1 && path.size() == 1;
    return takes_none || is_last_of_path ||
           (!path.empty() && plainly_matches(pattern, path.subspan(1)));
  }
  return !path.empty() && name_matches(pattern.front(), path.front()) &&
         plainly_matches(pattern.subspan(1), path.subspan(1));
}

rc::Gen<Components> patterns() {
  return rc::gen::resize(6, rc::gen::container<Components>(rc::gen::element<std::string>(
                                "a", "b", "ab", "*", "a*", "*b", "?", "a?", "**", "**")));
}

rc::Gen<Components> paths() {
  return rc::gen::resize(6, rc::gen::container<Components>(
                                rc::gen::element<std::string>("a", "b", "ab", "ba", "aab")));
}

RC_GTEST_PROP(GlobTest, MatchesWhatTheDocumentedMeaningMatches, ()) {
  const Components glob = *patterns();
  const Components path = *paths();

  RC_ASSERT(pattern(path_of(glob)).matches(path_of(path)) == plainly_matches(glob, path));
}

RC_GTEST_PROP(GlobTest, MayMatchBelowEveryAncestorOfAMatch, ()) {
  const Components path = *paths();
  const Pattern glob = pattern(path_of(*patterns()));
  if (!glob.matches(path_of(path))) return;

  for (std::size_t length = 0; length < path.size(); ++length) {
    RC_ASSERT(glob.may_match_below(path_of(std::span(path).first(length))));
  }
}

}  // namespace
}  // namespace pex::cgroup::glob_test
