#include "cgroup/log_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_tree.h"

namespace pex::cgroup::log_links_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr LogLinks::Clock::time_point kStart{};

std::string id(int number) {
  std::array<char, 65> digits;
  std::snprintf(digits.data(), digits.size(), "%064x", static_cast<unsigned>(number));
  return digits.data();
}

std::string link_of(const std::string& names, int number) {
  return names + "-" + id(number) + ".log";
}

/// "pod/namespace/container", or "unknown".
std::string names_of(const PodContainer* known) {
  if (known == nullptr) return "unknown";
  return known->pod + "/" + known->namespace_ + "/" + known->container;
}

std::string names_of(const LogLinks& links, int number) { return names_of(links.find(id(number))); }

std::string outcome(const LogLinks::Update& updated) {
  if (updated.error) return describe(*updated.error);
  return updated.has_changed ? "changed" : "unchanged";
}

TEST(ParseLogLinkTest, TakesThePartsOfANameThatTheKubeletGives) {
  const std::string hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  struct Row {
    const char* names;
    const char* parts;
  };
  const Row rows[] = {
      {"web_shop_nginx", "web/shop/nginx"},
      {"a_b_c", "a/b/c"},
      {"0_1_2", "0/1/2"},
      {"coredns-5d78c9869d-x7k2p_kube-system_coredns",
       "coredns-5d78c9869d-x7k2p/kube-system/coredns"},
      {"etcd-node-1.example.com_kube-system_etcd", "etcd-node-1.example.com/kube-system/etcd"},
      {"db-0_team--a_init-1", "db-0/team--a/init-1"},
      {"a.b.c_d_e", "a.b.c/d/e"},
      {"job-28391-abcde_batch_0123456789abcdef", "job-28391-abcde/batch/0123456789abcdef"},
  };

  for (const Row& row : rows) {
    const std::optional<LogLink> link = parse_log_link(std::string(row.names) + "-" + hex + ".log");

    ASSERT_TRUE(link) << row.names;
    EXPECT_EQ(link->container_id, hex) << row.names;
    EXPECT_EQ(names_of(&link->names), row.parts);
  }
}

TEST(ParseLogLinkTest, TakesNamesUpToTheLengthOfAFileName) {
  const std::string pod(255 - 70 - 13, 'p');
  const std::string name = link_of(pod + "_default_main", 7);
  ASSERT_EQ(name.size(), 254u);

  const std::optional<LogLink> link = parse_log_link(name);

  ASSERT_TRUE(link);
  EXPECT_EQ(link->names.pod, pod);
}

TEST(ParseLogLinkTest, RefusesWhatIsNearlySuchAName) {
  const std::string hex(64, 'a');
  const std::string rows[] = {
      "",
      ".",
      "..",
      ".log",
      "-.log",
      "__-.log",
      hex + ".log",
      "-" + hex + ".log",
      "__-" + hex + ".log",
      "a_b_c-" + hex,
      "a_b_c-" + hex + ".log.1",
      "a_b_c-" + hex + ".LOG",
      "a_b_c-" + hex + "log",
      "a_b_c-" + hex + ".log\n",
      "a_b_c" + hex + ".log",
      "a_b_c_" + hex + ".log",
      "a_b_c-" + hex.substr(1) + ".log",
      "a_b_c-" + hex + "a.log",
      "a_b_c-" + hex.substr(1) + "A.log",
      "a_b_c-" + hex.substr(1) + "g.log",
      "a_b_c-" + hex.substr(1) + " .log",
      "a_b-" + hex + ".log",
      "ab-" + hex + ".log",
      "a_b_c_d-" + hex + ".log",
      "_b_c-" + hex + ".log",
      "a__c-" + hex + ".log",
      "a_b_-" + hex + ".log",
      "A_b_c-" + hex + ".log",
      "a_B_c-" + hex + ".log",
      "a_b_C-" + hex + ".log",
      "-a_b_c-" + hex + ".log",
      "a-_b_c-" + hex + ".log",
      "a_-b_c-" + hex + ".log",
      "a_b-_c-" + hex + ".log",
      "a_b_-c-" + hex + ".log",
      "a_b_c--" + hex + ".log",
      "a_b.b_c-" + hex + ".log",
      "a_b_c.c-" + hex + ".log",
      ".a_b_c-" + hex + ".log",
      "a._b_c-" + hex + ".log",
      "a..a_b_c-" + hex + ".log",
      "a.-a_b_c-" + hex + ".log",
      ".._b_c-" + hex + ".log",
      "../a_b_c-" + hex + ".log",
      "a/a_b_c-" + hex + ".log",
      "a\n_b_c-" + hex + ".log",
      "a_b\"_c-" + hex + ".log",
      "a_b_c c-" + hex + ".log",
      "a\xff_b_c-" + hex + ".log",
      "a_b_\xc3\xa4-" + hex + ".log",
      std::string("a\0a_b_c-", 8) + hex + ".log",
      std::string(255, '_'),
      std::string(255, '\xff'),
      // What the kubelet makes of a pod with a name of 200 letters: it is cut, and the id with it.
      std::string(200, 'p') + "_default_main-" + hex.substr(0, 37) + ".log",
  };

  for (const std::string& row : rows) EXPECT_FALSE(parse_log_link(row)) << row;
}

rc::Gen<std::string> dns_labels() {
  const auto ends = rc::gen::elementOf(std::string("abcxyz019"));
  const auto inside = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abz09-")));
  return rc::gen::map(rc::gen::tuple(ends, inside, ends), [](const auto& parts) {
    return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts);
  });
}

rc::Gen<std::string> dns_names() {
  const auto more = rc::gen::resize(3, rc::gen::container<std::vector<std::string>>(dns_labels()));
  return rc::gen::map(rc::gen::pair(dns_labels(), more), [](const auto& labels) {
    std::string name = labels.first;
    for (const std::string& label : labels.second) name += "." + label;
    return name;
  });
}

rc::Gen<LogLink> log_links() {
  const auto digit = rc::gen::elementOf(std::string("0123456789abcdef"));
  return rc::gen::construct<LogLink>(
      rc::gen::container<std::string>(64, digit),
      rc::gen::construct<PodContainer>(dns_names(), dns_labels(), dns_labels()));
}

std::string written(const LogLink& link) {
  const PodContainer& names = link.names;
  return names.pod + "_" + names.namespace_ + "_" + names.container + "-" + link.container_id +
         ".log";
}

RC_GTEST_PROP(ParseLogLinkTest, GivesBackThePartsThatANameIsMadeOf, ()) {
  const LogLink link = *log_links();

  RC_ASSERT(parse_log_link(written(link)) == link);
}

RC_GTEST_PROP(ParseLogLinkTest, TakesNoNameThatItsPartsDoNotMake, ()) {
  std::string name = written(*log_links());
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, name.size());
    name[at] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                               rc::gen::elementOf(std::string("_-./aAfFgG0\n")));
  }

  const std::optional<LogLink> link = parse_log_link(name);

  if (link) RC_ASSERT(written(*link) == name);
}

TEST(LogLinksTest, KnowsTheContainersThatAreThereAtTheStart) {
  const test::TempTree tree{{link_of("web_shop_nginx", 1), ""}, {link_of("db_shop_sql", 2), ""}};
  LogLinks links(tree.root());

  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(outcome(links.update(kStart)), "changed");

  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");
  EXPECT_EQ(names_of(links, 3), "unknown");
  EXPECT_EQ(names_of(links.find("")), "unknown");
  EXPECT_EQ(names_of(links.find(id(1).substr(1))), "unknown");
  EXPECT_EQ(names_of(links.find(id(1) + "0")), "unknown");
}

TEST(LogLinksTest, ReadsNamesAloneWhateverStandsBehindThem) {
  test::TempTree tree{{link_of("file_a_b", 1), "text"}, {link_of("directory_a_b", 2) + "/", ""}};
  std::filesystem::create_symlink("/nowhere/at/all", tree.path(link_of("nowhere_a_b", 3)));
  std::filesystem::create_symlink(link_of("itself_a_b", 4), tree.path(link_of("itself_a_b", 4)));
  // Who opens this to read waits for ever.
  ASSERT_EQ(::mkfifo(tree.path(link_of("pipe_a_b", 5)).c_str(), 0600), 0);
  LogLinks links(tree.root());

  EXPECT_EQ(outcome(links.update(kStart)), "changed");

  EXPECT_EQ(names_of(links, 1), "file/a/b");
  EXPECT_EQ(names_of(links, 2), "directory/a/b");
  EXPECT_EQ(names_of(links, 3), "nowhere/a/b");
  EXPECT_EQ(names_of(links, 4), "itself/a/b");
  EXPECT_EQ(names_of(links, 5), "pipe/a/b");
}

TEST(LogLinksTest, KnowsThePodOfALinkByTheUidInItsTarget) {
  test::TempTree tree{{link_of("file_a_b", 1), "/var/log/pods/a_file_uid-1/b/0.log"}};
  const auto point = [&](const std::string& names, int number, const std::string& target) {
    std::filesystem::create_symlink(target, tree.path(link_of(names, number)));
  };
  point("web_shop_nginx", 2, "/var/log/pods/shop_web_uid-2/nginx/0.log");
  point("db_shop_sql", 3, "/var/log/pods/other_db_uid-3/sql/0.log");
  point("job_shop_run", 4, "/var/log/pods/shop_job_uid-4");
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  EXPECT_EQ(names_of(links.find_pod("uid-2")), "web/shop/");
  for (const char* uid : {"uid-1", "uid-3", "uid-4", ""}) {
    EXPECT_EQ(names_of(links.find_pod(uid)), "unknown") << uid;
  }

  point("late_shop_run", 5, "/var/log/pods/shop_late_uid-5/run/0.log");
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links.find_pod("uid-5")), "late/shop/");

  tree.remove(link_of("web_shop_nginx", 2));
  links.update(kStart + std::chrono::minutes{1});
  EXPECT_EQ(names_of(links.find_pod("uid-2")), "unknown");
}

TEST(LogLinksTest, LearnsOfALinkThatAppearsAndForgetsOneThatVanishes) {
  test::TempTree tree;
  LogLinks links(tree.root());
  EXPECT_EQ(outcome(links.update(kStart)), "unchanged");

  std::filesystem::create_symlink("/nowhere", tree.path(link_of("web_shop_nginx", 1)));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
  EXPECT_EQ(outcome(links.update(kStart)), "unchanged");

  tree.remove(link_of("web_shop_nginx", 1));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(outcome(links.update(kStart)), "unchanged");
}

TEST(LogLinksTest, KnowsBothContainersOfARestartUntilTheOldLogIsRotatedAway) {
  test::TempTree tree{{link_of("web_shop_nginx", 1), ""}};
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.write(link_of("web_shop_nginx", 2), "");
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
  EXPECT_EQ(names_of(links, 2), "web/shop/nginx");

  tree.remove(link_of("web_shop_nginx", 1));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(names_of(links, 2), "web/shop/nginx");
}

TEST(LogLinksTest, FollowsALinkThatIsRenamed) {
  test::TempTree tree{{"links/" + link_of("web_shop_nginx", 1), ""}, {"elsewhere/"}};
  LogLinks links(tree.path("links"));
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.rename("links/" + link_of("web_shop_nginx", 1), "links/" + link_of("db_shop_sql", 2));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");

  tree.rename("links/" + link_of("db_shop_sql", 2), "elsewhere/" + link_of("db_shop_sql", 2));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 2), "unknown");

  tree.rename("elsewhere/" + link_of("db_shop_sql", 2), "links/" + link_of("db_shop_sql", 2));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");
}

TEST(LogLinksTest, KnowsAContainerAsLongAsAnyOfItsLinksIsThere) {
  test::TempTree tree{{link_of("b_shop_nginx", 1), ""}};
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.write(link_of("a_shop_nginx", 1), "");
  tree.write(link_of("c_shop_nginx", 1), "");
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "a/shop/nginx");

  tree.remove(link_of("a_shop_nginx", 1));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "b/shop/nginx");
}

TEST(LogLinksTest, DoesNotMindWhatElseIsInTheDirectory) {
  test::TempTree tree{{link_of("web_shop_nginx", 1), ""}};
  const std::string strange[] = {
      "\xff\xfe_b_c-" + id(2) + ".log",  link_of("a\n_b_c", 2), std::string(255, '-'),
      link_of(std::string(180, 'x'), 2), "..." + id(2),         "notes.txt"};
  for (const std::string& name : strange) tree.write("before" + name.substr(6), "");
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  for (const std::string& name : strange) tree.write(name, "");

  EXPECT_EQ(outcome(links.update(kStart)), "unchanged");
  EXPECT_EQ(outcome(links.update(kStart + 1min)), "unchanged");
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
  EXPECT_EQ(names_of(links, 2), "unknown");
}

TEST(LogLinksTest, NoticesADirectoryThatIsCreatedAgain) {
  test::TempTree tree{{"links/" + link_of("web_shop_nginx", 1), ""}};
  LogLinks links(tree.path("links"));
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.remove("links");
  tree.write("links/" + link_of("db_shop_sql", 2), "");
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");

  tree.write("links/" + link_of("db_shop_sql", 3), "");
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  EXPECT_EQ(names_of(links, 3), "db/shop/sql");
}

TEST(LogLinksTest, LeavesADirectoryThatIsMovedAwayForTheOneInItsPlace) {
  test::TempTree tree{{"links/" + link_of("web_shop_nginx", 1), ""},
                      {"new/" + link_of("db_shop_sql", 2), ""}};
  LogLinks links(tree.path("links"));
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.rename("links", "old");
  tree.rename("new", "links");
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");

  tree.write("old/" + link_of("web_shop_nginx", 3), "");
  tree.write("links/" + link_of("web_shop_nginx", 4), "");
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  EXPECT_EQ(names_of(links, 3), "unknown");
  EXPECT_EQ(names_of(links, 4), "web/shop/nginx");
}

TEST(LogLinksTest, FollowsThePathToAnotherDirectory) {
  test::TempTree tree{{"a/" + link_of("web_shop_nginx", 1), ""},
                      {"b/" + link_of("db_shop_sql", 2), ""}};
  std::filesystem::create_directory_symlink(tree.path("a"), tree.path("links"));
  LogLinks links(tree.path("links"));
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.remove("links");
  std::filesystem::create_directory_symlink(tree.path("b"), tree.path("links"));
  EXPECT_EQ(outcome(links.update(kStart)), "changed");
  EXPECT_EQ(names_of(links, 1), "unknown");
  EXPECT_EQ(names_of(links, 2), "db/shop/sql");
}

TEST(LogLinksTest, ReportsWhatToDoAboutADirectoryThatIsNotThereAndTriesAgainInASecond) {
  test::TempTree tree;
  LogLinks links(tree.path("links"));

  const LogLinks::Update updated = links.update(kStart);
  ASSERT_TRUE(updated.error);
  EXPECT_EQ(updated.error->code, ENOENT);
  EXPECT_EQ(updated.error->attempted, "read the directory '" + tree.path("links") + "'");
  EXPECT_THAT(updated.error->remedy.text(), HasSubstr("mount the node's /var/log/containers"));

  tree.write("links/" + link_of("web_shop_nginx", 1), "");
  EXPECT_THAT(outcome(links.update(kStart + 999ms)), HasSubstr("ENOENT"));
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
}

TEST(LogLinksTest, KeepsWhatItKnowsWhileTheDirectoryIsGone) {
  test::TempTree tree{{"links/" + link_of("web_shop_nginx", 1), ""}};
  LogLinks links(tree.path("links"));
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.rename("links", "elsewhere");
  EXPECT_THAT(outcome(links.update(kStart + 1s)), HasSubstr("ENOENT"));
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");

  tree.rename("elsewhere", "links");
  EXPECT_EQ(outcome(links.update(kStart + 2s)), "unchanged");
  tree.write("links/" + link_of("web_shop_nginx", 2), "");
  EXPECT_EQ(outcome(links.update(kStart + 2s)), "changed");
  EXPECT_EQ(names_of(links, 1), "web/shop/nginx");
  EXPECT_EQ(names_of(links, 2), "web/shop/nginx");
}

TEST(LogLinksTest, RefusesWhatIsNoDirectory) {
  const test::TempTree tree{{"file", ""}};
  LogLinks links(tree.path("file"));

  const LogLinks::Update updated = links.update(kStart);

  ASSERT_TRUE(updated.error);
  EXPECT_EQ(updated.error->code, ENOTDIR);
}

TEST(LogLinksTest, NoticesEachOfManyChangesInTheSameTickOfTheClock) {
  test::TempTree tree;
  LogLinks links(tree.root());

  for (int number = 1; number <= 300; ++number) {
    tree.write(link_of("a_b_c", number), "");
    ASSERT_EQ(outcome(links.update(kStart)), "changed") << number;
    ASSERT_EQ(names_of(links, number), "a/b/c");
  }
}

/// Of the past, or of the future, once the clock was set back.
TEST(LogLinksTest, ReadsAgainOnceAMinuteADirectoryWhoseTimesDoNotChange) {
  for (const std::chrono::hours from_now : {-24h, 24h}) {
    test::TempTree tree{{"links/" + link_of("web_shop_nginx", 1), ""}};
    LogLinks links(tree.path("links"));
    const auto time = std::filesystem::file_time_type::clock::now() + from_now;
    std::filesystem::last_write_time(tree.path("links"), time);
    ASSERT_EQ(outcome(links.update(kStart)), "changed");

    tree.write("links/" + link_of("db_shop_sql", 2), "");
    std::filesystem::last_write_time(tree.path("links"), time);
    EXPECT_EQ(outcome(links.update(kStart + 59s)), "unchanged") << from_now.count();
    EXPECT_EQ(outcome(links.update(kStart + 60s)), "changed");

    EXPECT_EQ(names_of(links, 2), "db/shop/sql");
  }
}

TEST(LogLinksTest, KnowsNoMoreThanItMayAndReportsIt) {
  test::TempTree tree{{link_of("a_b_c", 1), ""}, {link_of("a_b_c", 2), ""}};
  LogLinks links(tree.root(), 3);
  ASSERT_EQ(outcome(links.update(kStart)), "changed");
  const auto known = [&] {
    int count = 0;
    for (int number = 1; number <= 5; ++number) count += links.find(id(number)) != nullptr;
    return count;
  };

  tree.write(link_of("a_b_c", 3), "");
  EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
  tree.write(link_of("a_b_c", 4), "");
  tree.write(link_of("a_b_c", 5), "");
  const std::string trouble =
      "not knowing all containers of '" + tree.root() +
      "', which has more than 3 entries. Remedy: remove the entries that do not belong there";
  EXPECT_EQ(outcome(links.update(kStart + 2s)), trouble);
  EXPECT_EQ(known(), 3);
  EXPECT_EQ(outcome(links.update(kStart + 60s)), trouble);
  EXPECT_EQ(known(), 3);

  tree.remove(link_of("a_b_c", 1));
  tree.remove(link_of("a_b_c", 2));
  EXPECT_THAT(outcome(links.update(kStart + 60s)), ::testing::Not(HasSubstr("Remedy")));
  EXPECT_EQ(known(), 3);
}

TEST(LogLinksTest, CountsEntriesOfOtherFormsTowardsTheBoundSoThatListingIsBounded) {
  const test::TempTree tree{{"a", ""}, {"b", ""}, {"c", ""}, {link_of("a_b_c", 1), ""}};
  LogLinks three(tree.root(), 3);
  LogLinks four(tree.root(), 4);

  EXPECT_THAT(outcome(three.update(kStart)), HasSubstr("more than 3 entries"));
  EXPECT_EQ(outcome(four.update(kStart)), "changed");
}

TEST(LogLinksTest, HasRoomForALinkThatReplacesOneItKnows) {
  test::TempTree tree{{"links/" + link_of("a_b_c", 1), ""}, {"new", ""}};
  LogLinks links(tree.path("links"), 1);
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  tree.rename("new", "links/" + link_of("a_b_c", 1));

  EXPECT_EQ(outcome(links.update(kStart)), "unchanged");
  EXPECT_EQ(names_of(links, 1), "a/b/c");
}

/// As long as it lives, this process can open nothing.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptorLeft(const NoDescriptorLeft&) = delete;
  NoDescriptorLeft& operator=(const NoDescriptorLeft&) = delete;
  ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(LogLinksTest, OutlivesALackOfDescriptors) {
  const test::TempTree tree{{link_of("a_b_c", 1), ""}};
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");

  {
    const NoDescriptorLeft none;
    const LogLinks::Update updated = links.update(kStart + 60s);
    ASSERT_TRUE(updated.error);
    EXPECT_EQ(updated.error->code, EMFILE);
    EXPECT_EQ(updated.error->remedy, "raise " + ProgramTerm::kOpenFileLimit);
  }

  EXPECT_EQ(names_of(links, 1), "a/b/c");
  EXPECT_EQ(outcome(links.update(kStart + 61s)), "unchanged");
}

TEST(LogLinksTest, KnowsALinkThatAppearedWithoutDescriptorsASecondAfterThereAreSome) {
  test::TempTree tree{{link_of("a_b_c", 1), ""}};
  LogLinks links(tree.root());
  ASSERT_EQ(outcome(links.update(kStart)), "changed");
  tree.write(link_of("d_e_f", 2), "");

  {
    const NoDescriptorLeft none;
    EXPECT_TRUE(links.update(kStart + 60s).error);
  }

  EXPECT_EQ(outcome(links.update(kStart + 61s)), "changed");
  EXPECT_EQ(names_of(links, 2), "d/e/f");
}

}  // namespace
}  // namespace pex::cgroup::log_links_test
