#include "base/lookup.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace pex {
namespace {

struct Entry {
  int number;
  std::string_view word;
};
constexpr Entry kTable[] = {{1, "one"}, {2, "two"}, {2, "deux"}};

TEST(LookupTest, FindsTheFirstEntryOfThatKey) {
  static_assert(lookup(kTable, &Entry::word, "two")->number == 2);

  EXPECT_EQ(lookup(kTable, &Entry::number, 2)->word, "two");
  EXPECT_EQ(lookup(kTable, &Entry::number, 2), &kTable[1]);
}

TEST(LookupTest, FindsNothingOfAnotherKey) {
  EXPECT_EQ(lookup(kTable, &Entry::number, 3), nullptr);
}

TEST(LookupTest, TakesAQuestionInPlaceOfAMember) {
  const auto is_long = [](const Entry& entry) { return entry.word.size() > 3; };

  EXPECT_EQ(lookup(kTable, is_long, true)->word, "deux");
}

TEST(LookupTest, LetsTheEntryOfAVariableTableBeChanged) {
  std::vector<std::string> words = {"a", "b"};

  *lookup(
      words, [](const std::string& word) { return word.front(); }, 'b') = "c";

  EXPECT_EQ(words.back(), "c");
}

}  // namespace
}  // namespace pex
