// g++ 12 takes parts of std::regex's automaton for uninitialized where AddressSanitizer is in it.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "daemon/status/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "access/source_hash.h"
#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"
#include "daemon/status/sparkline.h"
#include "daemon/status/status_assets.h"
#include "unit/daemon/statuses.h"

namespace pex::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

constexpr const char* kHostile = "/a&b<script>alert(1)</script>\"'\n\xff";
constexpr const char* kHostileEscaped =
    "a&amp;b&lt;script&gt;alert(1)&lt;/<wbr>script&gt;&quot;&#39;\u240a\uFFFDff";

TEST(HtmlTextTest, LeavesNothingThatHtmlWouldTakeForItsOwn) {
  EXPECT_EQ(html("<a href=\"x\" id='y'>&"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
}

TEST(HtmlTextTest, ShowsControlCharactersAndBrokenUtf8) {
  EXPECT_EQ(html("a\n\t\x1b\x7f\xff"), "a\u240a\u2409\u241b\u2421\uFFFDff");
  EXPECT_EQ(html("\u00e4\u20ac"), "\u00e4\u20ac");
}

TEST(HtmlTextTest, APathMayBeBrokenAfterItsSlashesAndIsOtherwiseTheSame) {
  EXPECT_EQ(html_path("/a/b<"), "/a/<wbr>b&lt;");
  EXPECT_EQ(html_path("/"), "/");
  EXPECT_EQ(html_path(""), "");
  EXPECT_EQ(html_path("a/"), "a/");
}

TEST(FiguresTest, HaveThreeDigitsAndAPrefix) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(0.0001), "under\u00a00.001");
  EXPECT_EQ(figure(0.0042), "0.004");
  EXPECT_EQ(figure(1.3456), "1.35");
  EXPECT_EQ(figure(24.06), "24.1");
  EXPECT_EQ(figure(999.4), "999");
  EXPECT_EQ(figure(999.9), "1.00\u00a0k");
  EXPECT_EQ(figure(3.214e9), "3.21\u00a0G");
  EXPECT_EQ(figure(1e30), "1000000000000\u00a0E");
}

TEST(FiguresTest, OnlyAllIsAHundredPercentAndOnlyNothingIsZero) {
  EXPECT_EQ(percent(1), "100\u00a0%");
  EXPECT_EQ(percent(0.99999), "99.9\u00a0%");
  EXPECT_EQ(percent(0.632), "63.2\u00a0%");
  EXPECT_EQ(percent(0.00001), "under\u00a00.1\u00a0%");
  EXPECT_EQ(percent(0), "0\u00a0%");
}

TEST(FiguresTest, DurationsAreInOneOrTwoUnits) {
  EXPECT_EQ(duration_text(microseconds{640}), "640\u00a0\u00b5s");
  EXPECT_EQ(duration_text(microseconds{3214}), "3.21\u00a0ms");
  EXPECT_EQ(duration_text(milliseconds{1250}), "1.25\u00a0s");
  EXPECT_EQ(duration_text(seconds{42}), "42\u00a0s");
  EXPECT_EQ(duration_text(seconds{245}), "4\u00a0min 5\u00a0s");
  EXPECT_EQ(duration_text(seconds{3 * 3600}), "3\u00a0h");
  EXPECT_EQ(duration_text(seconds{9 * 86'400 + 6 * 3600 + 59}), "9\u00a0d 6\u00a0h");
  EXPECT_EQ(age_text(milliseconds{400}), "under 1\u00a0s");
  EXPECT_EQ(age_text(milliseconds{1999}), "1\u00a0s");
  EXPECT_EQ(count_text(1'234'567), "1\u202f234\u202f567");
  EXPECT_EQ(count_text(123), "123");
  EXPECT_EQ(iso_time(kNow.at), "2026-09-21T14:13:20Z");
}

std::string path_of(const std::string& svg, const std::string& style) {
  const std::regex path{"class=\"" + style + "\" d=\"([^\"]*)\""};
  std::smatch match;
  return std::regex_search(svg, match, path) ? match[1].str() : "no path";
}

std::vector<double> numbers_in(const std::string& path) {
  static const std::regex number{"-?[0-9.]+"};
  std::vector<double> numbers;
  for (std::sregex_iterator at{path.begin(), path.end(), number}, end; at != end; ++at) {
    numbers.push_back(std::stod(at->str()));
  }
  return numbers;
}

std::vector<history::Activity::Seconds> ages(std::size_t points) {
  std::vector<history::Activity::Seconds> ages;
  while (points-- > 0) ages.push_back(points * history::Activity::kSpacing);
  return ages;
}

TEST(SparklineTest, StaysWithinItsBoxWhateverTheValues) {
  const history::Activity::Points wild{0.0, 1e300, -5.0, 1e-300, 3.0};
  const std::vector<history::Activity::Seconds> far{seconds{99'999}, seconds{300}, seconds{5},
                                                    seconds{0}, seconds{-7}};

  const std::string svg = sparkline("CPUs", wild, far, seconds{300});

  for (const std::string style : {"line", "area"}) {
    const std::vector<double> numbers = numbers_in(path_of(svg, style));
    ASSERT_FALSE(numbers.empty());
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
      EXPECT_THAT(numbers[i], AllOf(Ge(0), Le(120)));
      EXPECT_THAT(numbers[i + 1], AllOf(Ge(0), Le(24)));
    }
  }
}

TEST(SparklineTest, TheNewestPointIsOnTheRightAndTheHighestOnTop) {
  const std::string line = path_of(sparkline("CPUs", {2.0, 1.0}, ages(2), seconds{10}), "line");

  EXPECT_EQ(line, "M116.1 2.0L116.1 2.0L118.0 12.0");
}

TEST(SparklineTest, WhatIsNotKnownIsAGapAndNotZero) {
  const std::string svg = sparkline("CPUs", {1.0, std::nullopt, 1.0}, ages(3), seconds{15});

  EXPECT_THAT(path_of(svg, "line"), ::testing::MatchesRegex("M[^M]*M[^M]*"));
  EXPECT_THAT(path_of(svg, "line"), Not(HasSubstr("22.0")));
}

TEST(SparklineTest, IsReadOutInWords) {
  EXPECT_THAT(
      sparkline("CPUs used", {0.5, 2.0, 1.0}, ages(3), seconds{15}),
      HasSubstr("aria-label=\"CPUs used over the last 15\u00a0s: now 1.00, at most 2.00\""));
  EXPECT_THAT(sparkline("CPUs used", {1.0, std::nullopt}, ages(2), seconds{10}),
              HasSubstr("now unknown, at most 1.00"));
  EXPECT_THAT(sparkline("CPUs used", {std::nullopt}, ages(1), seconds{5}),
              HasSubstr("aria-label=\"CPUs used: unknown\""));
  EXPECT_THAT(sparkline("CPUs used", {}, {}, seconds{0}), HasSubstr("CPUs used: unknown"));
}

TEST(SparklineTest, ABarIsNeverLongerThanItsTrack) {
  EXPECT_THAT(bar(7), HasSubstr("width=\"100.0\""));
  EXPECT_THAT(bar(-1), HasSubstr("width=\"0.0\""));
}

TEST(StatusPageTest, EscapesWhateverComesFromOutside) {
  Status status = full_status();
  status.version = kHostile;
  status.telemetry_path = kHostile;
  status.remarks = {kHostile};
  status.not_counted = {{{kHostile}, {kHostile}, 0, kHostile, kHostile}};
  status.groups[0].name = status.groups[0].pmu = status.groups[0].events[0].name = kHostile;
  status.use.cgroups[0].path = kHostile;
  status.use.cgroups[0].labels = {{"pod", kHostile}};
  status.cgroups->left_out_by = kHostile;
  status.cgroups->left_out_paths = {kHostile};
  status.machine->pmus[0].name = status.reference[0] = kHostile;
  status.configuration.file = kHostile;
  status.configuration.mistakes = {kHostile};
  WebConfigurationLoad& web = *status.web_configuration;
  web.load.file = web.protections[0].state = kHostile;
  web.load.mistakes = web.downgrades = {kHostile};

  const std::string page = status_page(status);

  EXPECT_THAT(page, HasSubstr(kHostileEscaped));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("\"'")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
}

TEST(StatusPageTest, ShowsWhichProtectionsAreInForceAndWhyTheFileIsNot) {
  const std::string page = status_page(full_status());

  EXPECT_THAT(page, HasSubstr("Not reloaded:</strong> the last <a id=\"to-web-configuration\""));
  EXPECT_THAT(page, HasSubstr("<dt><code>users</code></dt><dd>2 users</dd>"));
  EXPECT_THAT(page, HasSubstr("web.yaml: it would open the server"));
  EXPECT_THAT(page, HasSubstr("rate_limit from 1 request in 1s, burst 5 to no limit"));
  EXPECT_THAT(status_page(empty_status()), Not(HasSubstr("web-configuration")));
}

TEST(StatusPageTest, HasNothingThatItsPolicyRefuses) {
  for (const Status& status : {empty_status(), full_status()}) {
    const std::string page = status_page(status);
    EXPECT_THAT(page, Not(HasSubstr(" style=")));
    EXPECT_THAT(page, Not(::testing::ContainsRegex(" on[a-z]+=")));
    EXPECT_THAT(page, HasSubstr("<style>" + std::string(kStatusStyle) + "</style>"));
    EXPECT_THAT(page, HasSubstr("<script>" + std::string(kStatusScript) + "</script>"));
  }
}

TEST(StatusPageTest, ItsPolicyAllowsItsOwnStyleAndScriptAndNoOther) {
  const std::string policy = content_security_policy();

  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("style-src " + access::source_hash(kStatusStyle) + ";"));
  EXPECT_THAT(policy, HasSubstr("script-src " + access::source_hash(kStatusScript) + ";"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

TEST(StatusPageTest, NoTextOfItsStyleOrScriptEndsItEarly) {
  EXPECT_EQ(kStatusStyle.find("</"), kStatusStyle.npos);
  EXPECT_EQ(kStatusScript.find("</"), kStatusScript.npos);
}

TEST(StatusPageTest, BeforeTheFirstPollSaysThatThereAreNoNumbersYet) {
  Status status = empty_status();
  status.groups = {group_before_the_first_poll()};

  const std::string page = status_page(status);

  EXPECT_THAT(page, HasSubstr("The first poll has not ended yet."));
  EXPECT_THAT(page, HasSubstr("Nothing has been read yet."));
  EXPECT_THAT(page, HasSubstr("none yet"));
  for (const std::string name :
       {"CPUs online", "Cgroups counted", "Series", "Counted", "Waiting to be opened",
        "Gone, and lingering", "Left out", "Unreadable"}) {
    EXPECT_THAT(page, HasSubstr("<dt>" + name + "</dt><dd>" + unknown_html()));
  }
  for (const std::string set_by : {"limits.max_open_events", "limits.max_series", "cgroups.max"}) {
    EXPECT_THAT(page, ::testing::ContainsRegex(set_by + "</small></th><td[^>]*><div>" +
                                               unknown_html() + "</div>"));
  }
  EXPECT_THAT(page, HasSubstr("data-label=\"Targets\"><div>" + unknown_html()));
}

TEST(StatusPageTest, ThatThereIsNoTargetIsNotUnknown) {
  Status status = full_status();
  status.groups = {group_in_turns(Scope::kCgroup)};
  status.groups[0].targets = Status::Targets{};

  EXPECT_THAT(status_page(status),
              HasSubstr("data-label=\"Targets\"><div><span class=\"soft\">none</span>"));
}

TEST(StatusPageTest, SaysSoWhenNothingCanBeCounted) {
  Status status = full_status();
  status.groups.clear();
  status.use.cgroups.clear();
  status.cgroups = Status::Cgroups{};

  const std::string page = status_page(status);

  EXPECT_THAT(page, HasSubstr("Nothing is counted."));
  EXPECT_THAT(page, HasSubstr("No cgroup is counted."));
  EXPECT_THAT(page, HasSubstr("No such file or directory (ENOENT)"));
  EXPECT_THAT(page, HasSubstr("remove it"));
}

TEST(StatusPageTest, SaysUnknownWhereAValueIsNot) {
  Status status = full_status();
  status.use.cgroups[0].recent.instructions_per_cycle.reset();
  status.use.cgroups.push_back(busy_cgroup("/b"));
  status.use.cgroups[1].recent.cycles = 0;
  status.limits.open_files.reset();

  const std::string page = status_page(status);

  EXPECT_THAT(page, HasSubstr("data-label=\"IPC\"><div><span class=\"unknown\">unknown</span>"));
  EXPECT_THAT(page, HasSubstr("data-label=\"Cycles/s\"><div>0<"));
  EXPECT_THAT(page, HasSubstr("data-label=\"Now\"><div><span class=\"unknown\">unknown</span>"));
}

TEST(StatusPageTest, HasNoColumnOfWhichNothingIsKnown) {
  Status status = full_status();
  status.use.cgroups[0].recent = {0.75, {}, {}, {}};

  const std::string page = status_page(status);

  EXPECT_THAT(page, Not(HasSubstr("data-label=\"IPC\"")));
  EXPECT_THAT(page, HasSubstr("Instructions per cycle are not known."));
}

TEST(StatusPageTest, TellsCoverageAndTimeOnThePmuInNumbersBesideTheBars) {
  const std::string page = status_page(full_status());

  EXPECT_THAT(page, HasSubstr("6 of 8"));
  EXPECT_THAT(page, HasSubstr("50.0\u00a0%"));
  EXPECT_THAT(page, HasSubstr("63.2\u00a0% since it was loaded"));
  EXPECT_THAT(page, HasSubstr("150\u00a0ms filled from history"));
  EXPECT_THAT(page, HasSubstr("on cpu_core"));
}

TEST(StatusPageTest, AGroupThatNeverLosesThePmuSaysSo) {
  Status status = full_status();
  status.groups.resize(1);
  status.groups[0].times->running = status.groups[0].times->enabled;
  status.groups[0].recent_running_ratio = 1;
  EXPECT_THAT(status_page(status), HasSubstr("always on the PMU"));

  status.groups[0].shares_pmu = false;
  EXPECT_THAT(status_page(status), HasSubstr("always counting"));
}

TEST(StatusPageTest, TellsWhichSettingLeavesCgroupsOut) {
  EXPECT_THAT(status_page(full_status()),
              HasSubstr("2 match and are not counted, because of <code>cgroups.max</code>"));
}

TEST(StatusPageTest, TellsThatALoadFailedAndWhy) {
  const std::string page = status_page(full_status());

  EXPECT_THAT(page, HasSubstr("Not reloaded:"));
  EXPECT_THAT(page, HasSubstr("c.yaml:2:3: groups[0].events: there are none"));
}

/// What a tag of a table has to tell, also where a style displays it as something else.
std::string role_of(const std::string& tag, const std::string& attributes) {
  if (tag == "table") return "table";
  if (tag == "thead" || tag == "tbody") return "rowgroup";
  if (tag == "tr") return "row";
  if (tag == "td") return "cell";
  return attributes.find("scope=\"col\"") == attributes.npos ? "rowheader" : "columnheader";
}

TEST(StatusPageTest, EveryPartOfATableTellsItsRole) {
  const std::string page = status_page(full_status());
  static const std::regex part{"<(table|thead|tbody|tr|th|td)( [^>]*)?>"};
  std::size_t parts = 0;
  for (std::sregex_iterator at{page.begin(), page.end(), part}, end; at != end; ++at, ++parts) {
    const std::string attributes = (*at)[2];
    EXPECT_THAT(attributes, HasSubstr(" role=\"" + role_of((*at)[1], attributes) + "\""))
        << at->str();
  }
  EXPECT_GT(parts, 50U);
}

TEST(StatusPageTest, HasNoEmptyAttributes) {
  for (const Status& status : {empty_status(), full_status()}) {
    EXPECT_THAT(status_page(status), Not(HasSubstr("=\"\"")));
  }
}

TEST(StatusPageTest, EveryLinkWithinThePageHasItsPlace) {
  const std::string page = status_page(full_status());
  static const std::regex link{"href=\"#([^\"]+)\""};
  std::size_t links = 0;
  for (std::sregex_iterator at{page.begin(), page.end(), link}, end; at != end; ++at, ++links) {
    EXPECT_THAT(page, HasSubstr(" id=\"" + (*at)[1].str() + "\""));
  }
  EXPECT_GE(links, 4U);
}

}  // namespace
}  // namespace pex::daemon
