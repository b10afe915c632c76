#include "cgroup/container_names.h"

#include <sys/stat.h>

#include <cerrno>

#include "cgroup/description.h"
#include "support/patience.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/cgroup/patterns.h"

namespace pex::cgroup::container_names_test {
namespace {

using namespace std::chrono_literals;
using Source = ContainerNames::Source;

const ContainerNames::Clock::time_point kStart{1000s};
const std::string kWeb(64, 'a');
const std::string kDatabase(64, 'b');

/// As Docker 28 writes it, shortened.
std::string docker(const std::string& name, const std::string& image) {
  return R"({"StreamConfig":{},"State":{"Running":true,"Pid":4711},"ID":")" + kWeb +
         R"(","Created":"2026-01-02T03:04:05.6Z","Config":{"Hostname":"aaaa","Env":["A=b: {c"],)" +
         R"("Image":")" + image + R"("},"Image":"sha256:0123","Name":"/)" + name + R"("})";
}

/// As Podman 4 writes it, shortened.
std::string storage() {
  return R"([{"id":")" + kWeb + R"(","names":["web"],"image":"4567","layer":"89ab","metadata":)" +
         R"("{\"image-name\":\"docker.io/library/nginx:1.25\",\"name\":\"web\"}","created":"x"},)" +
         R"({"id":")" + kDatabase + R"(","names":["db"],"metadata":"{\"name\":\"db\"}"}])";
}

ContainerName named(const ContainerNames& names, const std::string& id) {
  const ContainerName* found = names.find(id);
  return found == nullptr ? ContainerName{"(none)", ""} : *found;
}

ContainerNames names_in(const std::string& path) { return ContainerNames{{Source{path}}}; }

TEST(ContainerNamesTest, AreReadFromFilesOfDocker) {
  test::TempTree tree{{kWeb + "/config.v2.json", docker("web", "nginx:1.25")}, {"tmp/x", ""}};
  ContainerNames names = names_in(tree.root());

  EXPECT_TRUE(names.update(kStart).has_changed);
  EXPECT_EQ(named(names, kWeb), (ContainerName{"web", "nginx:1.25"}));
  EXPECT_EQ(named(names, kDatabase).container, "(none)");
  EXPECT_FALSE(names.update(kStart + 2s).has_changed);
}

TEST(ContainerNamesTest, FollowNewAndRenamedContainersOfDocker) {
  test::TempTree tree{{kWeb + "/config.v2.json", docker("web", "nginx")}};
  ContainerNames names = names_in(tree.root());
  (void)names.update(kStart);

  tree.write(kDatabase + "/hostname", "x");  // its other files come later
  (void)names.update(kStart + 1s);
  tree.write(kDatabase + "/config.v2.json", docker("db", "postgres"));
  tree.write(kWeb + "/config.v2.json", docker("renamed", "nginx"));
  EXPECT_TRUE(names.update(kStart + 2s).has_changed);
  EXPECT_EQ(named(names, kDatabase), (ContainerName{"db", "postgres"}));
  (void)names.update(kStart + 61s);
  EXPECT_EQ(named(names, kWeb).container, "renamed");

  std::filesystem::remove_all(tree.path(kWeb));
  EXPECT_TRUE(names.update(kStart + 63s).has_changed);
  EXPECT_EQ(named(names, kWeb).container, "(none)");
}

TEST(ContainerNamesTest, AreReadFromTheStorageOfPodman) {
  const test::TempTree tree{{"overlay-containers/containers.json", storage()}};
  ContainerNames names = names_in(tree.root());
  (void)names.update(kStart);

  EXPECT_EQ(named(names, kWeb), (ContainerName{"web", "docker.io/library/nginx:1.25"}));
  EXPECT_EQ(named(names, kDatabase), (ContainerName{"db", ""}));
}

/// containers/storage keeps those with --rm in a file of their own, and both for each driver.
TEST(ContainerNamesTest, AreReadFromEachFileOfTheStorageOfPodman) {
  for (const std::string driver : {"overlay", "vfs", "btrfs", "zfs"}) {
    test::TempTree tree{{driver + "-images/images.json", "[]"}};
    ContainerNames names = names_in(tree.root());
    (void)names.update(kStart);
    tree.write(driver + "-containers/volatile-containers.json", storage());
    EXPECT_TRUE(names.update(kStart + 1s).has_changed) << driver;
    EXPECT_EQ(named(names, kWeb).container, "web") << driver;

    const std::string other(64, 'c');
    tree.write(driver + "-containers/containers.json",
               R"([{"id":")" + other + R"(","metadata":"{\"name\":\"kept\"}"}])");
    EXPECT_TRUE(names.update(kStart + 2s).has_changed) << driver;
    EXPECT_EQ(named(names, other).container, "kept") << driver;
    EXPECT_EQ(named(names, kWeb).container, "web") << driver;

    tree.write(driver + "-containers/volatile-containers.json", "[]");
    (void)names.update(kStart + 3s);
    EXPECT_EQ(named(names, kWeb).container, "(none)") << "it has ended, " << driver;
    EXPECT_EQ(named(names, other).container, "kept") << driver;
    EXPECT_FALSE(names.update(kStart + 4s).has_changed) << driver;
  }
}

TEST(ContainerNamesTest, AreReadFromAFileOfAnOperatorAlsoByShortIds) {
  test::TempTree tree{{"names.yaml", kWeb.substr(0, 12) +
                                         ": {container: web, image: nginx:1.25}\n" + kDatabase +
                                         ": {container: db}\n" + "aaaa: {container: not an id}\n"}};
  ContainerNames names = names_in(tree.path("names.yaml"));
  (void)names.update(kStart);
  EXPECT_EQ(named(names, kWeb), (ContainerName{"web", "nginx:1.25"}));
  EXPECT_EQ(named(names, kDatabase), (ContainerName{"db", ""}));

  tree.write("names.yaml", "{\"" + kWeb + "\": {\"container\": \"other\"}}");
  EXPECT_FALSE(names.update(kStart + 900ms).has_changed) << "at most once a second";
  EXPECT_TRUE(names.update(kStart + 1s).has_changed);
  EXPECT_EQ(named(names, kWeb), (ContainerName{"other", ""}));
}

TEST(ContainerNamesTest, AreThoseOfTheFirstSourceThatHasOne) {
  const test::TempTree tree{
      {"one", kWeb + ": {container: one}\n"},
      {"two", kWeb + ": {container: two}\n" + kDatabase + ": {container: db}\n"}};
  ContainerNames names{{Source{tree.path("one")}, Source{tree.path("two")}}};
  (void)names.update(kStart);

  EXPECT_EQ(named(names, kWeb).container, "one");
  EXPECT_EQ(named(names, kDatabase).container, "db");
}

TEST(ContainerNamesTest, ThatAreLongerThanALabelMayBeAreLeftOutAndTold) {
  const test::TempTree tree{{"names", kWeb + ": {container: web, image: " + std::string(101, 'i') +
                                          "}\n" + kDatabase +
                                          ": {container: " + std::string(100'000, 'd') + "}\n"}};
  Describer describer{LabelRules{}, {}, names_in(tree.path("names")), 100, test::kPatience};
  (void)describer.update(kStart);

  const auto web = describer.describe("/docker/" + kWeb, nullptr);
  EXPECT_EQ(web->too_long, "image");
  EXPECT_EQ(web->information.back(), (Label{"container", "web"}));
  EXPECT_EQ(describer.describe("/docker/" + kDatabase, nullptr)->too_long, "container");
}

TEST(ContainerNamesTest, WhatIsNotTakenOfAFileOfAnOperatorIsToldAndTheRestIsTaken) {
  for (const std::string& odd :
       {kDatabase + ": {container: db, team: shop}\n", std::string("aaaa: {container: db}\n"),
        kDatabase + ": {team: shop}\n", kDatabase + ": db\n",
        kDatabase.substr(0, 63) + "B: {image: a}\n"}) {
    const test::TempTree tree{{"names", kWeb + ": {container: web}\n" + odd}};
    ContainerNames names = names_in(tree.path("names"));
    const auto error = names.update(kStart).error;

    ASSERT_TRUE(error) << odd;
    EXPECT_TRUE(error->attempted.starts_with("take all of '" + odd.substr(0, odd.find(':')) + "'"));
    EXPECT_TRUE(error->remedy.text().find("cgroups.labels sets other labels") != std::string::npos);
    EXPECT_EQ(named(names, kWeb).container, "web");
    EXPECT_TRUE(names.update(kStart + 1s).error) << "as long as the file has it";
  }
  const test::TempTree none{{"names", ""}};
  EXPECT_FALSE(names_in(none.path("names")).update(kStart).error) << "no container runs";
}

TEST(ContainerNamesTest, WhatCannotBeReadIsReportedUntilItCanAndKnownNamesStay) {
  test::TempTree tree{{"names", kWeb + ": {container: web}\n"}};
  ContainerNames names = names_in(tree.path("names"));
  (void)names.update(kStart);
  tree.write("names", "{ no YAML");

  EXPECT_TRUE(names.update(kStart + 1s).error);
  EXPECT_TRUE(names.update(kStart + 2s).error);
  EXPECT_EQ(named(names, kWeb).container, "web");
  tree.write("names", kWeb + ": {container: web2}\n");
  EXPECT_FALSE(names.update(kStart + 3s).error);
  EXPECT_EQ(named(names, kWeb).container, "web2");
}

TEST(ContainerNamesTest, AFifoIsRefusedWithItsOwnRemedyAndOtherTextWithThatOfAFileOfNames) {
  test::TempTree tree{{"text", "a: [b"}};
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  const auto remedy_of = [&](const std::string& name) {
    const auto error = names_in(tree.path(name)).update(kStart).error;
    return error ? error->remedy.text() : "(no error)";
  };

  EXPECT_TRUE(remedy_of("fifo").starts_with("write its content into a regular file"));
  EXPECT_TRUE(remedy_of("text").starts_with("write lines ID:"));
}

TEST(ContainerNamesTest, AFileOfDockerThatCannotBeParsedIsReportedAndOnlyItsNameIsMissing) {
  test::TempTree tree{{kWeb + "/config.v2.json", docker("web", "nginx")},
                      {kDatabase + "/config.v2.json", "{ no JSON"}};
  ContainerNames names = names_in(tree.root());

  EXPECT_TRUE(names.update(kStart).error);
  EXPECT_EQ(named(names, kWeb).container, "web");
  tree.write(kWeb + "/config.v2.json", "{ neither");
  EXPECT_TRUE(names.update(kStart + 61s).error);
  EXPECT_EQ(named(names, kWeb).container, "web") << "it is known";
}

TEST(ContainerNamesTest, ASourceThatIsNotThereIsAnErrorUnlessItIsOptional) {
  const test::TempTree tree{{"x", ""}};
  ContainerNames wanted = names_in(tree.path("docker"));
  ContainerNames optional{{Source{tree.path("docker"), true}}};

  EXPECT_EQ(wanted.update(kStart).error->code, ENOENT);
  EXPECT_FALSE(optional.update(kStart).error);
}

TEST(ContainerNamesTest, AreLabelsOfTheInformationOfAContainerAndStayAfterItsEnd) {
  test::TempTree tree{{kWeb + "/config.v2.json", docker("web", "nginx:1.25")}};
  Describer describer{LabelRules{}, {}, names_in(tree.root()), kMaxLabelBytes, test::kPatience};
  (void)describer.update(kStart);
  const auto described = describer.describe("/system.slice/docker-" + kWeb + ".scope", nullptr);
  const auto has = [](const Description& of, const std::string& name, const std::string& value) {
    return std::find(of.information.begin(), of.information.end(), Label{name, value}) !=
           of.information.end();
  };

  EXPECT_TRUE(has(*described, "container", "web"));
  EXPECT_TRUE(has(*described, "image", "nginx:1.25"));
  std::filesystem::remove_all(tree.path(kWeb));
  EXPECT_TRUE(describer.update(kStart + 61s).has_changed);
  EXPECT_EQ(describer.describe("/system.slice/docker-" + kWeb + ".scope", described), described);

  const std::vector<LabelRules::Setting> set{{"image", *Template::parse("mine", 0)}};
  Describer with_rule{LabelRules{{{pattern("/**"), set}}}, {}, names_in(tree.root())};
  tree.write(kWeb + "/config.v2.json", docker("web", "nginx:1.25"));
  (void)with_rule.update(kStart);
  const auto by_rule = with_rule.describe("/docker/" + kWeb, nullptr);
  EXPECT_FALSE(has(*by_rule, "image", "nginx:1.25")) << "a rule sets the label";
  EXPECT_TRUE(has(*by_rule, "container", "web"));

  const auto of_user = describer.describe(
      "/user.slice/user-1000.slice/user@1000.service/docker-" + kWeb + ".scope", nullptr);
  EXPECT_FALSE(has(*of_user, "container", "web")) << "a user chose this name";
}

}  // namespace
}  // namespace pex::cgroup::container_names_test
