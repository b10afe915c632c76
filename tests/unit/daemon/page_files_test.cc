#include "daemon/status/page_files.h"

#include <iterator>

#include "cgroup/path_info.h"
#include "history/activity.h"
#include "support/test_headers.h"

namespace pex::daemon {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string content_of(std::string_view path) {
  for (const PageFile& file : kPageFiles) {
    if (file.path == path) return std::string(file.content);
  }
  ADD_FAILURE() << path << " is not served";
  return {};
}

std::string read_source(const std::string& name) {
  std::ifstream file{PEX_SOURCE_DIR "/daemon/status/page/" + name};
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PageFilesTest, AreThoseOfTheSourceTree) {
  EXPECT_EQ(content_of("/"), read_source("index.html"));
  EXPECT_EQ(content_of("/page.css"), read_source("page.css"));
  EXPECT_EQ(content_of("/page.js"), read_source("page.js"));
}

TEST(PageFilesTest, ThePageHasNothingInlineThatItsPolicyRefuses) {
  const std::string page = content_of("/");

  EXPECT_THAT(page, Not(HasSubstr("<style")));
  EXPECT_THAT(page, Not(ContainsRegex("<script[^>]*>[^<]")));
  EXPECT_THAT(page, Not(ContainsRegex(" (style|on[a-z]+)=")));
}

/// Whatever comes from outside stays text because the script has no way to make markup of it.
TEST(PageFilesTest, TheScriptMakesNoMarkupFromStrings) {
  const std::string script = content_of("/page.js");

  for (const char* sink :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "setHTML", "srcdoc", "document.write",
        "DOMParser", "createContextualFragment", "eval(", "Function(", "javascript:"}) {
    EXPECT_THAT(script, Not(HasSubstr(sink)));
  }
}

/// An absolute one would not hold behind a proxy that serves the page below a path of its own.
TEST(PageFilesTest, EveryAddressIsRelative) {
  EXPECT_THAT(content_of("/"), Not(ContainsRegex("(href|src)=\"/")));
  EXPECT_THAT(content_of("/page.css"), Not(HasSubstr("url(")));
  EXPECT_THAT(content_of("/page.js"), Not(ContainsRegex("(fetch|import)\\(\"/")));
}

TEST(PageFilesTest, AChartIsAsWideAsAllPointsThatAreKept) {
  const auto window = history::Activity::kPoints * history::Activity::kSpacing;

  EXPECT_THAT(content_of("/page.js"),
              HasSubstr("const wholeWindow = " + std::to_string(window.count()) + ";"));
}

/// All others are by rules of the configuration, and are shown.
TEST(PageFilesTest, TheScriptKnowsTheLabelsThatComeFromThePath) {
  const std::string script = content_of("/page.js");
  const std::size_t begin = script.find("const labelsOfPath = ");
  ASSERT_NE(begin, script.npos);
  const std::string labels = script.substr(begin, script.find(';', begin) - begin);

  for (const cgroup::PathLabel& each : cgroup::kPathLabels) {
    EXPECT_THAT(labels, HasSubstr("\"" + std::string(each.label) + "\""));
  }
}

TEST(PageFilesTest, ThePolicyAllowsItsOwnFilesAndNothingElse) {
  const std::string policy{kPagePolicy};

  EXPECT_THAT(policy, HasSubstr("default-src 'none';"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("style-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("require-trusted-types-for 'script'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace pex::daemon
