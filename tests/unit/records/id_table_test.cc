#include "records/id_table.h"

#include <cstdint>

#include "support/test_headers.h"

namespace pex::collect {
namespace {

struct CountOfId {
  std::uint64_t id = 0;
  int count = 0;
};
using CountsOfIds = IdTable<CountOfId>;

TEST(IdTableTest, ShrinksToWhatIsKept) {
  CountsOfIds table;
  const std::size_t at_first = table.capacity();
  for (std::uint64_t id = 1; id <= 10'000; ++id) table.insert({id, 0});

  table.keep_if([](const CountOfId& entry) { return entry.id <= 3; });

  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.capacity(), at_first);
  EXPECT_NE(table.find(3), nullptr);
  EXPECT_EQ(table.find(4), nullptr);
}

RC_GTEST_PROP(IdTableTest, HasTheSameEntriesAsAMap, ()) {
  // Few ids, so that they meet again, and such with equal low or high bits.
  const auto id = rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 200), [](std::uint64_t draw) {
    return draw % 3 == 0 ? draw << 32 : draw % 3 == 1 ? draw << 56 | 1 : draw;
  });
  CountsOfIds table;
  std::map<std::uint64_t, int> expected;

  for (const std::uint64_t each : *rc::gen::container<std::vector<std::uint64_t>>(id)) {
    if (CountOfId* const known = table.find(each)) {
      ++known->count;
    } else {
      table.insert({each, 1});
    }
    ++expected[each];
    if (each % 16 != 0) continue;
    table.keep_if([](const CountOfId& entry) { return entry.count % 2 != 0; });
    std::erase_if(expected, [](const auto& entry) { return entry.second % 2 == 0; });
  }

  RC_ASSERT(table.size() == expected.size());
  RC_ASSERT(table.find(0x1234) == nullptr);
  for (const auto& [each, count] : expected) {
    RC_ASSERT(table.find(each) != nullptr);
    RC_ASSERT(table.find(each)->count == count);
  }
}

}  // namespace
}  // namespace pex::collect
