#include "daemon/doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>

namespace pex::daemon {
namespace {

using State = Finding::State;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(FindingsTest, AreLinesInColumnsWithWhatFollowsBelow) {
  const std::string text =
      format_findings({good("seccomp", "no filter"),
                       {State::kNote, "NMI watchdog", "on", "it holds a counter", "turn it off"},
                       unknown("cgroup times", "not known: no trial"),
                       {State::kBad, "CPUs", "none", "nothing counts", {}}});

  EXPECT_EQ(text,
            "ok       seccomp       no filter\n"
            "note     NMI watchdog  on\n"
            "         consequence   it holds a counter\n"
            "         remedy        turn it off\n"
            "unknown  cgroup times  not known: no trial\n"
            "bad      CPUs          none\n"
            "         consequence   nothing counts\n");
}

TEST(FindingsTest, WithoutAnyAreNoText) { EXPECT_EQ(format_findings({}), ""); }

TEST(FindingsTest, AreCountedByState) {
  const std::vector<Finding> findings = {
      good("a", "b"), {State::kBad, "c", "d", "e", "f"}, good("g", "h")};

  EXPECT_EQ(count(findings, State::kGood), 2U);
  EXPECT_EQ(count(findings, State::kNote), 0U);
  EXPECT_EQ(count(findings, State::kBad), 1U);
}

TEST(FindingsTest, ALongWordStaysWhole) {
  const std::string path(150, 'x');

  const std::vector<std::string> lines =
      lines_of(format_findings({good("subject", "see " + path + " there")}));

  EXPECT_THAT(lines, testing::ElementsAre(testing::EndsWith("see"), testing::EndsWith(path),
                                          testing::EndsWith("there")));
}

RC_GTEST_PROP(FindingsTest, NoLineIsLongAndNoWordIsLost, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::resize(20, word));
  std::string what;
  for (const std::string& one : words) what += one + " ";

  const std::string text = format_findings({good("subject", what)});

  for (const std::string& line : lines_of(text)) RC_ASSERT(line.size() <= 100U);
  std::istringstream expected{"ok subject " + what};
  std::istringstream printed{text};
  for (std::string one, other; expected >> one;) {
    RC_ASSERT(static_cast<bool>(printed >> other));
    RC_ASSERT(one == other);
  }
}

}  // namespace
}  // namespace pex::daemon
