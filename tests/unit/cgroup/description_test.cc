#include "cgroup/description.h"

#include <cerrno>

#include "support/patience.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup::description_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using Described = std::shared_ptr<const Description>;

constexpr Describer::Clock::time_point kStart{};

const std::string kId(64, 'a');
const std::string kOtherId(64, 'b');
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";

std::string container(const std::string& id) { return "/kubepods/burstable/pod" + kUid + "/" + id; }

Described first(const Describer& describer, const std::string& path) {
  return describer.describe(path, nullptr);
}

std::string outcome(const Describer::Update& updated) {
  if (!updated.errors.empty()) return describe(updated.errors.front());
  return updated.has_changed ? "changed" : "unchanged";
}

TEST(DescriberTest, ReportsWhatThePathHolds) {
  const std::string in_systemd =
      "/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796"
      ".slice/cri-containerd-" +
      kId + ".scope";
  struct Row {
    std::string path;
    std::vector<Label> identity;
    std::vector<Label> information;
    std::string container_id;
  };
  const Row rows[] = {
      {"/", {}, {}, ""},
      {"/system.slice/web@1.service",
       {},
       {{"unit", "web@1.service"}, {"slice", "system.slice"}},
       ""},
      {"/user.slice/user-1000.slice/session-3.scope",
       {},
       {{"unit", "session-3.scope"},
        {"slice", "user-1000.slice"},
        {"uid", "1000"},
        {"session", "3"}},
       ""},
      {"/docker/" + kId, {{"container_id", kId}}, {{"runtime", "docker"}}, kId},
      {container(kId),
       {{"container_id", kId}, {"pod_uid", kUid}},
       {{"qos_class", "burstable"}},
       kId},
      {"/kubepods/burstable/pod" + kUid, {{"pod_uid", kUid}}, {{"qos_class", "burstable"}}, ""},
      {in_systemd,
       {{"container_id", kId}, {"pod_uid", kUid}},
       {{"qos_class", "guaranteed"},
        {"runtime", "containerd"},
        {"unit", "cri-containerd-" + kId + ".scope"},
        {"slice", "kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice"}},
       kId},
  };
  const Describer describer;

  for (const Row& row : rows) {
    const Described described = first(describer, row.path);

    ASSERT_TRUE(described) << row.path;
    EXPECT_EQ(described->identity, row.identity) << row.path;
    EXPECT_EQ(described->information, row.information) << row.path;
    EXPECT_EQ(described->container_id, row.container_id) << row.path;
  }
}

TEST(DescriberTest, AddsTheLabelsOfTheOperatorsRulesToTheIdentity) {
  LabelRules::Rule rule{*Pattern::parse("re:/docker/(.).*"), {}};
  rule.set.push_back({"team", *Template::parse("team-$1", 1)});
  rule.set.push_back({"cluster", *Template::parse("east", 1)});
  const Describer describer{LabelRules({rule})};

  EXPECT_THAT(
      first(describer, "/docker/" + kId)->identity,
      ElementsAre(Pair("container_id", kId), Pair("cluster", "east"), Pair("team", "team-a")));
  EXPECT_THAT(first(describer, "/batch")->identity, IsEmpty());
}

TEST(DescriberTest, LeavesOutAndNamesALabelThatIsTooLongAndNeverGivesAPartOfIt) {
  const LabelRules::Rule rule{
      *Pattern::parse("re:(.+)"),
      {{"twice", *Template::parse("$1$1", 1)}, {"once", *Template::parse("$1", 1)}}};
  const Describer describer{LabelRules({rule}), {}, {}, 64};
  const std::string path = "/" + std::string(40, 'x');

  EXPECT_THAT(first(describer, path)->identity, ElementsAre(Pair("once", path)));
  EXPECT_EQ(first(describer, path)->too_long, "twice");
  EXPECT_THAT(first(describer, "/" + std::string(30, '\xff'))->identity, IsEmpty())
      << "as published";
  EXPECT_EQ(first(describer, "/short")->too_long, "");
}

TEST(DescriberTest, HasNothingNewWithoutNamesOfPods) {
  Describer describer;

  EXPECT_EQ(outcome(describer.update(kStart)), "unchanged");
  EXPECT_EQ(outcome(describer.update(kStart + 1h)), "unchanged");
}

TEST(DescriberTest, GivesTheSameObjectAsBeforeWhereNothingHasChanged) {
  const Describer describer;
  const Described before = first(describer, container(kId));

  EXPECT_EQ(describer.describe(container(kId), before), before);
  EXPECT_NE(describer.describe(container(kOtherId), before), before);
}

/// Of container(): what its path says, and what a log of "web_shop_nginx" adds.
const auto kOfPath = ElementsAre(Pair("qos_class", "burstable"));
const auto kOfWeb = ElementsAre(Pair("qos_class", "burstable"), Pair("pod", "web"),
                                Pair("namespace", "shop"), Pair("container", "nginx"));

class DescriberOfPodsTest : public testing::Test {
 protected:
  void add_log(const std::string& names, const std::string& id) {
    tree_.write(names + "-" + id + ".log", "");
    EXPECT_EQ(outcome(describer_.update(kStart)), "changed");
  }
  void remove_log(const std::string& names, const std::string& id) {
    tree_.remove(names + "-" + id + ".log");
  }

  test::TempTree tree_;
  Describer describer_{{}, LogLinks(tree_.root()), {}, kMaxLabelBytes, test::kPatience};
};

TEST_F(DescriberOfPodsTest, NamesTheContainerThatALogReports) {
  add_log("web_shop_nginx", kId);

  EXPECT_THAT(first(describer_, container(kId))->information, kOfWeb);
  EXPECT_THAT(first(describer_, container(kOtherId))->information, kOfPath);
  EXPECT_THAT(first(describer_, container(kId) + "/inner")->information, kOfWeb);
  EXPECT_THAT(first(describer_, "/system.slice")->information,
              ElementsAre(Pair("slice", "system.slice")));
}

TEST_F(DescriberOfPodsTest, NamesNoContainerThatWhoRunsThereHasNamed) {
  add_log("web_shop_nginx", kId);

  for (const std::string& delegated :
       {"/user.slice/user-1000.slice/user@1000.service" + container(kId),
        container(kOtherId) + container(kId), container(kOtherId) + "/docker/" + kId,
        "/docker/" + kId}) {
    EXPECT_THAT(first(describer_, delegated)->information, Not(IsSupersetOf({Pair("pod", "web")})))
        << delegated;
  }
}

TEST_F(DescriberOfPodsTest, NamesThePodOfAContainerWithoutALog) {
  std::filesystem::create_symlink("/var/log/pods/shop_web_" + kUid + "/nginx/0.log",
                                  tree_.path("web_shop_nginx-" + kId + ".log"));
  ASSERT_EQ(outcome(describer_.update(kStart)), "changed");

  EXPECT_THAT(first(describer_, container(kId))->information,
              IsSupersetOf({Pair("pod", "web"), Pair("container", "nginx")}));
  const Described of_pod = first(describer_, container(kOtherId));
  EXPECT_THAT(of_pod->information, ElementsAre(Pair("qos_class", "burstable"), Pair("pod", "web"),
                                               Pair("namespace", "shop")));

  std::filesystem::create_symlink("/var/log/pods/shop_web_" + kUid + "/sql/0.log",
                                  tree_.path("web_shop_sql-" + kOtherId + ".log"));
  ASSERT_EQ(outcome(describer_.update(kStart)), "changed");
  EXPECT_THAT(describer_.describe(container(kOtherId), of_pod)->information,
              IsSupersetOf({Pair("pod", "web"), Pair("container", "sql")}));
}

TEST_F(DescriberOfPodsTest, NamesAContainerAsSoonAsItsLogAppears) {
  ASSERT_EQ(outcome(describer_.update(kStart)), "unchanged");
  const Described nameless = first(describer_, container(kId));
  ASSERT_THAT(nameless->information, kOfPath);

  add_log("web_shop_nginx", kId);
  const Described named = describer_.describe(container(kId), nameless);

  EXPECT_THAT(named->information, kOfWeb);
  EXPECT_EQ(named->identity, nameless->identity);
  EXPECT_EQ(outcome(describer_.update(kStart)), "unchanged");
  EXPECT_EQ(describer_.describe(container(kId), named), named);
}

TEST_F(DescriberOfPodsTest, KeepsTheNameOfAContainerWhoseLogIsGone) {
  add_log("web_shop_nginx", kId);
  const Described named = first(describer_, container(kId));

  remove_log("web_shop_nginx", kId);
  EXPECT_EQ(outcome(describer_.update(kStart)), "changed");

  EXPECT_EQ(describer_.describe(container(kId), named), named);
  EXPECT_THAT(first(describer_, container(kId))->information,
              kOfPath);  // nobody knew it before
}

TEST_F(DescriberOfPodsTest, HasNoNamesOnceTheyAreNotReadAnyMore) {
  add_log("web_shop_nginx", kId);
  const Described named = first(describer_, container(kId));

  const Describer without{LabelRules{}, std::nullopt};
  EXPECT_THAT(without.describe(container(kId), named)->information, kOfPath);
}

TEST_F(DescriberOfPodsTest, TakesANewNameForTheOldOne) {
  add_log("web_shop_nginx", kId);
  const Described before = first(describer_, container(kId));

  remove_log("web_shop_nginx", kId);
  add_log("db_shop_sql", kId);

  EXPECT_THAT(describer_.describe(container(kId), before)->information,
              ElementsAre(Pair("qos_class", "burstable"), Pair("pod", "db"),
                          Pair("namespace", "shop"), Pair("container", "sql")));
}

TEST_F(DescriberOfPodsTest, KeepsTheNamesItKnowsWhileTheyCannotBeRead) {
  test::TempTree node{{"logs/web_shop_nginx-" + kId + ".log", ""}};
  Describer describer{{}, LogLinks(node.path("logs")), {}, kMaxLabelBytes, test::kPatience};
  ASSERT_EQ(outcome(describer.update(kStart)), "changed");
  const Described before = first(describer, container(kId));

  node.rename("logs", "away");
  const Describer::Update failed = describer.update(kStart + 60s);

  ASSERT_EQ(failed.errors.size(), 1U);
  EXPECT_EQ(failed.errors.front().code, ENOENT);
  EXPECT_EQ(describer.describe(container(kId), before), before);
  EXPECT_EQ(*first(describer, container(kId)), *before);
}

const std::string kUser = "/user.slice/user-1000.slice/user@1000.service";

/// Cgroups with the descriptions that their paths give them.
struct Claims {
  explicit Claims(std::vector<std::string> of) : paths(std::move(of)), descriptions(paths.size()) {
    for (std::size_t i = 0; i < paths.size(); ++i) descriptions[i] = first(Describer{}, paths[i]);
  }
  std::vector<std::string> take() {
    std::vector<DescribedCgroup> all;
    for (std::size_t i = 0; i < paths.size(); ++i) all.push_back({&paths[i], &descriptions[i]});
    return take_claimed_ids(all);
  }
  std::vector<std::string> paths;
  std::vector<Described> descriptions;
};

TEST(ClaimedIdsTest, ADelegatedCgroupLosesTheIdsOfAnotherOneHoweverShortItsPathIs) {
  Claims claims({kUser + "/docker/" + kId, "/a/much/longer/path/to/docker/" + kId});

  EXPECT_THAT(claims.take(), ElementsAre(claims.paths[0]));

  EXPECT_THAT(claims.descriptions[0]->identity, IsEmpty());
  EXPECT_THAT(claims.descriptions[0]->container_id, IsEmpty());
  EXPECT_EQ(claims.descriptions[1]->container_id, kId);
  EXPECT_THAT(claims.take(), IsEmpty());  // reported once
  EXPECT_THAT(Describer{}.describe(claims.paths[0], claims.descriptions[0])->identity, IsEmpty());
}

TEST(SharedSeriesTest, ACgroupThatIsCalledLikeOneIsInIt) {
  const Describer describer;
  const auto session = describer.describe("/user.slice/session-1.scope", nullptr);
  const auto literal = describer.describe("/user.slice/session-*.scope", nullptr);

  EXPECT_EQ(session->series_path, "/user.slice/session-*.scope");
  EXPECT_EQ(literal->series_path, session->series_path);
  ASSERT_TRUE(literal->of_series);
  EXPECT_EQ(*literal->of_series, *session->of_series);
  EXPECT_FALSE(describer.describe("/user.slice/a.service", nullptr)->of_series);
}

TEST(ClaimedIdsTest, OneThatIsNestedLosesThePodThatIsAnothers) {
  Claims claims({container(kId), "/docker/" + kOtherId + container(std::string(64, 'c'))});

  EXPECT_THAT(claims.take(), ElementsAre(claims.paths[1]));
}

TEST(ClaimedIdsTest, OfDelegatedOnesTheNearestToTheRootHasTheId) {
  Claims claims({kUser + "/app.slice/docker/" + kId, kUser + "/docker/" + kId,
                 kUser + "/docker/" + kId + "/inner"});

  EXPECT_THAT(claims.take(), ElementsAre(claims.paths[0]));
}

TEST(ClaimedIdsTest, CgroupsThatRootHasNamedKeepTheIdsThatTheyShare) {
  Claims claims({"/machine.slice/libpod-" + kId + ".scope",
                 "/machine.slice/libpod-conmon-" + kId + ".scope",
                 "/machine.slice/libpod-" + kId + ".scope/container"});

  EXPECT_THAT(claims.take(), IsEmpty());
  EXPECT_EQ(claims.descriptions[1]->container_id, kId);
}

}  // namespace
}  // namespace pex::cgroup::description_test
