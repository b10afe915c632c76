#include "records/cgroup_sums.h"

#include <cstdint>
#include <limits>
#include <ostream>

#include "support/slot_sums.h"
#include "support/test_headers.h"

namespace pex::collect {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Slot = std::size_t;
using Counts = std::vector<std::uint64_t>;

/// The cgroups of a machine, and what is known of them. Group 0 has two events, group 1 one.
class SummedCgroups {
 public:
  SummedCgroups() {
    sums.add_group(0, 2);
    sums.add_group(1, 1);
  }

  void name(std::uint64_t id, const std::string& path) {
    sums.give();
    names_[id] = path;
    publish_names();
  }
  void forget_name(std::uint64_t id) {
    sums.give();
    names_.erase(id);
    publish_names();
  }

  Slot open(std::uint64_t id, const std::string& path, std::size_t group = 0) {
    return slots.open(id, path, group);
  }
  void close(Slot target) { slots.close(target); }

  /// It ran, and group 0 counted.
  void run(std::uint64_t id, nanoseconds time, std::uint64_t count = 0) {
    sums.add(0, id, time, time, Counts{count, 0});
  }
  /// It ran, and no group counted.
  void pass(std::uint64_t id, nanoseconds time) { sums.add(0, id, time, 0ns, Counts{0, 0}); }
  void poll(unsigned times = 1, nanoseconds each = 1s) {
    for (; times > 0; --times) sums.end_poll(now_ += each);
  }

  test::SlotSums::Sum read(Slot target, std::size_t group = 0) { return slots.read(target, group); }
  nanoseconds enabled(Slot target) { return read(target).enabled; }
  std::uint64_t count(Slot target) { return read(target).counts[0]; }
  std::vector<Slot> changed() {
    sums.give();
    RowSet all{16};
    sums.take_changed(all);
    std::vector<Slot> changed;
    all.for_each([&](Slot target) { changed.push_back(target); });
    return changed;
  }

  std::size_t awaiting_names() {
    sums.give();
    return sums.awaiting_names();
  }
  CgroupSums::Unnamed unnamed() {
    sums.give();
    return sums.unnamed();
  }

  CgroupSums sums;
  test::SlotSums slots{sums};

 private:
  void publish_names() {
    sums.set_names([names = names_](std::uint64_t id) {
      const auto found = names.find(id);
      return found == names.end() ? nullptr : &found->second;
    });
  }

  std::map<std::uint64_t, std::string> names_;
  nanoseconds now_{};
};

constexpr std::uint64_t kRootOfAll = 1;
/// Each of a second.
constexpr unsigned kMaxPollsUnnamed = CgroupSums::kMaxTimeUnnamed / 1s;

class CgroupSumsTest : public testing::Test, protected SummedCgroups {};

// --- targets ------------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, ATargetHasWhatItsIdDidSinceItWasOpened) {
  const Slot target = open(7, "/a");

  pass(7, 10ms);
  sums.add_counts(0, 7, 9ms, Counts{100, 200});
  sums.add_counts(1, 7, 8ms, Counts{300});

  const test::SlotSums::Sum first = read(target, 0);
  EXPECT_EQ(first.enabled, 10ms);
  EXPECT_EQ(first.running, 9ms);
  EXPECT_THAT(first.counts, ElementsAre(100, 200));
  EXPECT_EQ(read(target, 1).enabled, 10ms);
  EXPECT_EQ(read(target, 1).running, 8ms);
  EXPECT_THAT(read(target, 1).counts, ElementsAre(300));
}

TEST_F(CgroupSumsTest, ATargetOpenedAtThePathOfAnotherCountsFromZeroAndTheOtherGoesOn) {
  name(1, "/a");
  name(2, "/a");
  name(3, "/a/b");
  const Slot before = open(1, "/a");
  run(3, 1ms, 1);
  poll(3);
  const Slot after = open(2, "/a");

  run(1, 1ms, 10);
  run(2, 1ms, 100);
  run(3, 1ms, 1000);

  EXPECT_EQ(count(before), 1111U);
  EXPECT_EQ(count(after), 1100U);
  close(before);
  run(1, 1ms, 10'000);  // its last records
  EXPECT_EQ(count(after), 11'100U);
}

TEST_F(CgroupSumsTest, ATargetIsOpenUntilTheLastOfItsGroupsIsClosed) {
  const Slot target = open(1, "/a", 0);
  ASSERT_EQ(open(1, "/a", 1), target);
  close(target);

  run(1, 1ms, 5);

  EXPECT_EQ(count(target), 5U);
}

// --- pending ------------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, ATargetHasWhatItsCgroupsDidInTheTwoPollsBeforeItWasOpened) {
  name(1, "/a");
  name(2, "/a/b");
  run(1, 1ms, 1);
  run(2, 1ms, 10);
  poll(2);

  EXPECT_EQ(count(open(1, "/a")), 11U);
}

TEST_F(CgroupSumsTest, WhatIsNotATargetAfterTwoPollsCountsFromItsOpeningOn) {
  name(1, "/a");
  run(1, 1ms, 1);
  poll(3);
  run(1, 1ms, 10);

  const Slot target = open(1, "/a");
  run(1, 1ms, 100);

  EXPECT_EQ(count(target), 100U);
  EXPECT_EQ(unnamed().cgroups, 0U);
}

TEST_F(CgroupSumsTest, WhatIsPendingForATargetIsThereBeforeItCloses) {
  run(1, 1ms, 5);
  const Slot above = open(9, "/");

  const Slot target = open(1, "/a");
  close(target);

  EXPECT_EQ(count(above), 5U);
}

// --- names --------------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, ACgroupIsCountedOnceItHasAName) {
  const Slot target = open(1, "/a");
  run(2, 1ms, 5);
  EXPECT_EQ(count(target), 0U);
  EXPECT_EQ(awaiting_names(), 1U);

  name(2, "/a/b");

  EXPECT_EQ(count(target), 5U);
  EXPECT_EQ(awaiting_names(), 0U);
}

/// As while cgroups are made all the time, or with a long interval.
TEST_F(CgroupSumsTest, ANameIsAwaitedForAMinuteHoweverManyPollsThereAre) {
  for (const auto& [polls, each] :
       {std::pair{kMaxPollsUnnamed, nanoseconds{1s}}, std::pair{1200U, nanoseconds{50ms}},
        std::pair{CgroupSums::kMinPollsUnnamed, nanoseconds{1h}}}) {
    SummedCgroups cgroups;
    const Slot target = cgroups.open(1, "/a");
    cgroups.run(2, 1ms, 5);
    cgroups.run(3, 1ms, 5);
    cgroups.poll(polls, each);

    cgroups.name(2, "/a/b");
    EXPECT_EQ(cgroups.count(target), 5U);
    EXPECT_EQ(cgroups.awaiting_names(), 1U);
    cgroups.poll(1, each);
    EXPECT_EQ(cgroups.awaiting_names(), 0U);
    EXPECT_EQ(cgroups.unnamed().cgroups, 1U);
  }
}

TEST_F(CgroupSumsTest, WhatIsNeverNamedIsDroppedAndReported) {
  const Slot target = open(1, "/a");
  run(2, 5ms, 5);
  for (unsigned each = 0; each <= kMaxPollsUnnamed; ++each) {
    EXPECT_EQ(awaiting_names(), 1U);
    run(2, 1ms, 5);
    poll();
  }
  run(2, 1ms, 5);  // not kept any more
  EXPECT_EQ(awaiting_names(), 0U);

  name(2, "/a/b");

  EXPECT_EQ(count(target), 0U);
  EXPECT_EQ(unnamed().cgroups, 1U);
  EXPECT_EQ(unnamed().time, 5ms + (kMaxPollsUnnamed + 2) * 1ms);
  run(2, 1ms, 5);
  EXPECT_EQ(count(target), 5U);
}

/// Idle time is the root's, which has no name where a part of the tree is mounted.
TEST_F(CgroupSumsTest, TheRootWithoutANameIsNotReported) {
  run(kRootOfAll, 1ms, 5);
  EXPECT_EQ(awaiting_names(), 0U);
  poll(kMaxPollsUnnamed + 1);
  run(kRootOfAll, 1ms, 5);
  sums.add(0, kRootOfAll, 1ms, 1ms, Counts{1, 1});

  EXPECT_EQ(unnamed().cgroups, 0U);
  EXPECT_EQ(unnamed().time, 0ms);
}

TEST_F(CgroupSumsTest, ANameThatIsForgottenAndComesBackCountsNothingTwice) {
  const Slot a = open(1, "/a");
  name(2, "/a/b");
  run(2, 1ms, 5);

  forget_name(2);
  (void)open(3, "/a/c");  // what is below /a is looked up again
  run(2, 1ms, 10);
  name(2, "/a/b");

  EXPECT_EQ(count(a), 15U);
}

TEST_F(CgroupSumsTest, IdZeroIsUnnamed) {
  const Slot root = open(1, "/");

  run(0, 3ms, 5);

  EXPECT_EQ(enabled(root), 0ms);
  EXPECT_EQ(unnamed().time, 3ms);
}

// --- readings -----------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, AGroupOpenedLaterAtATargetCountsFromZero) {
  const Slot target = open(1, "/a", 0);
  pass(1, 5ms);
  sums.add_counts(1, 1, 5ms, Counts{50});

  (void)open(1, "/a", 1);
  EXPECT_THAT(read(target, 1).counts, ElementsAre(0));
  EXPECT_EQ(read(target, 1).enabled, 0ms);
  pass(1, 1ms);
  sums.add_counts(1, 1, 1ms, Counts{10});

  EXPECT_THAT(read(target, 1).counts, ElementsAre(10));
  EXPECT_EQ(read(target, 1).enabled, 1ms);
  EXPECT_EQ(read(target, 0).enabled, 6ms);
}

TEST_F(CgroupSumsTest, AGroupThatIsAddedCountsFromThenOn) {
  const Slot target = open(1, "/a");
  run(1, 5ms, 5);

  sums.add_group(2, 1);
  pass(1, 1ms);
  sums.add_counts(2, 1, 1ms, Counts{10});

  EXPECT_EQ(read(target, 2).enabled, 1ms);
  EXPECT_THAT(read(target, 2).counts, ElementsAre(10));
  EXPECT_EQ(enabled(target), 6ms);
  EXPECT_EQ(count(target), 5U);
}

TEST_F(CgroupSumsTest, ARemovedGroupReadsAsNothingAndTheOthersGoOn) {
  const Slot target = open(1, "/a");
  run(1, 5ms, 5);

  sums.remove_group(1);

  EXPECT_THAT(read(target, 1).counts, IsEmpty());
  EXPECT_FALSE(slots.is_changed());
  EXPECT_EQ(count(target), 5U);
}

TEST_F(CgroupSumsTest, AGroupOpenedLaterAtATargetIsListedAsChangedForItsFirstZero) {
  const Slot target = open(1, "/a", 0);
  (void)changed();
  EXPECT_THAT(changed(), IsEmpty());

  (void)open(1, "/a", 1);

  EXPECT_THAT(changed(), ElementsAre(target));
}

TEST_F(CgroupSumsTest, EachGroupOfATargetIsTakenOnce) {
  const Slot target = open(1, "/a");

  run(1, 1ms);

  for (const std::size_t group : {0U, 1U}) {
    (void)read(target, group);
    EXPECT_TRUE(slots.is_changed());
    (void)read(target, group);
    EXPECT_FALSE(slots.is_changed());
  }
}

TEST_F(CgroupSumsTest, WhatIsGivenIsDroppedUnlessItIsTakenInItsPoll) {
  const Slot target = open(1, "/a");
  run(1, 1ms, 5);
  poll();  // a reconciliation: nothing is taken
  run(1, 1ms, 5);
  poll();
  EXPECT_THAT(changed(), ElementsAre(target));
  EXPECT_EQ(slots.take(target).counts[0], 10U);
  run(1, 1ms, 5);

  EXPECT_THAT(changed(), ElementsAre(target));
  sums.give();

  EXPECT_THAT(changed(), IsEmpty());
  EXPECT_EQ(count(target), 10U);
}

TEST_F(CgroupSumsTest, OnlyTargetsThatRanOrAreNewAreListedAsChanged) {
  const Slot a = open(1, "/a");
  const Slot b = open(2, "/b");
  const Slot c = open(3, "/c");
  EXPECT_THAT(changed(), UnorderedElementsAre(a, b, c));

  run(1, 1ms);
  run(3, 1ms);
  run(1, 1ms);
  close(c);

  EXPECT_THAT(changed(), ElementsAre(a));
  EXPECT_THAT(changed(), IsEmpty());
}

TEST_F(CgroupSumsTest, ATargetThatGetsWhatWasPendingIsListedAsChanged) {
  const Slot a = open(1, "/a");
  const Slot b = open(2, "/b");
  run(3, 1ms);
  (void)changed();

  name(3, "/b/c");

  EXPECT_THAT(changed(), ElementsAre(b));
  EXPECT_FALSE(read(a).counts.empty());
}

// --- lost ---------------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, WhatIsLostMayBeThatOfEachTarget) {
  const Slot a = open(1, "/a");
  run(1, 80ms);
  sums.lose(3ms);
  const Slot b = open(2, "/b");
  sums.lose(4ms);

  EXPECT_EQ(enabled(a), 80ms);
  EXPECT_EQ(slots.lost(), 7ms);
  EXPECT_EQ(enabled(b), 0ms);
  EXPECT_EQ(slots.lost(), 4ms) << "since it was opened";
  (void)changed();
  EXPECT_EQ(enabled(a), 80ms);
  EXPECT_EQ(slots.lost(), 0ms) << "twice";
}

TEST_F(CgroupSumsTest, AllTargetsHaveChangedOnceAnythingIsLost) {
  const Slot a = open(1, "/a");
  const Slot b = open(2, "/b");
  (void)changed();

  sums.lose(1ms);

  EXPECT_THAT(changed(), UnorderedElementsAre(a, b));
  EXPECT_THAT(changed(), IsEmpty());
}

// --- bounds -------------------------------------------------------------------------------------

TEST_F(CgroupSumsTest, WithoutRoomForMorePendingTheRestIsDroppedAndReported) {
  const Slot root = open(1, "/");
  for (std::uint64_t id = 10; id < 10 + CgroupSums::kMaxPending + 3; ++id) run(id, 1ms, 1);

  EXPECT_EQ(unnamed().cgroups, 3U);
  EXPECT_EQ(unnamed().time, 3ms);
  EXPECT_EQ(awaiting_names(), CgroupSums::kMaxPending);
  for (std::uint64_t id = 10; id < 12; ++id) name(id, "/a" + std::to_string(id));
  EXPECT_EQ(count(root), 2U);
}

TEST_F(CgroupSumsTest, TargetsCountIdsBeyondThoseThatCanBeRemembered) {
  const Slot root = open(1, "/");
  const Slot a = open(2, "/a");
  sums.set_names(
      [path = std::string("/a/b")](std::uint64_t id) { return id < 1'000'000 ? &path : nullptr; });
  constexpr std::uint64_t kFirst = 10;
  constexpr std::uint64_t kIds = CgroupSums::kMaxIds + 10;
  for (std::uint64_t id = kFirst; id < kFirst + kIds; ++id) run(id, 1us, 1);
  run(1'000'000, 1us, 1);

  EXPECT_EQ(sums.remembered(), CgroupSums::kMaxIds);
  EXPECT_EQ(count(root), kIds);
  EXPECT_EQ(count(a), kIds);
  EXPECT_EQ(unnamed().time, 1us);
}

TEST_F(CgroupSumsTest, ForgetsIdsThatAreNotSeenForLong) {
  const Slot a = open(1, "/a");
  sums.set_names([path = std::string("/b")](std::uint64_t) { return &path; });
  std::uint64_t id = 10;
  for (int each = 0; each < 100; ++each) {
    for (const std::uint64_t last = id + 100; id < last; ++id) run(id, 1us);
    poll();
  }

  EXPECT_LT(sums.remembered(), 4000U);
  poll(2 * CgroupSums::kPollsRemembered);
  EXPECT_EQ(sums.remembered(), 1U);  // that of the target
  run(1, 1ms, 5);
  EXPECT_EQ(count(a), 5U);
}

TEST_F(CgroupSumsTest, StandsStillAtTheEndOfItsRange) {
  const Slot target = open(1, "/a");
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

  for (int each = 0; each < 3; ++each) {
    pass(1, nanoseconds::max());
    sums.add_counts(0, 1, nanoseconds::max(), Counts{kEnd / 2, 1});
  }

  const test::SlotSums::Sum sum = read(target);
  EXPECT_EQ(sum.enabled, nanoseconds::max());
  EXPECT_EQ(sum.running, nanoseconds::max());
  EXPECT_THAT(sum.counts, ElementsAre(kEnd, 3));
}

TEST_F(CgroupSumsTest, MoreIdsThanHaveARowAreGivenAtOnce) {
  const Slot root = open(1, "/");
  const std::string path = "/a";
  sums.set_names([&path](std::uint64_t) { return &path; });

  for (std::uint64_t id = 10; id < 10 + 3 * CgroupSums::kMaxRunning; ++id) {
    run(id, 1ms, 1);
    run(10, 1ms, 1);
  }

  EXPECT_EQ(count(root), 6 * CgroupSums::kMaxRunning);
}

// --- against a naive model ----------------------------------------------------------------------

/// What is added to an id.
struct AddedIncrement {
  int group = -1;  ///< or the time
  std::uint64_t time = 0;
  std::uint64_t count = 0;
};
using AddedIncrements = std::vector<AddedIncrement>;

struct NaiveReading {
  nanoseconds enabled{};
  std::array<nanoseconds, 2> running{};
  std::array<std::uint64_t, 2> counts{};
};

NaiveReading sum_of(const AddedIncrements& increments) {
  NaiveReading reading;
  for (const AddedIncrement& each : increments) {
    const nanoseconds time{each.time};
    if (each.group < 0) {
      reading.enabled += time;
    } else {
      reading.running[static_cast<std::size_t>(each.group)] += time;
      reading.counts[static_cast<std::size_t>(each.group)] += each.count;
    }
  }
  return reading;
}

/// The same rules, kept in the simplest way: each target has a list of all its increments, and who
/// is above whom is found by comparing all paths.
class NaiveSums {
 public:
  struct OpenTarget {
    std::uint64_t id = 0;
    std::string path;
    AddedIncrements received = {};
    bool is_new = true;
  };

  void name(std::uint64_t id, const std::string& path) {
    paths_[id] = path;
    is_settled_ = false;
  }
  void open(std::uint64_t id, const std::string& path) {
    targets.push_back({id, path});
    is_settled_ = false;
  }
  void close(std::size_t at) {
    settle();
    targets.erase(targets.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void add(std::uint64_t id, const AddedIncrement& increment) {
    settle();
    Cgroup& cgroup = see(id);
    for (OpenTarget* const target : chain(id)) target->received.push_back(increment);
    const bool is_dropped = cgroup.is_home || cgroup.gave_up;
    if (!is_dropped) cgroup.pending.push_back(increment);
    if (is_dropped && lacks_its_name(id, cgroup) && increment.group < 0) {
      unnamed.time += nanoseconds{increment.time};
    }
  }

  void settle() {
    if (is_settled_) return;
    is_settled_ = true;
    for (auto& [id, cgroup] : cgroups_) {
      if (!cgroup.pending.empty()) find_place(id, cgroup);
    }
    for (OpenTarget& target : targets) target.is_new = false;
  }

  void end_poll() {
    settle();
    for (auto& [id, cgroup] : cgroups_) {
      const unsigned max_polls = cgroup.is_unnamed ? kMaxPollsUnnamed : CgroupSums::kMaxPollsNamed;
      if (cgroup.pending.empty() || poll_ - cgroup.waits_since < max_polls) continue;
      if (lacks_its_name(id, cgroup)) {
        ++unnamed.cgroups;
        unnamed.time += sum_of(cgroup.pending).enabled;
      }
      cgroup.pending.clear();
      cgroup.gave_up = true;
    }
    ++poll_;
  }

  std::size_t awaiting_names() {
    settle();
    return static_cast<std::size_t>(
        std::count_if(cgroups_.begin(), cgroups_.end(), [](const auto& each) {
          return lacks_its_name(each.first, each.second) && !each.second.pending.empty();
        }));
  }

  std::vector<OpenTarget> targets;  ///< in the order of opening
  CgroupSums::Unnamed unnamed;

 private:
  struct Cgroup {
    AddedIncrements pending;
    unsigned waits_since = 0;
    unsigned last_poll = 0;
    bool is_unnamed = true;
    bool is_home = false;
    bool gave_up = false;
  };

  static bool lacks_its_name(std::uint64_t id, const Cgroup& cgroup) {
    return cgroup.is_unnamed && id != kRootOfAll;
  }
  Cgroup& see(std::uint64_t id) {
    Cgroup& cgroup =
        cgroups_.try_emplace(id, Cgroup{.pending = {}, .waits_since = poll_}).first->second;
    const bool is_own = own(id) != nullptr;
    const bool was_seen = cgroup.last_poll != 0;
    if (!is_own && cgroup.pending.empty() &&
        (!was_seen || poll_ - cgroup.last_poll > CgroupSums::kPollsRemembered)) {
      cgroup = {.pending = {}, .waits_since = poll_};
    }
    cgroup.last_poll = poll_;
    find_place(id, cgroup);
    return cgroup;
  }

  void find_place(std::uint64_t id, Cgroup& cgroup) {
    const std::vector<OpenTarget*> all = chain(id);
    const bool is_unnamed = own(id) == nullptr && !paths_.contains(id);
    const bool is_home =
        own(id) != nullptr || (!is_unnamed && !all.empty() && all.front()->path == paths_.at(id));
    for (OpenTarget* const target : all) {
      if (!cgroup.is_unnamed && !target->is_new) continue;
      target->received.insert(target->received.end(), cgroup.pending.begin(), cgroup.pending.end());
    }
    if (is_home) cgroup.pending.clear();
    if (is_home != cgroup.is_home || is_unnamed != cgroup.is_unnamed) {
      cgroup.waits_since = poll_;
      cgroup.gave_up = false;
    }
    cgroup.is_home = is_home;
    cgroup.is_unnamed = is_unnamed;
  }

  OpenTarget* own(std::uint64_t id) {
    for (OpenTarget& target : targets) {
      if (target.id == id) return &target;
    }
    return nullptr;
  }

  static bool is_above(const std::string& path, const std::string& other) {
    return path != other && (path == "/" || other.starts_with(path + "/"));
  }

  /// All targets that it belongs to, the nearest one first.
  std::vector<OpenTarget*> chain(std::uint64_t id) {
    std::vector<OpenTarget*> all;
    OpenTarget* const own = this->own(id);
    if (own == nullptr && !paths_.contains(id)) return all;
    const std::string path = own != nullptr ? own->path : paths_.at(id);
    for (OpenTarget& target : targets) {
      const bool is_at = target.path == path && (own == nullptr || &target <= own);
      if (is_at || is_above(target.path, path)) all.push_back(&target);
    }
    std::stable_sort(all.begin(), all.end(), [](const OpenTarget* a, const OpenTarget* b) {
      return a->path.size() > b->path.size();
    });
    return all;
  }

  std::map<std::uint64_t, std::string> paths_;
  std::map<std::uint64_t, Cgroup> cgroups_;
  bool is_settled_ = true;
  unsigned poll_ = 1;
};

struct SumsStep {
  enum class Kind { kAdd, kOpen, kClose, kName, kPoll, kPolls, kRead };
  Kind kind = Kind::kAdd;
  std::uint64_t id = 1;
  std::uint64_t amount = 0;
};
constexpr std::uint64_t kModelIds = 12;

std::ostream& operator<<(std::ostream& out, const SumsStep& step) {
  constexpr const char* kKinds[] = {"add", "open", "close", "name", "poll", "polls", "read"};
  return out << kKinds[static_cast<int>(step.kind)] << ' ' << step.id << ' ' << step.amount;
}

rc::Gen<std::vector<SumsStep>> any_sums_steps() {
  using Kind = SumsStep::Kind;
  const auto kind = rc::gen::weightedElement<Kind>({{12, Kind::kAdd},
                                                    {5, Kind::kOpen},
                                                    {3, Kind::kClose},
                                                    {3, Kind::kName},
                                                    {4, Kind::kPoll},
                                                    {1, Kind::kPolls},
                                                    {2, Kind::kRead}});
  const auto step = rc::gen::build<SumsStep>(
      rc::gen::set(&SumsStep::kind, kind),
      rc::gen::set(&SumsStep::id, rc::gen::inRange<std::uint64_t>(1, kModelIds + 1)),
      rc::gen::set(&SumsStep::amount, rc::gen::inRange<std::uint64_t>(0, 1000)));
  return rc::gen::scale(4, rc::gen::container<std::vector<SumsStep>>(step));
}

/// A random tree: paths are used by several ids, and some are only alike at their beginning.
std::vector<std::string> any_tree() {
  const auto path = rc::gen::elementOf(
      std::vector<std::string>{"/", "/a", "/ab", "/a/b", "/a/bc", "/a/b/c", "/d", "/d/e/f"});
  return *rc::gen::container<std::vector<std::string>>(kModelIds, path);
}

/// The sums and the model, as the same happens to both.
class SumsAndModel {
 public:
  explicit SumsAndModel(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  void take(const SumsStep& step) {
    using Kind = SumsStep::Kind;
    if (step.kind == Kind::kAdd) add(step);
    if (step.kind == Kind::kOpen) open(step.id);
    if (step.kind == Kind::kClose) close(step.amount);
    if (step.kind == Kind::kName) name(step.id);
    if (step.kind == Kind::kPoll) poll(1);
    if (step.kind == Kind::kPolls) poll(25);
    if (step.kind == Kind::kRead) check();
  }

  void check() {
    model_.settle();
    for (std::size_t at = 0; at < targets_.size(); ++at) check(at);
    RC_ASSERT(cgroups_.unnamed().cgroups == model_.unnamed.cgroups);
    RC_ASSERT(cgroups_.unnamed().time == model_.unnamed.time);
    RC_ASSERT(cgroups_.awaiting_names() == model_.awaiting_names());
  }

 private:
  const std::string& path(std::uint64_t id) const { return paths_[id - 1]; }

  /// A part of it is a time only, or counts only.
  void add(const SumsStep& step) {
    const nanoseconds time{step.amount};
    if (step.amount % 5 != 1 && step.amount > 0) {
      model_.add(step.id, {-1, step.amount, 0});
      cgroups_.pass(step.id, time);
    }
    is_any_running_ = true;
    const int group = static_cast<int>(step.amount % 2);
    if (step.amount % 5 == 2) return;
    model_.add(step.id, {group, step.amount, step.amount * 3});
    const Counts counts = group == 0 ? Counts{step.amount * 3, 0} : Counts{step.amount * 3};
    cgroups_.sums.add_counts(static_cast<std::size_t>(group), step.id, time, counts);
  }
  void open(std::uint64_t id) {
    for (const NaiveSums::OpenTarget& each : model_.targets) {
      if (each.id == id) return;
    }
    if (std::exchange(is_any_running_, false)) model_.settle();  // it is given first
    targets_.push_back(cgroups_.open(id, path(id), 0));
    RC_ASSERT(cgroups_.open(id, path(id), 1) == targets_.back());
    model_.open(id, path(id));
  }
  void close(std::uint64_t draw) {
    if (targets_.empty()) return;
    const std::size_t at = draw % targets_.size();
    for (int group = 0; group < 2; ++group) cgroups_.close(targets_[at]);
    targets_.erase(targets_.begin() + static_cast<std::ptrdiff_t>(at));
    model_.close(at);
  }
  void name(std::uint64_t id) {
    is_any_running_ = false;
    cgroups_.name(id, path(id));
    model_.settle();
    model_.name(id, path(id));
  }
  void poll(unsigned times) {
    cgroups_.poll(times);
    for (; times > 0; --times) model_.end_poll();
  }

  void check(std::size_t at) {
    const NaiveReading expected = sum_of(model_.targets[at].received);
    for (std::size_t group = 0; group < 2; ++group) {
      const test::SlotSums::Sum now = cgroups_.read(targets_[at], group);
      RC_ASSERT(now.enabled == expected.enabled);
      RC_ASSERT(now.running == expected.running[group]);
      RC_ASSERT(now.counts[0] == expected.counts[group]);
    }
  }

  std::vector<std::string> paths_;
  SummedCgroups cgroups_;
  NaiveSums model_;
  std::vector<Slot> targets_;
  bool is_any_running_ = false;
};

RC_GTEST_PROP(CgroupSumsPropertyTest, ReadingsAreTheSumsOfAllIncrementsThatBelongToATarget, ()) {
  SumsAndModel both{any_tree()};

  for (const SumsStep& step : *any_sums_steps()) both.take(step);

  both.check();
}

RC_GTEST_PROP(CgroupSumsPropertyTest, TheRootHasAllThatWentInOnceAllIsNamed, ()) {
  const std::vector<std::string> paths = any_tree();
  SummedCgroups cgroups;
  const Slot root = cgroups.open(100, "/");
  nanoseconds time{};
  std::uint64_t counts = 0;

  unsigned polls = 0;
  for (const SumsStep& step : *any_sums_steps()) {
    if (step.kind == SumsStep::Kind::kAdd) {
      cgroups.run(step.id, nanoseconds{step.amount}, step.amount);
      time += nanoseconds{step.amount};
      counts += step.amount;
    }
    if (step.kind == SumsStep::Kind::kOpen) (void)cgroups.open(step.id, paths[step.id - 1]);
    if (step.kind == SumsStep::Kind::kName) cgroups.name(step.id, paths[step.id - 1]);
    if (step.kind == SumsStep::Kind::kPoll && ++polls < kMaxPollsUnnamed) {
      cgroups.poll();
    }
  }
  for (std::uint64_t id = 1; id <= kModelIds; ++id) cgroups.name(id, paths[id - 1]);

  RC_ASSERT(cgroups.enabled(root) == time);
  RC_ASSERT(cgroups.count(root) == counts);
  RC_ASSERT(cgroups.unnamed().cgroups == 0U);
}

}  // namespace
}  // namespace pex::collect
