#include "cgroup/cgroup_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

TEST(CgroupNamesTest, KnowNothingAtFirst) {
  const CgroupNames names;

  EXPECT_EQ(names.path_of(0), nullptr);
  EXPECT_EQ(names.path_of(1), nullptr);
  EXPECT_EQ(names.size(), 0U);
  EXPECT_EQ(names.generation(), 0U);
}

TEST(CgroupNamesTest, StayAsTheyWereWhenOthersAreMadeOfThem) {
  const CgroupNames before = CgroupNames{}.replaced_by({{1, "/"}, {2, "/a"}});

  const CgroupNames after = before.with({{3, "/a/b"}});

  EXPECT_EQ(all_of(before), (Expected{{1, "/"}, {2, "/a"}}));
  EXPECT_EQ(all_of(after), (Expected{{1, "/"}, {2, "/a"}, {3, "/a/b"}}));
  EXPECT_GT(after.generation(), before.generation());
}

TEST(CgroupNamesTest, ShareTheNamesThatAreThereAlready) {
  CgroupNames::Map thousands;
  for (std::uint64_t id = 1; id <= 5000; ++id) thousands.emplace(id, path_of(id));
  const CgroupNames before = CgroupNames{}.replaced_by(std::move(thousands));

  const CgroupNames after = before.with({{9999, "/b"}});

  EXPECT_EQ(after.path_of(17), before.path_of(17));  // the same object
  EXPECT_EQ(*after.path_of(9999), "/b");
}

/// Additions of so many names, or a replacement of all by so many.
struct Change {
  bool is_addition = true;
  std::size_t names = 0;
};

void showValue(const Change& change, std::ostream& out) {
  out << (change.is_addition ? "add " : "replace by ") << change.names;
}

rc::Gen<std::vector<Change>> any_changes() {
  const auto change = rc::gen::build<Change>(
      rc::gen::set(&Change::is_addition, rc::gen::weightedElement<bool>({{9, true}, {1, false}})),
      rc::gen::set(&Change::names, rc::gen::inRange<std::size_t>(0, 100)));
  return rc::gen::container<std::vector<Change>>(change);
}

RC_GTEST_PROP(CgroupNamesTest, AreThoseThatWereAddedSinceTheLastReplacement, ()) {
  CgroupNames names;
  Expected expected;
  std::uint64_t next_id = 1;

  for (const Change& change : *any_changes()) {
    CgroupNames::Map some;
    for (std::size_t i = 0; i < change.names; ++i, ++next_id)
      some.emplace(next_id, path_of(next_id));
    if (!change.is_addition) expected.clear();
    expected.insert(some.begin(), some.end());
    const std::uint64_t generation = names.generation();
    names = change.is_addition ? names.with(some) : names.replaced_by(std::move(some));

    RC_ASSERT(names.generation() > generation);
    RC_ASSERT(names.size() == expected.size());
    RC_ASSERT(all_of(names) == expected);
    for (const auto& [id, path] : expected) RC_ASSERT(*names.path_of(id) == path);
    RC_ASSERT(names.path_of(next_id) == nullptr);
  }
}

}  // namespace
}  // namespace pex::cgroup
