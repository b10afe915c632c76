#include "cgroup/log_links.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "support/few_descriptors.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup::log_links_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

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
  const std::string names[] = {
      "<id>.log",         "-<id>.log",         "__-<id>.log",        "a_b_c-<id>",
      "a_b_c-<id>.log.1", "a_b_c-<id>.LOG",    "a_b_c-<id>log",      "a_b_c-<id>.log\n",
      "a_b_c<id>.log",    "a_b_c_<id>.log",    "a_b_c-<63>.log",     "a_b_c-<id>a.log",
      "a_b_c-<63>A.log",  "a_b_c-<63>g.log",   "a_b_c-<63> .log",    "a_b-<id>.log",
      "ab-<id>.log",      "a_b_c_d-<id>.log",  "_b_c-<id>.log",      "a__c-<id>.log",
      "a_b_-<id>.log",    "A_b_c-<id>.log",    "a_B_c-<id>.log",     "a_b_C-<id>.log",
      "-a_b_c-<id>.log",  "a-_b_c-<id>.log",   "a_-b_c-<id>.log",    "a_b-_c-<id>.log",
      "a_b_-c-<id>.log",  "a_b_c--<id>.log",   "a_b.b_c-<id>.log",   "a_b_c.c-<id>.log",
      ".a_b_c-<id>.log",  "a._b_c-<id>.log",   "a..a_b_c-<id>.log",  "a.-a_b_c-<id>.log",
      ".._b_c-<id>.log",  "../a_b_c-<id>.log", "a/a_b_c-<id>.log",   "a\n_b_c-<id>.log",
      "a_b\"_c-<id>.log", "a_b_c c-<id>.log",  "a\xff_b_c-<id>.log", "a_b_\xc3\xa4-<id>.log"};
  for (std::string name : names) {
    if (const auto at = name.find("<id>"); at != name.npos) name.replace(at, 4, hex);
    if (const auto at = name.find("<63>"); at != name.npos) name.replace(at, 4, hex.substr(1));
    EXPECT_FALSE(parse_log_link(name)) << name;
  }
}

TEST(ParseLogLinkTest, RefusesNamesWithoutAnIdThatAreCutOffOrHaveABinaryByte) {
  const std::string hex(64, 'a');
  for (const char* name : {"", ".", "..", ".log", "-.log", "__-.log"}) {
    EXPECT_FALSE(parse_log_link(name)) << name;
  }
  const std::string names[] = {
      std::string("a\0a_b_c-", 8) + hex + ".log",
      std::string(255, '_'),
      std::string(255, '\xff'),
      // What the kubelet makes of a pod with a name of 200 letters: it is cut, and the id with it.
      std::string(200, 'p') + "_default_main-" + hex.substr(0, 37) + ".log",
  };

  for (const std::string& name : names) EXPECT_FALSE(parse_log_link(name)) << name;
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

/// Links in a directory that is listed. Each test begins with the first update.
class LogLinksTest : public testing::Test {
 protected:
  std::string path(const std::string& names, int number) const {
    return "links/" + link_of(names, number);
  }
  void add(const std::string& names, int number) { tree_.write(path(names, number), ""); }
  void point(const std::string& names, int number, const std::string& target) {
    std::filesystem::create_symlink(target, tree_.path(path(names, number)));
  }
  void remove(const std::string& names, int number) { tree_.remove(path(names, number)); }

  std::string update(LogLinks::Clock::duration later = {}) {
    return outcome(links_.update(kStart + later));
  }
  /// Of the containers 1 to 5, as "2 pod/namespace/container".
  std::vector<std::string> known() const {
    std::vector<std::string> all;
    for (int number = 1; number <= 5; ++number) {
      const PodContainer* names = links_.find(id(number));
      if (names != nullptr) all.push_back(std::to_string(number) + " " + names_of(names));
    }
    return all;
  }

  test::TempTree tree_{{"links/"}};
  LogLinks links_{tree_.path("links")};
};

TEST_F(LogLinksTest, KnowsTheContainersThatAreThereAtTheStart) {
  add("web_shop_nginx", 1);
  add("db_shop_sql", 2);
  EXPECT_THAT(known(), IsEmpty());

  EXPECT_EQ(update(), "changed");

  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx", "2 db/shop/sql"));
  for (const std::string& other : {std::string(), id(1).substr(1), id(1) + "0"}) {
    EXPECT_EQ(links_.find(other), nullptr) << other;
  }
}

TEST_F(LogLinksTest, ReadsNamesAloneWhateverStandsBehindThem) {
  tree_.write(path("file_a_b", 1), "text");
  tree_.make_directory(path("directory_a_b", 2));
  point("nowhere_a_b", 3, "/nowhere/at/all");
  point("itself_a_b", 4, link_of("itself_a_b", 4));
  // Who opens this to read waits for ever.
  ASSERT_EQ(::mkfifo(tree_.path(path("pipe_a_b", 5)).c_str(), 0600), 0);

  EXPECT_EQ(update(), "changed");

  EXPECT_THAT(known(), ElementsAre("1 file/a/b", "2 directory/a/b", "3 nowhere/a/b", "4 itself/a/b",
                                   "5 pipe/a/b"));
}

TEST_F(LogLinksTest, KnowsThePodOfALinkByTheUidInItsTarget) {
  tree_.write(path("file_a_b", 1), "/var/log/pods/a_file_uid-1/b/0.log");
  point("web_shop_nginx", 2, "/var/log/pods/shop_web_uid-2/nginx/0.log");
  point("db_shop_sql", 3, "/var/log/pods/other_db_uid-3/sql/0.log");
  point("job_shop_run", 4, "/var/log/pods/shop_job_uid-4");
  ASSERT_EQ(update(), "changed");

  EXPECT_EQ(names_of(links_.find_pod("uid-2")), "web/shop/");
  for (const char* uid : {"uid-1", "uid-3", "uid-4", ""}) {
    EXPECT_EQ(names_of(links_.find_pod(uid)), "unknown") << uid;
  }

  point("late_shop_run", 5, "/var/log/pods/shop_late_uid-5/run/0.log");
  EXPECT_EQ(update(), "changed");
  EXPECT_EQ(names_of(links_.find_pod("uid-5")), "late/shop/");

  remove("web_shop_nginx", 2);
  update(1min);
  EXPECT_EQ(names_of(links_.find_pod("uid-2")), "unknown");
}

TEST_F(LogLinksTest, LearnsOfALinkThatAppearsAndForgetsOneThatVanishes) {
  EXPECT_EQ(update(), "unchanged");

  point("web_shop_nginx", 1, "/nowhere");
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx"));
  EXPECT_EQ(update(), "unchanged");

  remove("web_shop_nginx", 1);
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), IsEmpty());
  EXPECT_EQ(update(), "unchanged");
}

TEST_F(LogLinksTest, KnowsBothContainersOfARestartUntilTheOldLogIsRotatedAway) {
  add("web_shop_nginx", 1);
  ASSERT_EQ(update(), "changed");

  add("web_shop_nginx", 2);
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx", "2 web/shop/nginx"));

  remove("web_shop_nginx", 1);
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("2 web/shop/nginx"));
}

TEST_F(LogLinksTest, FollowsALinkThatIsRenamed) {
  add("web_shop_nginx", 1);
  ASSERT_EQ(update(), "changed");

  tree_.rename(path("web_shop_nginx", 1), path("db_shop_sql", 2));
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("2 db/shop/sql"));

  tree_.rename(path("db_shop_sql", 2), "elsewhere");
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), IsEmpty());

  tree_.rename("elsewhere", path("db_shop_sql", 2));
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("2 db/shop/sql"));
}

TEST_F(LogLinksTest, KnowsAContainerAsLongAsAnyOfItsLinksIsThere) {
  add("b_shop_nginx", 1);
  ASSERT_EQ(update(), "changed");

  add("a_shop_nginx", 1);
  add("c_shop_nginx", 1);
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("1 a/shop/nginx"));

  remove("a_shop_nginx", 1);
  EXPECT_EQ(update(), "changed");
  EXPECT_THAT(known(), ElementsAre("1 b/shop/nginx"));
}

TEST_F(LogLinksTest, DoesNotMindWhatElseIsInTheDirectory) {
  add("web_shop_nginx", 1);
  const std::string strange[] = {
      "\xff\xfe_b_c-" + id(2) + ".log",  link_of("a\n_b_c", 2), std::string(255, '-'),
      link_of(std::string(180, 'x'), 2), "..." + id(2),         "notes.txt"};
  for (const std::string& name : strange) tree_.write("links/before" + name.substr(6), "");
  ASSERT_EQ(update(), "changed");

  for (const std::string& name : strange) tree_.write("links/" + name, "");

  EXPECT_EQ(update(), "unchanged");
  EXPECT_EQ(update(1min), "unchanged");
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx"));
}

TEST_F(LogLinksTest, FollowsThePathToAnotherDirectory) {
  const auto make = [&](const std::string& in) { tree_.write(in + link_of("db_shop_sql", 2), ""); };
  struct Row {
    const char* name;
    std::function<void()> happens;
  };
  const Row rows[] = {
      {"in its place",
       [&] { make("new/"), tree_.rename("links", "old"), tree_.rename("new", "links"); }},
      {"created again", [&] { tree_.remove("links"), make("links/"); }},
      {"another link",
       [&] {
         make("new/");
         tree_.remove("links");
         std::filesystem::create_directory_symlink(tree_.path("new"), tree_.path("links"));
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    LogLinks links(tree_.path("links"));
    add("web_shop_nginx", 1);
    (void)links.update(kStart);

    row.happens();

    EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
    EXPECT_EQ(links.find(id(1)), nullptr);
    EXPECT_EQ(names_of(links.find(id(2))), "db/shop/sql");

    tree_.write("old/" + link_of("job_shop_run", 3), "");
    add("job_shop_run", 4);
    EXPECT_EQ(outcome(links.update(kStart + 1s)), "changed");
    EXPECT_EQ(links.find(id(3)), nullptr);
    EXPECT_EQ(names_of(links.find(id(4))), "job/shop/run");
  }
}

TEST_F(LogLinksTest, ReportsWhatToDoAboutADirectoryThatIsNotThereAndTriesAgainInASecond) {
  tree_.remove("links");

  const LogLinks::Update updated = links_.update(kStart);
  ASSERT_TRUE(updated.error);
  EXPECT_EQ(updated.error->code, ENOENT);
  EXPECT_EQ(updated.error->attempted, "read the directory '" + tree_.path("links") + "'");
  EXPECT_THAT(updated.error->remedy.text(), HasSubstr("mount the node's /var/log/containers"));

  add("web_shop_nginx", 1);
  EXPECT_THAT(update(999ms), HasSubstr("ENOENT"));
  EXPECT_EQ(update(1s), "changed");
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx"));
}

TEST_F(LogLinksTest, KeepsWhatItKnowsWhileTheDirectoryIsGone) {
  add("web_shop_nginx", 1);
  ASSERT_EQ(update(), "changed");

  tree_.rename("links", "elsewhere");
  EXPECT_THAT(update(1s), HasSubstr("ENOENT"));
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx"));

  tree_.rename("elsewhere", "links");
  EXPECT_EQ(update(2s), "unchanged");
  add("web_shop_nginx", 2);
  EXPECT_EQ(update(2s), "changed");
  EXPECT_THAT(known(), ElementsAre("1 web/shop/nginx", "2 web/shop/nginx"));
}

TEST_F(LogLinksTest, RefusesWhatIsNoDirectory) {
  tree_.remove("links");
  tree_.write("links", "");

  EXPECT_THAT(links_.update(kStart).error, Optional(Field(&Error::code, ENOTDIR)));
}

TEST_F(LogLinksTest, NoticesEachOfManyChangesInTheSameTickOfTheClock) {
  for (int number = 1; number <= 300; ++number) {
    add("a_b_c", number);
    ASSERT_EQ(update(), "changed") << number;
    ASSERT_EQ(names_of(links_.find(id(number))), "a/b/c");
  }
}

/// Of the past, or of the future, once the clock was set back. With as many entries, as the size of
/// a directory on a tmpfs shows their number.
TEST_F(LogLinksTest, ReadsAgainOnceAMinuteADirectoryWhoseTimesDoNotChange) {
  for (const std::chrono::hours from_now : {-24h, 24h}) {
    LogLinks links(tree_.path("links"));
    add("old_shop_sql", 3);
    const auto time = std::filesystem::file_time_type::clock::now() + from_now;
    std::filesystem::last_write_time(tree_.path("links"), time);
    (void)links.update(kStart);

    remove("old_shop_sql", 3);
    add("db_shop_sql", 2);
    std::filesystem::last_write_time(tree_.path("links"), time);
    EXPECT_EQ(outcome(links.update(kStart + 59s)), "unchanged") << from_now.count();
    EXPECT_EQ(outcome(links.update(kStart + 60s)), "changed");

    EXPECT_EQ(names_of(links.find(id(2))), "db/shop/sql");
    remove("db_shop_sql", 2);
  }
}

TEST_F(LogLinksTest, KnowsNoMoreThanItMayAndReportsIt) {
  links_ = LogLinks(tree_.path("links"), 3);
  add("a_b_c", 1);
  add("a_b_c", 2);
  ASSERT_EQ(update(), "changed");

  add("a_b_c", 3);
  EXPECT_EQ(update(1s), "changed");
  add("a_b_c", 4);
  add("a_b_c", 5);
  const std::string trouble =
      "not knowing all containers of '" + tree_.path("links") +
      "', which has more than 3 entries. Remedy: remove the entries that do not belong there";
  EXPECT_EQ(update(2s), trouble);
  EXPECT_THAT(known(), SizeIs(3));
  EXPECT_EQ(update(60s), trouble);
  EXPECT_THAT(known(), SizeIs(3));

  remove("a_b_c", 1);
  remove("a_b_c", 2);
  EXPECT_THAT(update(60s), ::testing::Not(HasSubstr("Remedy")));
  EXPECT_THAT(known(), SizeIs(3));
}

TEST_F(LogLinksTest, CountsEntriesOfOtherFormsTowardsTheBoundSoThatListingIsBounded) {
  for (const char* name : {"links/a", "links/b", "links/c"}) tree_.write(name, "");
  add("a_b_c", 1);
  LogLinks three(tree_.path("links"), 3);
  LogLinks four(tree_.path("links"), 4);

  EXPECT_THAT(outcome(three.update(kStart)), HasSubstr("more than 3 entries"));
  EXPECT_EQ(outcome(four.update(kStart)), "changed");
}

TEST_F(LogLinksTest, HasRoomForALinkThatReplacesOneItKnows) {
  links_ = LogLinks(tree_.path("links"), 1);
  add("a_b_c", 1);
  ASSERT_EQ(update(), "changed");

  tree_.write("new", "");
  tree_.rename("new", path("a_b_c", 1));

  EXPECT_EQ(update(), "unchanged");
  EXPECT_THAT(known(), ElementsAre("1 a/b/c"));
}

TEST_F(LogLinksTest, OutlivesALackOfDescriptorsAndKnowsASecondLaterWhatAppearedMeanwhile) {
  add("a_b_c", 1);
  ASSERT_EQ(update(), "changed");
  for (const auto later : {60s, 180s}) {
    if (later == 180s) add("d_e_f", 2);
    {
      const test::FewDescriptors none{0};
      const LogLinks::Update updated = links_.update(kStart + later);
      ASSERT_TRUE(updated.error);
      EXPECT_EQ(updated.error->code, EMFILE);
      EXPECT_EQ(updated.error->remedy, "raise " + ProgramTerm::kOpenFileLimit);
    }
    EXPECT_THAT(known(), ElementsAre("1 a/b/c"));
    EXPECT_EQ(update(later + 1s), later == 60s ? "unchanged" : "changed");
  }
  EXPECT_THAT(known(), ElementsAre("1 a/b/c", "2 d/e/f"));
}

}  // namespace
}  // namespace pex::cgroup::log_links_test
