#include "cgroup/label_rules.h"

#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// The rule that an operator writes as {match: MATCH, set: {LABEL: VALUE, ...}}.
LabelRules::Rule rule(const std::string& match, const std::vector<Label>& set) {
  LabelRules::Rule made{*Pattern::parse(match), {}};
  for (const auto& [label, value] : set) {
    made.set.push_back({label, *Template::parse(value, made.match.groups())});
  }
  return made;
}

TEST(TemplateTest, PutsWhatWasCapturedInItsPlace) {
  struct Row {
    const char* text;
    const char* filled;
  };
  const Row rows[] = {
      {"", ""},       {"web", "web"},  {"$1", "a"},    {"$2-$1", "b-a"},
      {"$1$1", "aa"}, {"$0", "/a/b/"}, {"<$3>", "<>"}, {"$12", "a2"},
      {"$$1", "$1"},  {"1$$", "1$"},   {"$$$1", "$a"}, {"grö$1e", "gröae"},
  };

  for (const Row& row : rows) {
    const Result<Template> made = Template::parse(row.text, 3);
    ASSERT_TRUE(made) << row.text;
    EXPECT_EQ(made->fill({"/a/b/", "a", "b", ""}), row.filled) << row.text;
  }
}

TEST(TemplateTest, RefusesADollarThatStandsForNothing) {
  for (const char* text : {"$", "a$", "$x", "${1}", "$ 1", "$-1", "$$$", "$\xc3\xa4"}) {
    const Result<Template> made = Template::parse(text, 9);

    ASSERT_FALSE(made) << text;
    EXPECT_EQ(describe(made.error()),
              "contains a '$' without a meaning. Remedy: write $1 to $9 for a group, $0 for the "
              "whole path, $$ for a dollar")
        << text;
  }
}

TEST(TemplateTest, RefusesAGroupThatThePatternLacks) {
  const std::string remedy =
      ". Remedy: add a group in parentheses to the pattern, which must start with re:";

  EXPECT_EQ(describe(Template::parse("$1", 0).error()),
            "contains $1, and its pattern has no groups" + remedy);
  EXPECT_EQ(describe(Template::parse("$1-$2", 1).error()),
            "contains $2, and its pattern has one group" + remedy);
  EXPECT_EQ(describe(Template::parse("$9", 8).error()),
            "contains $9, and its pattern has 8 groups" + remedy);
  EXPECT_TRUE(Template::parse("$9", 9));
  EXPECT_TRUE(Template::parse("$0", 0));
}

TEST(LabelRulesTest, GiveNothingWhereNoneMatches) {
  EXPECT_THAT(LabelRules().labels_of("/a"), IsEmpty());
  EXPECT_THAT(LabelRules({rule("/a", {{"team", "web"}})}).labels_of("/b"), IsEmpty());
}

TEST(LabelRulesTest, GiveTheLabelsOfEveryRuleThatMatchesByName) {
  const LabelRules rules({
      rule("re:/system\\.slice/(.+)-(db|web)\\.service", {{"tier", "$2"}, {"app", "$1"}}),
      rule("/user.slice/*", {{"app", "none"}}),
      rule("/system.slice/*", {{"kind", "service"}}),
  });

  EXPECT_THAT(rules.labels_of("/system.slice/shop-db.service"),
              ElementsAre(Pair("app", "shop"), Pair("kind", "service"), Pair("tier", "db")));
}

TEST(LabelRulesTest, KeepTheFirstOfTwoThatSetOneLabel) {
  const LabelRules rules({rule("/a/*", {{"team", "first"}}), rule("/**", {{"team", "second"}})});

  EXPECT_THAT(rules.labels_of("/a/x"), ElementsAre(Pair("team", "first")));
  EXPECT_THAT(rules.labels_of("/b"), ElementsAre(Pair("team", "second")));
}

TEST(LabelRulesTest, LeaveALabelToLaterRulesWhereItsValueIsEmpty) {
  const LabelRules rules(
      {rule("re:/(a)?.*", {{"team", "$1"}}), rule("re:/(c)?.*", {{"team", "$1"}, {"x", "$1"}})});

  EXPECT_THAT(rules.labels_of("/a"), ElementsAre(Pair("team", "a")));
  EXPECT_THAT(rules.labels_of("/c"), ElementsAre(Pair("team", "c"), Pair("x", "c")));
  EXPECT_THAT(rules.labels_of("/d"), IsEmpty());
}

TEST(LabelRulesTest, KeepTheBytesOfAPathThatAreNoCharacters) {
  const LabelRules rules({rule("re:/(.+)", {{"name", "$1"}})});

  EXPECT_THAT(rules.labels_of("/a\xff"), ElementsAre(Pair("name", "a\xff")));
}

}  // namespace
}  // namespace pex::cgroup
