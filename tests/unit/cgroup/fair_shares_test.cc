#include "cgroup/fair_shares.h"

#include <cstddef>

#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using Paths = std::vector<std::string>;

/// Gives `places` away, one by one; to whom, by path.
Paths give(FairShares& shares, std::size_t places) {
  Paths given;
  for (; places > 0 && shares.waiting() > 0; --places) {
    given.push_back(*shares.next());
    shares.hold(given.back());
  }
  std::sort(given.begin(), given.end());
  return given;
}

FairShares waiting_at(const Paths& paths) {
  FairShares shares;
  for (const std::string& path : paths) shares.wait(path, 0);
  return shares;
}

std::size_t below(const Paths& paths, const std::string& directory) {
  return static_cast<std::size_t>(
      std::count_if(paths.begin(), paths.end(), [&](const std::string& path) {
        return path == directory || path.starts_with(directory + "/");
      }));
}

// --- examples ------------------------------------------------------------------------------------

TEST(FairSharesTest, OfTheSameClaimWhoHasUsedMostComesFirstAndThenTheFirstByName) {
  FairShares shares;
  shares.wait("/a", 1);
  shares.wait("/b", 9);
  shares.wait("/c", 9);
  shares.wait("/d/x", 5);

  EXPECT_THAT(give(shares, 3), ElementsAre("/b", "/c", "/d/x"));
}

TEST(FairSharesTest, OneIsTakenForWhatItHasUsedWhenThatWasReportedLast) {
  FairShares shares = waiting_at({"/a", "/b"});
  shares.wait("/b", 1);
  EXPECT_THAT(shares.next(), Optional(std::string("/b")));
  shares.wait("/a", 2);
  EXPECT_THAT(shares.next(), Optional(std::string("/a")));
}

TEST(FairSharesTest, ADirectoryItselfCompetesWithThoseBelowIt) {
  FairShares shares = waiting_at({"/a", "/a/x", "/a/y", "/b", "/b/x", "/b/y"});

  EXPECT_THAT(give(shares, 4), ElementsAre("/a", "/a/x", "/b", "/b/x"));
}

TEST(FairSharesTest, WhereThereIsAPlaceLessTheLastByNameOfTheLargestSubtreeGivesWay) {
  FairShares shares = waiting_at({"/a/x", "/a/y", "/b", "/c"});
  give(shares, 4);

  EXPECT_THAT(shares.last(), Optional(std::string("/a/y")));
  shares.remove("/a/y");
  EXPECT_THAT(shares.last(), Optional(std::string("/c")));
}

TEST(FairSharesTest, MovesAPlaceFromWhoHasTwoMoreToWhoWaitsAndNotFromWhoHasOneMore) {
  FairShares shares = waiting_at({"/a/1", "/a/2", "/a/3"});
  give(shares, 3);
  shares.wait("/b/1", 0);
  shares.wait("/b/2", 0);

  const auto exchange = shares.exchange();
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->from, "/a/3");
  EXPECT_EQ(exchange->to, "/b/1");
  EXPECT_EQ(exchange->rich, "/a");
  EXPECT_EQ(exchange->poor, "/b");
  shares.hold(exchange->to);
  shares.wait(exchange->from, 0);

  EXPECT_TRUE(shares.is_fair());  // two and one
  EXPECT_FALSE(shares.exchange());
}

TEST(FairSharesTest, DirectoriesThatAreUnfairAreServedRoundRobin) {
  FairShares shares;
  for (const char* each : {"/a/r/1", "/a/r/2", "/b/r/1", "/b/r/2"}) shares.hold(each);
  for (const char* each : {"/a/w/1", "/a/w/2", "/b/w/1"}) shares.wait(each, 0);

  EXPECT_EQ(shares.exchange()->to, "/a/w/1");
  EXPECT_EQ(shares.exchange()->to, "/b/w/1");  // although the one in /a was not made
  EXPECT_EQ(shares.exchange()->to, "/a/w/1");
}

TEST(FairSharesTest, OneThatComesIsAKnownOnesPlaceWorthOnlyWhereThatIsFairer) {
  FairShares shares;
  for (const char* path : {"/a", "/a/1", "/a/2", "/b"}) shares.hold(path);

  EXPECT_THAT(shares.displaced_by("/c"), Optional(std::string("/a/2")));
  EXPECT_THAT(shares.displaced_by("/b/1"), Optional(std::string("/a/2")));
  EXPECT_FALSE(shares.displaced_by("/a/3"));
  shares.hold("/b/1");
  EXPECT_FALSE(shares.displaced_by("/b/2"));
}

TEST(FairSharesTest, OfNoneThereIsNoneToCome) {
  FairShares shares;

  EXPECT_FALSE(shares.next());
  EXPECT_FALSE(shares.last());
  EXPECT_FALSE(shares.exchange());
  EXPECT_FALSE(shares.displaced_by("/a"));
  shares.remove("/a/b");
  EXPECT_EQ(shares.held(), 0U);
}

// --- for all trees -------------------------------------------------------------------------------

std::size_t number_below(std::size_t most) { return *rc::gen::inRange<std::size_t>(0, most); }

/// Paths of up to four components, some of which are inside of others.
std::set<std::string> any_paths() {
  const std::size_t count = 1 + number_below(60);
  std::set<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    std::string path;
    const std::size_t depth = 1 + number_below(4);
    for (std::size_t d = 0; d < depth; ++d) path += "/" + std::to_string(number_below(5));
    paths.insert(path);
  }
  return paths;
}

using Demands = std::map<std::string, std::size_t>;

/// What the subtree of each directory asks for, itself included: "" is the root, and what a
/// directory asks for itself is under its path and "/".
template <class PathSet>
Demands sums_of(const PathSet& paths) {
  Demands sums;
  for (const std::string& path : paths) {
    ++sums[path + "/"];
    for (std::string above = path;; above = above.substr(0, above.rfind('/'))) {
      ++sums[above];
      if (above.empty()) break;
    }
  }
  return sums;
}

/// Those that share what `directory` has: its children, and itself.
Paths claimants_of(const Demands& demands, const std::string& directory) {
  Paths claimants;
  for (const auto& [path, demand] : demands) {
    if (path.size() <= directory.size() || !path.starts_with(directory + "/")) continue;
    const std::string_view rest = std::string_view(path).substr(directory.size() + 1);
    if (rest.empty() || rest.find('/') == rest.npos) claimants.push_back(path);
  }
  return claimants;
}

/// No one has more than he asks for; and who has less than that has at most one less than any
/// other: so nothing can be taken for him but from who has no more.
void expect_fair(const Demands& demands, const Demands& given) {
  const auto given_to = [&](const std::string& path) {
    const auto at = given.find(path);
    return at == given.end() ? 0 : at->second;
  };
  for (const auto& [directory, demand] : demands) {
    RC_ASSERT(given_to(directory) <= demand);
    if (directory.ends_with('/')) continue;
    const Paths claimants = claimants_of(demands, directory);
    std::size_t most = 0;
    for (const std::string& path : claimants) most = std::max(most, given_to(path));
    for (const std::string& path : claimants) {
      if (given_to(path) < demands.at(path)) RC_ASSERT(given_to(path) + 1 >= most);
    }
  }
}

RC_GTEST_PROP(FairSharesProperties, EachPlaceIsGivenAndEachDirectorySharesItsOwnFairly, ()) {
  const std::set<std::string> paths = any_paths();
  const std::size_t places = number_below(80);
  FairShares shares;
  for (const std::string& path : paths) shares.wait(path, number_below(3));

  const Paths given = give(shares, places);

  RC_ASSERT(given.size() == std::min(places, paths.size()));
  RC_ASSERT(shares.is_fair());
  expect_fair(sums_of(paths), sums_of(given));
}

RC_GTEST_PROP(FairSharesProperties, WhoSplitsBelowHisDirectoryTakesNothingFromOthers, ()) {
  const std::set<std::string> others = any_paths();
  const std::size_t places = 1 + number_below(60);
  const std::size_t of_tenant = 1 + number_below(30);
  const auto others_have = [&](const Paths& of_tenant_paths) {
    FairShares shares;
    for (const std::string& path : others) shares.wait("/others" + path, 0);
    for (const std::string& path : of_tenant_paths) shares.wait(path, 1000);
    return below(give(shares, places), "/others");
  };
  Paths flat, split;
  for (std::size_t i = 0; i < of_tenant; ++i) flat.push_back("/tenant/" + std::to_string(i));
  for (const std::string& path : flat) {
    std::string spread = "/tenant";
    for (std::size_t d = number_below(4); d > 0; --d) {
      spread += "/d" + std::to_string(number_below(9));
    }
    split.push_back(spread + path);
  }

  RC_ASSERT(others_have(flat) == others_have(split));
}

RC_GTEST_PROP(FairSharesProperties, ExchangesEndWhereItIsFairWhateverWasHeldBefore, ()) {
  const std::set<std::string> paths = any_paths();
  FairShares shares;
  std::set<std::string> held;
  for (const std::string& path : paths) {
    if (number_below(2) == 0) {
      shares.hold(path);
      held.insert(path);
    } else {
      shares.wait(path, 0);
    }
  }

  std::size_t exchanges = 0;
  while (const auto exchange = shares.exchange()) {
    RC_ASSERT(held.erase(exchange->from) == 1);
    RC_ASSERT(held.insert(exchange->to).second);
    shares.hold(exchange->to);
    shares.wait(exchange->from, 0);
    RC_ASSERT(++exchanges <= 4 * paths.size());
  }

  expect_fair(sums_of(paths), sums_of(held));
}

RC_GTEST_PROP(FairSharesProperties, WhereOnlyFairerOnesGetInThereIsAFairDivision, ()) {
  const std::set<std::string> paths = any_paths();
  const std::size_t places = 1 + number_below(40);
  FairShares shares;
  std::set<std::string> held;
  // Who was refused comes again: as a look at the tree finds him.
  for (int round = 0; round < 60; ++round) {
    for (const std::string& path : paths) {
      if (held.contains(path)) continue;
      if (held.size() >= places) {
        const auto other = shares.displaced_by(path);
        if (!other) continue;
        shares.remove(*other);
        held.erase(*other);
      }
      shares.hold(path);
      held.insert(path);
    }
  }

  RC_ASSERT(held.size() == std::min(places, paths.size()));
  expect_fair(sums_of(paths), sums_of(held));
}

RC_GTEST_PROP(FairSharesProperties, WhatIsForgottenLeavesNothingBehind, ()) {
  const std::set<std::string> paths = any_paths();
  FairShares shares;
  for (const std::string& path : paths) shares.wait(path, 1);
  give(shares, number_below(60));
  for (const std::string& path : paths) shares.remove(path);

  RC_ASSERT(shares.held() == 0U);
  RC_ASSERT(shares.waiting() == 0U);
  RC_ASSERT(shares.is_fair());
  RC_ASSERT(!shares.next());
  RC_ASSERT(!shares.last());
}

}  // namespace
}  // namespace pex::cgroup
