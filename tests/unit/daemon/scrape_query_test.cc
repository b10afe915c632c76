#include "daemon/web/scrape_query.h"

#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using exposition::Selection;

const std::set<std::string, std::less<>> kKnown = {"core", "exporter", "soft"};

Result<Selection> select(std::string_view query) { return selection_of(query, kKnown); }

TEST(ScrapeQueryTest, ChoosesAllWhenNothingIsAskedFor) {
  EXPECT_EQ(*select(""), Selection{});
  EXPECT_EQ(*select("debug=1&collect=core"), Selection{});
}

TEST(ScrapeQueryTest, ChoosesWhatIsNamed) {
  EXPECT_EQ(*select("collect[]=core"), (Selection{Selection::Rule::kOnly, {"core"}}));
  EXPECT_EQ(*select("collect%5B%5D=soft&x=y&collect[]=core&collect[]=core"),
            (Selection{Selection::Rule::kOnly, {"core", "soft"}}));
  EXPECT_EQ(*select("exclude[]=exporter"), (Selection{Selection::Rule::kAllBut, {"exporter"}}));
}

TEST(ScrapeQueryTest, RefusesWhatIsNoGroup) {
  for (const char* query : {"collect[]=cores", "collect[]=", "exclude[]=core&exclude[]=x"}) {
    EXPECT_FALSE(select(query)) << query;
  }
  EXPECT_EQ(describe(select("collect[]=a").error()),
            "a group in collect[] or exclude[] is not configured. Remedy: write one of core, "
            "exporter, soft");
}

TEST(ScrapeQueryTest, RepeatsNothingOfWhatItRefuses) {
  for (const char* query :
       {"collect[]=%3Cscript%3E", "exclude[]=%3Cscript%3E", "collect[]=core&collect[]=%00%1b[2J",
        "collect[]=%3Cscript%3E&exclude[]=%3Cscript%3E"}) {
    const std::string text = describe(select(query).error());
    EXPECT_EQ(text.find_first_of("<>%"), std::string::npos) << text;
    EXPECT_EQ(text.find("script"), std::string::npos) << text;
    EXPECT_EQ(text.find_first_of(std::string_view{"\0\x1b", 2}), std::string::npos) << text;
  }
}

TEST(ScrapeQueryTest, RefusesBothAtOnce) { EXPECT_FALSE(select("collect[]=core&exclude[]=soft")); }

}  // namespace
}  // namespace pex::daemon
