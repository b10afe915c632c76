#include "count/row_set.h"

#include "support/test_headers.h"

namespace pex::collect {
namespace {

std::vector<std::size_t> rows_of(const RowSet& set) {
  std::vector<std::size_t> rows;
  set.for_each([&](std::size_t row) { rows.push_back(row); });
  return rows;
}

RC_GTEST_PROP(RowSetTest, HasWhatWasAddedAndNothingElse, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 200);
  const auto some =
      rc::gen::container<std::set<std::size_t>>(rc::gen::inRange<std::size_t>(0, size));
  const std::set<std::size_t> one = *some;
  std::set<std::size_t> both = *some;
  RowSet set{size};
  RowSet more{size};
  for (const std::size_t row : one) set.add(row);
  for (const std::size_t row : both) more.add(row);
  both.insert(one.begin(), one.end());

  set.add_all(more);

  RC_ASSERT(rows_of(set) == std::vector<std::size_t>(both.begin(), both.end()));
  RC_ASSERT(set.size() == both.size());
  for (std::size_t row = 0; row < size; ++row) RC_ASSERT(set.has(row) == both.contains(row));
}

TEST(RowSetTest, AllOfThemAreAsManyAsThereAreRows) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 128}) {
    RowSet set{size};
    set.add_all();

    EXPECT_EQ(set.size(), size);
    EXPECT_EQ(rows_of(set).size(), size);
  }
}

TEST(RowSetTest, KeepsTheRowsThatItStillHasWhenItIsResized) {
  RowSet set{100};
  set.add_all();

  set.resize(70);
  set.remove(3);
  set.resize(130);

  EXPECT_EQ(set.size(), 69U);
  EXPECT_FALSE(set.has(3));
  EXPECT_TRUE(set.has(69));
  EXPECT_FALSE(set.has(70));
}

TEST(RowSetTest, IsEmptyOnceItIsCleared) {
  RowSet set{100};
  set.add_all();

  set.clear();

  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(set.rows(), 100U);
}

}  // namespace
}  // namespace pex::collect
