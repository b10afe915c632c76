#include "daemon/cli/words.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace pex::daemon {
namespace {

TEST(WordsTest, NameTheFlagsAndTheUnitOfTheExporter) {
  const Error error{ENOENT, "read '/x'", "set " + ProgramTerm::kSysfs + " to its mount"};

  EXPECT_EQ(worded(error),
            "read '/x': No such file or directory (ENOENT). Remedy: set --path.sysfs to its mount");
  EXPECT_EQ(worded("raise " + ProgramTerm::kOpenFileLimit), "raise LimitNOFILE= in the unit");
}

TEST(WordsTest, AreOtherOnesForEachTerm) {
  constexpr int kTerms = static_cast<int>(ProgramTerm::kAdminRegained) + 1;  // it is the last
  std::set<std::string_view> words;

  for (int term = 0; term < kTerms; ++term) {
    words.insert(program_words(static_cast<ProgramTerm>(term)));
  }

  EXPECT_EQ(words.size(), kTerms);
}

}  // namespace
}  // namespace pex::daemon
