#include "cgroup/cgroup_names.h"

#include <cstdint>
#include <unordered_set>

#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using Expected = std::map<std::uint64_t, std::string>;

std::string path_of(std::uint64_t id) { return "/a/" + std::to_string(id); }

Expected all_of(const CgroupNames& names) {
  Expected all;
  names.for_each([&](std::uint64_t id, const std::string& path) {
    EXPECT_TRUE(all.emplace(id, path).second) << id << " is there twice";
  });
  return all;
}

TEST(CgroupNamesTest, StayAsTheyWereWhenOthersAreMadeOfThem) {
  const CgroupNames before = CgroupNames{}.with({{1, "/"}, {2, "/a"}});

  const CgroupNames after = before.with({{3, "/a/b"}});

  EXPECT_EQ(all_of(before), (Expected{{1, "/"}, {2, "/a"}}));
  EXPECT_EQ(all_of(after), (Expected{{1, "/"}, {2, "/a"}, {3, "/a/b"}}));
}

TEST(CgroupNamesTest, ShareTheNamesThatAreThereAlready) {
  CgroupNames::Map thousands;
  for (std::uint64_t id = 1; id <= 5000; ++id) thousands.emplace(id, path_of(id));
  const CgroupNames before = CgroupNames{}.with(std::move(thousands));

  const CgroupNames after = before.with({{9999, "/b"}});

  EXPECT_EQ(after.path_of(17), before.path_of(17));  // the same object
  EXPECT_EQ(*after.path_of(9999), "/b");
}

/// So many names are added or renamed, or removed.
struct Change {
  bool is_addition = true;
  std::size_t names = 0;
};

void showValue(const Change& change, std::ostream& out) {
  out << (change.is_addition ? "add " : "remove ") << change.names;
}

rc::Gen<std::vector<Change>> any_changes() {
  const auto change = rc::gen::build<Change>(
      rc::gen::set(&Change::is_addition, rc::gen::weightedElement<bool>({{5, true}, {1, false}})),
      rc::gen::set(&Change::names, rc::gen::inRange<std::size_t>(0, 100)));
  return rc::gen::container<std::vector<Change>>(change);
}

RC_GTEST_PROP(CgroupNamesTest, AreThoseThatWereAddedAndNotRemoved, ()) {
  CgroupNames names;
  Expected expected;
  std::uint64_t changes = 0;

  for (const Change& change : *any_changes()) {
    CgroupNames::Map some;
    std::unordered_set<std::uint64_t> ids;
    const auto first = *rc::gen::inRange<std::uint64_t>(1, 300);
    ++changes;
    for (std::uint64_t id = first; id < first + change.names; ++id) {
      some.emplace(id, path_of(1000 * changes + id));
      ids.insert(id);
    }
    names = change.is_addition ? names.with(some) : names.without(ids);
    for (const auto& [id, path] : some) {
      expected.erase(id);
      if (change.is_addition) expected.emplace(id, path);
    }

    RC_ASSERT(all_of(names) == expected);
    for (const auto& [id, path] : expected) RC_ASSERT(*names.path_of(id) == path);
    RC_ASSERT(names.path_of(500) == nullptr);
  }
}

}  // namespace
}  // namespace pex::cgroup
