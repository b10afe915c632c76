#include <atomic>
#include <iterator>
#include <ostream>
#include <random>

#include "cgroup/tree.h"
#include "support/test_headers.h"
#include "support/timed_property.h"
#include "watched_tree.h"

namespace pex::cgroup::tree_stress_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Directories = Tree::Directories;

/// What a Tree should know, from the file system and the selection alone.
Directories all_there_is(const CgroupTree& host, const Selection& selection, bool names_all = false,
                         const std::string& path = "") {
  Directories all;
  for (const auto& entry : fs::directory_iterator(host.path(path))) {
    if (!entry.is_directory()) continue;
    const std::string child = path + "/" + entry.path().filename().string();
    const bool is_selected = selection.matches(child);
    const bool is_entered = names_all || selection.may_match_below(child);
    if (is_selected || is_entered) all[child] = {host.inode(child), is_selected};
    if (is_entered) all.merge(all_there_is(host, selection, names_all, child));
  }
  return all;
}

Directories found_by_another(const CgroupTree& host, const Selection& selection) {
  Tree fresh{host.root(), selection};
  must_update(fresh);
  return fresh.directories();
}

/// Few names, so that paths are used again, and such that sort close to what is below the first.
constexpr const char* kNames[] = {"a", "a-", "a0"};

Selection any_selection() {
  const std::vector<Selection> some = {
      selection({"/**"}),
      selection({"/*/*"}),
      selection({"/a/**", "/*/a0"}),
      selection({"/**"}, {"/a/**"}),
      selection({"/**"}, {"/a", "/*/a-"}),
      selection({"re:/(a|a0)/.*"}),
      selection({"/a-/a/*", "/a0"}),
  };
  return some[*rc::gen::inRange<std::size_t>(0, some.size())];
}

struct Step {
  enum class Kind { kMake, kRemove, kMakeAnew, kWriteFile };
  Kind kind = Kind::kMake;
  std::string path;
};
using Steps = std::vector<Step>;

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kKinds[] = {"make", "remove", "make anew", "write a file in"};
  return out << kKinds[static_cast<int>(step.kind)] << ' ' << step.path;
}

/// Makes the parents that are missing; removes and makes again only what is there.
void act(const Step& step, CgroupTree& host) {
  const bool is_there = host.has(step.path);
  if (step.kind == Step::Kind::kMake) host.make(step.path);
  if (step.kind == Step::Kind::kRemove && is_there) host.remove(step.path);
  if (step.kind == Step::Kind::kMakeAnew && is_there) {
    host.remove(step.path);
    host.make(step.path);
  }
  if (step.kind == Step::Kind::kWriteFile && is_there) host.write(step.path + "/file");
}

/// What happens before an update, and during it.
struct Round {
  Steps before;
  Steps meanwhile;
  bool is_much_later = false;
};

std::ostream& operator<<(std::ostream& out, const Round& round) {
  for (const Step& step : round.before) out << step << "; ";
  out << (round.is_much_later ? "walk; " : "update; ");
  for (const Step& step : round.meanwhile) out << step << "; ";
  return out;
}

std::string join(const std::vector<std::string>& components) {
  std::string path;
  for (const std::string& each : components) path += "/" + each;
  return path;
}

rc::Gen<std::string> any_path() {
  const auto name =
      rc::gen::elementOf(std::vector<std::string>(std::begin(kNames), std::end(kNames)));
  const auto components = rc::gen::container<std::vector<std::string>>(name);
  return rc::gen::map(rc::gen::resize(3, rc::gen::nonEmpty(components)), join);
}

rc::Gen<Steps> some_steps(int most) {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>(
      {{6, Kind::kMake}, {3, Kind::kRemove}, {2, Kind::kMakeAnew}, {1, Kind::kWriteFile}});
  const auto step =
      rc::gen::build<Step>(rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::path, any_path()));
  return rc::gen::resize(most, rc::gen::container<Steps>(step));
}

rc::Gen<std::vector<Round>> any_rounds() {
  const auto round = rc::gen::build<Round>(
      rc::gen::set(&Round::before, some_steps(6)), rc::gen::set(&Round::meanwhile, some_steps(6)),
      rc::gen::set(&Round::is_much_later, rc::gen::weightedElement<bool>({{5, false}, {1, true}})));
  return rc::gen::container<std::vector<Round>>(round);
}

PEX_TIMED_PROPERTY(TreeStressTest, KnowsAfterAnyChangesWhatAnotherFindsThereForTheFirstTime) {
  const Selection wanted = any_selection();
  CgroupTree host;
  Tree tree{host.root(), wanted};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    for (const Step& step : round.before) act(step, host);
    if (round.is_much_later) now += kMinute;
    const Directories before = tree.directories();
    const bool changed = must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.directories() == all_there_is(host, wanted));
    RC_ASSERT(changed == (tree.directories() != before));
  }
  RC_ASSERT(tree.directories() == found_by_another(host, wanted));
  RC_ASSERT(tree.unreadable().empty());
}

PEX_TIMED_PROPERTY(TreeStressTest, NamesAfterAnyChangesWhatIsThere) {
  const Selection wanted = any_selection();
  CgroupTree host;
  Tree tree{host.root(), wanted};
  Tree::Clock::time_point now = kStart;

  for (const Round& round : *any_rounds()) {
    for (const Step& step : round.before) act(step, host);
    now += kMinute;
    const bool names_all = *rc::gen::weightedElement<bool>({{5, true}, {1, false}});
    tree.name_all(names_all);
    must_update(tree, now);

    const Directories there = all_there_is(host, wanted, names_all);
    RC_ASSERT(tree.directories() == there);
    RC_ASSERT(tree.followed() == all_there_is(host, wanted).size());
    for (const auto& [path, directory] : there) {
      const std::string* const name = tree.names()->path_of(directory.inode);
      RC_ASSERT((name != nullptr) == names_all);
      RC_ASSERT((name == nullptr || *name == path));
    }
  }
}

PEX_TIMED_PROPERTY(TreeStressTest, KnowsSoonWhatIsThereWhateverHappensWhileItWalks) {
  const Selection wanted = any_selection();
  CgroupTree host;
  Tree tree{host.root(), wanted};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    for (const Step& step : round.before) act(step, host);
    if (round.is_much_later) now += kMinute;
    auto next = round.meanwhile.begin();
    on_watch = [&](const std::string&) {
      if (next != round.meanwhile.end()) act(*next++, host);
    };
    must_update(tree, now);
    on_watch = nullptr;
    while (next != round.meanwhile.end()) act(*next++, host);
    must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.directories() == all_there_is(host, wanted));
  }
}

bool knows(const Tree& tree, const CgroupTree& host, const std::string& path) {
  const auto known = tree.directories().find(path);
  return known != tree.directories().end() && known->second.inode == host.inode(path);
}

/// How many it has to miss when `top` is removed now: those that are not known, in a directory that
/// is, and so is watched.
std::uint64_t to_be_missed(const Tree& tree, const CgroupTree& host, const std::string& top) {
  std::vector<std::string> going{top};
  for (const auto& entry : fs::recursive_directory_iterator(host.path(top))) {
    if (entry.is_directory()) going.push_back(entry.path().string().substr(host.root().size()));
  }
  return static_cast<std::uint64_t>(
      std::count_if(going.begin(), going.end(), [&](const std::string& path) {
        const std::string parent = path.substr(0, path.rfind('/'));
        return tree.selection().matches(path) && !knows(tree, host, path) &&
               (parent.empty() || knows(tree, host, parent));
      }));
}

PEX_TIMED_PROPERTY(TreeStressTest, MissesEachThatCameAndWentInADirectoryThatItKnew) {
  CgroupTree host;
  Tree tree{host.root(), any_selection()};
  Tree::Clock::time_point now = kStart;
  must_update(tree, now);

  for (const Round& round : *any_rounds()) {
    std::uint64_t expected = 0;
    for (const Step& step : round.before) {
      const bool removes = step.kind == Step::Kind::kRemove || step.kind == Step::Kind::kMakeAnew;
      if (removes && host.has(step.path)) expected += to_be_missed(tree, host, step.path);
      act(step, host);
    }
    if (round.is_much_later) now += kMinute;
    must_update(tree, now);
    host.let_inodes_go();

    RC_ASSERT(tree.take_missed() == expected);
  }
}

Step any_step(std::mt19937& random) {
  constexpr Step::Kind kKinds[] = {Step::Kind::kMake, Step::Kind::kMake, Step::Kind::kRemove,
                                   Step::Kind::kMakeAnew};
  const auto below = [&](std::size_t bound) { return random() % bound; };
  Step step{kKinds[below(std::size(kKinds))], ""};
  for (std::size_t depth = 1 + below(3); depth > 0; --depth) {
    step.path += std::string("/") + kNames[below(std::size(kNames))];
  }
  return step;
}

TEST(TreeStressTest, KnowsInTheEndWhatIsThereHoweverMuchHappensWhileItWalks) {
  const Selection wanted = selection({"/**"});
  on_watch = [](const std::string&) { std::this_thread::sleep_for(20us); };  // for others to act

  test::run_rounds(300, [&](unsigned round) {
    CgroupTree host;
    Tree tree{host.root(), wanted};
    must_update(tree);
    std::atomic<bool> done = false;
    std::thread others([&] {
      std::mt19937 random(round);
      for (int steps = 0; steps < 50; ++steps) act(any_step(random), host);
      done = true;
    });
    while (!done) must_update(tree);
    others.join();

    must_update(tree);
    host.let_inodes_go();
    EXPECT_EQ(tree.directories(), all_there_is(host, wanted));
    EXPECT_EQ(tree.directories(), found_by_another(host, wanted));
  });
  on_watch = nullptr;
}

}  // namespace
}  // namespace pex::cgroup::tree_stress_test
