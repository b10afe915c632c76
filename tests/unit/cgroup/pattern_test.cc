#include "cgroup/pattern.h"

#include "support/test_headers.h"
#include "unit/cgroup/patterns.h"

namespace pex::cgroup::pattern_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(PatternTest, MatchesTheWholePath) {
  const PatternRow rows[] = {
      {"/a/(b|c)", "/a/b", false},  // a glob, unlike the others
      {"re:/a", "/a", true},
      {"re:/a", "/a/b", false},
      {"re:/a", "/b/a", false},
      {"re:/a|/b", "/a", true},
      {"re:/a|/b", "/b", true},
      {"re:/a|/b", "/a/x", false},
      {"re:/a|/b", "/x/b", false},
      {"re:^/a$", "/a", true},
      {"re:/a.b", "/a/b", true},
      {"re:/a.b", "/axb", true},
      {"re:/a.b", "/ab", false},
      {"re:/a/.+", "/a", false},
      {"re:/a/.+", "/a/b/c", true},
      {"re:.*/b", "/a/b", true},
      {"re:/[^/]+", "/a", true},
      {"re:/[^/]+", "/a/b", false},
      {"re:/system\\.slice/.*", "/system.slice/a", true},
      {"re:/system\\.slice/.*", "/system_slice/a", false},
      {"re:/a\\\\x2d\\d", "/a\\x2d1", true},
      {"re:(?i)/A", "/a", true},
      {"re:/A", "/a", false},
      {"re:/", "/", true},
      {"re:.*", "/", true},
      // Characters rather than bytes.
      {"re:/gr.sse", "/gr\xc3\xb6sse", true},
      {"re:/[äö]x", "/\xc3\xa4x", true},
      {"re:/[äö]x", "/\xc3x", false},
      {"re:/ä?", "/", true},
      {"re:/\\pL+", "/\xe5\xa4\xa7\xe3\x81\x8d\xe3\x81\x95", true},
      // Bytes that are no characters: one each, and no letters.
      {"re:/a.z", "/a\xffz", true},
      {"re:/a.z", "/a\xff\xfez", false},
      {"re:/a..z", "/a\xff\xfez", true},
      {"re:/a..z", "/a\xe5\xa4z", true},
      {"re:/\\pL+", "/\xff", false},
      {"re:/[^/]+/b", "/\xff/b", true},
      {"re:/.", "/\xc0\xaf", false},      // a longer form of '/'
      {"re:/.", "/\xed\xa0\x80", false},  // half a pair of UTF-16
      {"re:/.", "/\xf4\x90\x80\x80", false},
      {"re:/.", "/\xf4\x8f\xbf\xbf", true},
  };

  expect_of_each(&Pattern::matches, rows);
}

TEST(PatternTest, ReportsWhereNothingCanMatch) {
  const PatternRow rows[] = {
      {"/**/b", "/x/y", true},
      {"re:/a/b", "/", true},
      {"re:/a/b", "/a", true},
      {"re:/a/b", "/a/b", false},
      {"re:/a/b", "/b", false},
      {"re:/a/b", "/ab", false},
      {"re:/a/b", "/a-", false},
      {"re:/a/?", "/a", false},
      {"re:/system\\.slice/(.+)-db\\.service", "/", true},
      {"re:/system\\.slice/(.+)-db\\.service", "/system.slice", true},
      {"re:/system\\.slice/(.+)-db\\.service", "/system.slice/a.slice", true},
      {"re:/system\\.slice/(.+)-db\\.service", "/user.slice", false},
      {"re:/system\\.slice/(.+)-db\\.service", "/system.slices", false},
      {"re:/system\\.slice/(.+)-db\\.service", "/system", false},
      {"re:/(a|c)/.*", "/a", true},
      {"re:/(a|c)/.*", "/c/x", true},
      {"re:/(a|c)/.*", "/d", false},
      {"re:/(a|c)/.*", "/b", true},  // between the two
      {"re:/a/.*|/c", "/a/x", true},
      {"re:/a/.*|/c", "/c", false},
      {"re:(?i)/ab/.*", "/Ab", true},
      {"re:(?i)/ab/.*", "/b", false},
      {"re:.*/b", "/x/y", true},
      {"re:/[^/]+/b", "/x", true},
      {"re:/größe/.*", "/größe", true},
      {"re:/größe/.*", "/groesse", false},
      {"re:/a./b", "/a\xff", true},
      {"re:/a./b", "/b\xff", false},
  };

  expect_of_each(&Pattern::may_match_below, rows);
}

TEST(PatternTest, ReportsWhereEverythingMatches) {
  const PatternRow rows[] = {
      {"/a/**", "/a", true},       {"/a/**", "/a/b/c", true}, {"/a/**", "/", false},
      {"/a/**", "/b", false},      {"/**", "/", true},        {"/**", "/a", true},
      {"/*/b/**", "/a/b", true},   {"/*/b/**", "/a", false},  {"/**/b/**", "/a/b/c", true},
      {"/**/b/**", "/a/c", false}, {"/a/*", "/a", false},     {"/a", "/a", false},
      {"/a/x**", "/a/x", false},   {"re:.*", "/a", false},
  };

  expect_of_each(&Pattern::matches_all_below, rows);
}

TEST(PatternTest, CapturesThePathAndThenItsGroups) {
  const Pattern two = pattern("re:/([^/]+)/(x)?.*");

  EXPECT_EQ(two.groups(), 2U);
  EXPECT_THAT(two.capture("/a/xy"), Optional(ElementsAre("/a/xy", "a", "x")));
  EXPECT_THAT(two.capture("/a/y"), Optional(ElementsAre("/a/y", "a", "")));
  EXPECT_EQ(two.capture("/a"), std::nullopt);
}

TEST(PatternTest, CapturesOnlyThePathForAGlob) {
  const Pattern glob = pattern("/a/*");

  EXPECT_EQ(glob.groups(), 0U);
  EXPECT_THAT(glob.capture("/a/b"), Optional(ElementsAre("/a/b")));
  EXPECT_EQ(glob.capture("/a"), std::nullopt);
}

TEST(PatternTest, CapturesBytesThatAreNoCharactersAsTheyAre) {
  EXPECT_THAT(pattern("re:/(.)(.)x").capture("/\xff\xc3\xa4x"),
              Optional(ElementsAre("/\xff\xc3\xa4x", "\xff", "\xc3\xa4")));
}

TEST(PatternTest, AgreesWithItsCopyWhenItIsGone) {
  std::optional<Pattern> original = pattern("re:/(a)");
  const Pattern copy = *original;
  original.reset();

  EXPECT_THAT(copy.capture("/a"), Optional(ElementsAre("/a", "a")));
}

TEST(PatternTest, RefusesWhatIsNoPatternAndReportsWhy) {
  struct Row {
    const char* text;
    const char* message;
  };
  const char* const no_slash =
      "does not start with '/'. Remedy: write the whole path below the cgroup mount";
  const char* const empty_name =
      "matches no path, as no name between slashes is empty. Remedy: remove the superfluous '/'";
  const char* const no_path =
      "matches no path, as each starts with '/'. Remedy: start it with '/', or with '.*/' for any "
      "depth";
  const Row rows[] = {
      {"", no_slash},
      {"a", no_slash},
      {"/a/", empty_name},
      {"/a//b", empty_name},
      {"re:", no_path},
      {"re:system\\.slice/.*", no_path},
      {"re:[^\\x00-\\x{10FFFF}]", no_path},
      {"re:/a(b",
       "is not a regular expression: missing ): /a(b. Remedy: add a ')', or write \\( for the "
       "character"},
      {"re:/ab)",
       "is not a regular expression: unexpected ): /ab). Remedy: remove a ')', or write \\) for "
       "the character"},
      {"re:/a[b",
       "is not a regular expression: missing ]: [b. Remedy: add a ']', or write \\[ for the "
       "character"},
      {"re:/[b-a]",
       "is not a regular expression: invalid character class range: b-a. Remedy: put the smaller "
       "end of a range first, a literal '-' last, and name a class as RE2 does: [[:alpha:]], "
       "\\pL"},
      {"re:*.service",
       "is not a regular expression: no argument for repetition operator: *. Remedy: write '.*' "
       "for any text: '*' means that only in a glob"},
      {"re:/a/**",
       "is not a regular expression: bad repetition operator: **. Remedy: write '.*' for any text: "
       "'**' means that only in a glob"},
      {"re:/a{1001}",
       "is not a regular expression: invalid repetition size: {1001}. Remedy: repeat 1000 times at "
       "most, or with '*' or '+' any number of times"},
      {"re:/a\\", "is not a regular expression: trailing \\. Remedy: write \\\\ for the character"},
      {"re:/(a)\\1",
       "is not a regular expression: invalid escape sequence: \\1. Remedy: remove the backslash; "
       "RE2 has no back-references such as \\1"},
      {"re:/(?!a).*",
       "is not a regular expression: invalid perl operator: (?!. Remedy: RE2 cannot look ahead or "
       "behind; leave out with 'exclude' instead"},
      {"re:/(?P<a-b>x)",
       "is not a regular expression: invalid named capture group: (?P<a-b>. Remedy: write a named "
       "group as (?P<name>...), each name once"},
      {"re:/\xff", "is not a regular expression: invalid UTF-8. Remedy: see the syntax of RE2"},
      {"re:/[\\pL\\pN]{1,64}",
       "is not a regular expression: pattern too large - compile failed. Remedy: write '*' or '+' "
       "in place of large numbers in braces"},
  };

  for (const Row& row : rows) {
    const Result<Pattern> parsed = Pattern::parse(row.text);
    EXPECT_EQ(parsed ? "taken" : describe(parsed.error()), row.message) << row.text;
  }
}

TEST(PatternTest, RepeatsNoLongTextInItsMessage) {
  const Result<Pattern> parsed = Pattern::parse("re:/(" + std::string(1000, 'a'));

  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().attempted, "is not a regular expression: missing )");
}

// A matcher that backtracks would never return.
TEST(PatternTest, EndsOnHostileExpressions) {
  const std::string long_path = "/" + std::string(4000, 'a');

  EXPECT_FALSE(pattern("re:/(a*)*b").matches(long_path));
  EXPECT_FALSE(pattern("re:/(a|aa)+b").matches(long_path));
  EXPECT_FALSE(pattern("re:/(.*.*.*.*.*.*)*b").matches(long_path));
  EXPECT_FALSE(pattern("re:/.*a.{12}b").matches(long_path));
}

using Components = std::vector<std::string>;

rc::Gen<Components> some_of(std::vector<std::string> parts) {
  return rc::gen::resize(6, rc::gen::container<Components>(rc::gen::elementOf(std::move(parts))));
}

rc::Gen<Components> paths() {
  return some_of({"a", "b", "A", "ab", "ba", "ä", "\xff", "\xe4", "~"});
}

std::string joined(const Components& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

/// Of parts that often match what `paths` makes.
rc::Gen<std::string> expressions() {
  return rc::gen::map(some_of({"/a", "/b", "/[ab]+", "/.*", "(/a|/b)", "(/[^/]+)*", "(?i:/ab?)",
                               "/.", "(/ä)?", "|", ".*", "/a{0,2}b*", "/[^a]", "~?"}),
                      [](const Components& parts) { return "re:" + joined(parts); });
}

/// Nothing for the few that are refused, as they match no path.
std::optional<Pattern> any_pattern() {
  const Result<Pattern> parsed = Pattern::parse(*expressions());
  if (!parsed) return {};
  return *parsed;
}

RC_GTEST_PROP(PatternTest, MayMatchBelowEveryAncestorOfAMatch, ()) {
  const std::optional<Pattern> expression = any_pattern();
  const auto many = *rc::gen::container<std::vector<Components>>(50, paths());
  if (!expression) return;

  for (const Components& path : many) {
    if (!expression->matches(path_of(path))) continue;
    for (std::size_t length = 0; length < path.size(); ++length) {
      RC_ASSERT(expression->may_match_below(path_of(std::span(path).first(length))));
    }
  }
}

RC_GTEST_PROP(PatternTest, CapturesExactlyWhenItMatches, ()) {
  const std::optional<Pattern> expression = any_pattern();
  const std::string path = path_of(*paths());
  if (!expression) return;

  const std::optional<std::vector<std::string>> captured = expression->capture(path);

  RC_ASSERT(captured.has_value() == expression->matches(path));
  if (!captured) return;
  RC_ASSERT(captured->size() == expression->groups() + 1);
  RC_ASSERT(captured->front() == path);
}

RC_GTEST_PROP(PatternTest, MatchesAnyBytesWithDots, (const std::string& bytes)) {
  RC_ASSERT(pattern("re:/.*").matches("/" + bytes));
}

RC_GTEST_PROP(PatternTest, MatchesAllThatIsBelowWhereItEndsInAWildcard, ()) {
  const Components beginning = *some_of({"a", "b", "ab", "*", "a*", "?", "**"});
  const Pattern glob = pattern(beginning.empty() ? "/**" : path_of(beginning) + "/**");
  const Components path = *paths();

  for (std::size_t length = 0; length < path.size(); ++length) {
    if (!glob.matches_all_below(path_of(std::span(path).first(length)))) continue;
    RC_ASSERT(glob.matches(path_of(path)));
  }
}

}  // namespace
}  // namespace pex::cgroup::pattern_test
