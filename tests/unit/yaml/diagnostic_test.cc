#include "yaml/diagnostic.h"

#include <cerrno>

#include "support/test_headers.h"

namespace pex::yaml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& each : diagnostics) all.push_back(describe(each));
  return all;
}

TEST(DiagnosticTest, LeavesOutThePlaceAndTheKeyWhenThereIsNone) {
  EXPECT_EQ(describe({{"c.yaml", 14, 13, "a.b"}, "is wrong", "change it"}),
            "c.yaml:14:13: a.b: is wrong. Remedy: change it");
  EXPECT_EQ(describe({{"c.yaml", 14, 13, ""}, "is wrong"}), "c.yaml:14:13: is wrong");
  EXPECT_EQ(describe({{"c.yaml", 0, 0, ""}, "is wrong"}), "c.yaml: is wrong");
  EXPECT_EQ(describe({{}, "is wrong"}), "is wrong");
}

TEST(DiagnosticTest, KeepsAllOfTheErrorThatItIsMadeOf) {
  const Error error{ENOENT, "read 'x'", "create it"};

  EXPECT_EQ(error_of(diagnostic_of(error)), error);
  EXPECT_EQ(describe(diagnostic_of(error)),
            "read 'x': No such file or directory (ENOENT). Remedy: create it");
}

TEST(DiagnosticTest, HasItsPlaceInFrontOfWhatWasAttempted) {
  Diagnostic unreadable = diagnostic_of({EACCES, "read 'x'", {}});
  unreadable.position = {"c.yaml", 2, 3, "cpus"};

  EXPECT_EQ(describe(unreadable), "c.yaml:2:3: cpus: read 'x': Permission denied (EACCES)");
}

TEST(DiagnosticsTest, AreInTheOrderOfTheFileWhateverOrderTheyWereFoundIn) {
  Diagnostics found;
  found.add({{}, "of no file"});
  found.add({{"c", 9, 1, {}}, "third"});
  found.add({{"c", 1, 8, {}}, "second"});
  found.add_all({{{"c", 1, 7, {}}, "first"}, {{"c", 9, 1, {}}, "fourth"}});

  EXPECT_THAT(lines(found.errors()), ElementsAre("c:1:7: first", "c:1:8: second", "c:9:1: third",
                                                 "c:9:1: fourth", "of no file"));
}

TEST(DiagnosticsTest, DistinguishWarningsFromErrors) {
  Diagnostics found;
  found.add(warning("has no effect", {}));

  EXPECT_FALSE(found.has_errors());
  EXPECT_THAT(found.errors(), IsEmpty());
  EXPECT_THAT(lines(found.warnings()), ElementsAre("has no effect"));
}

TEST(DiagnosticsTest, AreAHundredOfEachKindAndTheNumberOfTheOthers) {
  Diagnostics found;
  for (int line = 1; line <= 102; ++line) found.add({{"c", line, 1, {}}, "wrong"});
  for (int line = 1; line <= 101; ++line) {
    found.add({{"c", line, 1, {}}, "odd", {}, Severity::kWarning});
  }

  EXPECT_EQ(found.error_count(), 102U);
  ASSERT_EQ(found.errors().size(), 101U);
  EXPECT_EQ(describe(found.errors().back()),
            "c: and 2 more errors. Remedy: correct those above first");
  ASSERT_EQ(found.warnings().size(), 101U);
  EXPECT_EQ(found.warnings().back().severity, Severity::kWarning);
}

}  // namespace
}  // namespace pex::yaml
