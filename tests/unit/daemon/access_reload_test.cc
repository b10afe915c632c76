#include "daemon/web/access_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_tree.h"
#include "unit/access/certificates.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Of "x", with the least cost there is.
constexpr const char* kHash = "$2y$04$bcdefghijklmnopqrstuve9mTbZgbIFkXMBMZXzp1YE2C7Dj3KfPa";
constexpr const char* kTls = "tls_server_config: {cert_file: a.crt, key_file: a.key}\n";

std::string users(const std::string& name) {
  return "basic_auth_users: {" + name + ": '" + kHash + "'}\n";
}

std::vector<std::string> lines_of(const std::vector<yaml::Diagnostic>& diagnostics) {
  std::vector<std::string> lines;
  for (const yaml::Diagnostic& each : diagnostics) lines.push_back(describe(each));
  return lines;
}

/// Two servers that nobody mistakes for each other.
const test::Identity& identity(bool other = false) {
  static const test::Identity one{{.name = "one"}};
  static const test::Identity two{{.name = "two"}};
  return other ? two : one;
}

/// The exporter's clock is an hour ahead of that of the files, so that all changes are old, unless
/// a test puts it back: then they lie in the future.
class WebAccessTest : public testing::Test {
 protected:
  WebAccessTest() { ::chmod(tree_.root().c_str(), 0700); }

  /// Of another inode than before: times alone do not tell two changes in one tick of the kernel.
  void replace(const std::string& file, const std::string& text) {
    tree_.write(file + ".new", text);
    tree_.rename(file + ".new", file);
  }
  void write(const std::string& text) { replace("web.yaml", text); }
  void write_identity(bool other = false) {
    replace("a.crt", identity(other).certificate());
    replace("a.key", identity(other).key());
  }
  AccessReload load() {
    auto access = AccessReload::load(tree_.path("web.yaml"), required_, warnings_);
    if (access) return *std::move(access);
    ADD_FAILURE() << describe(access.error().front());
    return {};
  }
  AccessReload load(const std::string& text) {
    write(text);
    return load();
  }
  std::shared_ptr<const access::Access> current(AccessReload& access) {
    return access.current(
        [this](const AccessReload::Reload& reload) { reloads_.push_back(reload); }, now_);
  }
  void let_changes_be_new() { now_.at -= 24h; }

  /// "adopted", or why not.
  std::vector<std::string> outcomes() const {
    std::vector<std::string> all;
    for (const AccessReload::Reload& each : reloads_) {
      if (each.is_adopted) {
        all.emplace_back("adopted");
      } else if (each.errors.empty()) {
        all.emplace_back("refused");
      } else {
        all.push_back(describe(each.errors.front()));
      }
    }
    return all;
  }

  test::TempTree tree_;
  std::vector<std::string> required_;
  std::vector<yaml::Diagnostic> warnings_;
  std::vector<AccessReload::Reload> reloads_;
  Moment now_{std::chrono::system_clock::now() + 1h, {}};
};

TEST_F(WebAccessTest, IsForEverybodyWithoutAFile) {
  AccessReload access;

  EXPECT_EQ(current(access), current(access));
  EXPECT_FALSE(access.has_file());
}

TEST_F(WebAccessTest, IsReadAgainOnlyWhenItsFileChanges) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  EXPECT_EQ(current(access), first);
  EXPECT_THAT(reloads_, IsEmpty());

  write(users("another"));

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, StaysAsItWasWhenAChangeCannotBeUsedAndReportsItOnce) {
  AccessReload access = load(users("a"));
  const auto first = current(access);

  write("basic_auth_userz: {}\n");

  EXPECT_EQ(current(access), first);
  EXPECT_EQ(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("web.yaml:1:1: unknown key")));
}

TEST_F(WebAccessTest, FollowsAChangeThatCanBeUsedAfterOneThatCannot) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  write("[");
  (void)current(access);

  write(users("b"));

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), SizeIs(2));
  EXPECT_EQ(outcomes().back(), "adopted");
}

TEST_F(WebAccessTest, NoticesWhenAFileThatItsFileNamesAppears) {
  AccessReload access = load(users("a"));
  write(kTls + users("a"));
  (void)current(access);
  now_.steady += 1s;  // a file that is not there has no time of its own
  (void)current(access);
  (void)current(access);
  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("a.crt")));

  write_identity();
  (void)current(access);

  EXPECT_THAT(outcomes(), SizeIs(2));
  EXPECT_EQ(outcomes().back(), "adopted");
}

TEST_F(WebAccessTest, TriesAgainAfterAWhileWhatFailedForLackOfDescriptors) {
  AccessReload access = load(users("a"));
  write(users("b") + "# longer\n");
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  (void)current(access);
  (void)current(access);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_THAT(reloads_, SizeIs(1));

  now_.steady += 1min;
  (void)current(access);

  EXPECT_THAT(reloads_, SizeIs(2));
}

TEST_F(WebAccessTest, DoesNotTryAgainWhatOnlyAChangeOfTheFileMends) {
  AccessReload access = load(users("a"));
  tree_.remove("web.yaml");
  tree_.make_directory("web.yaml");  // EISDIR
  (void)current(access);
  EXPECT_THAT(reloads_, SizeIs(1));

  now_.steady += 1min;
  (void)current(access);

  EXPECT_THAT(reloads_, SizeIs(1));
}

TEST_F(WebAccessTest, FailsToLoadWithEverythingThatIsWrong) {
  write("a: 1\nb: 2\n");

  const auto access = AccessReload::load(tree_.path("web.yaml"), {}, warnings_);

  ASSERT_FALSE(access);
  EXPECT_THAT(access.error(), SizeIs(2));
}

TEST_F(WebAccessTest, FailsToLoadWithEachFileThatIsMissing) {
  write(kTls);

  const auto access = AccessReload::load(tree_.path("web.yaml"), {}, warnings_);

  ASSERT_FALSE(access);
  std::vector<std::string> lines;
  for (const Error& error : access.error()) lines.push_back(describe(error));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("a.crt': No such file or directory (ENOENT)"),
                                 HasSubstr("a.key': No such file or directory (ENOENT)")));
}

/// A file that was cut or emptied is the one that a restart would use.
TEST_F(WebAccessTest, FailsToLoadWithEachProtectionThatIsRequiredAndLacking) {
  write("");

  const auto access =
      AccessReload::load(tree_.path("web.yaml"), {"tls", "users", "client-certificate"}, warnings_);

  ASSERT_FALSE(access);
  std::vector<std::string> lines;
  for (const Error& error : access.error()) lines.push_back(describe(error));
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("--web.require=tls. Remedy: restore 'tls_server_config'"),
                          HasSubstr("--web.require=users. Remedy: restore"),
                          HasSubstr("--web.require=client-certificate. Remedy: restore")));
}

TEST_F(WebAccessTest, AChangeThatRemovesWhatIsRequiredIsNoneEvenIfItSaysThatItIsMeant) {
  required_ = {"users"};
  AccessReload access = load(users("a"));
  const auto first = current(access);
  write("allow_downgrade: true\n");

  EXPECT_EQ(current(access), first);
  ASSERT_THAT(reloads_, SizeIs(1));
  EXPECT_THAT(describe(reloads_[0].errors.at(0)), HasSubstr("--web.require=users"));
}

TEST_F(WebAccessTest, IsNotKeptWaitingByAFifoThatTookTheFilesPlace) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  tree_.remove("web.yaml");
  ASSERT_EQ(::mkfifo(tree_.path("web.yaml").c_str(), 0600), 0);

  EXPECT_EQ(current(access), first);
  now_.steady += 1min;
  EXPECT_EQ(current(access), first);

  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("which is a FIFO or pipe")));
}

// --- standing still ------------------------------------------------------------------------------

TEST_F(WebAccessTest, ReadsANewChangeOnlyOnceItHasStoodStillForASecond) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  let_changes_be_new();

  write(users("b"));

  EXPECT_EQ(current(access), first);
  now_.steady += 999ms;
  EXPECT_EQ(current(access), first);
  EXPECT_THAT(reloads_, IsEmpty());
  now_.steady += 1ms;
  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, WaitsForASecondFromTheLastChangeOn) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  let_changes_be_new();
  write(users("b"));
  (void)current(access);

  now_.steady += 999ms;
  write(users("bc"));

  EXPECT_EQ(current(access), first);
  now_.steady += 999ms;
  EXPECT_EQ(current(access), first);
  now_.steady += 1ms;
  EXPECT_NE(current(access), first);
}

TEST_F(WebAccessTest, ReadsAnOldChangeAtOnceAlthoughItWasNotReadSince) {
  AccessReload access = load(users("a"));
  const auto first = current(access);

  write(users("b"));

  EXPECT_NE(current(access), first);
}

TEST_F(WebAccessTest, WaitsForANewFileThatAnOldOneNames) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  write(kTls + users("a"));
  write_identity();
  const std::filesystem::file_time_type soon = std::filesystem::file_time_type::clock::now() + 2h;
  std::filesystem::last_write_time(tree_.path("a.key"), soon);

  EXPECT_EQ(current(access), first);
  EXPECT_EQ(current(access), first);
  EXPECT_THAT(reloads_, IsEmpty());
  now_.steady += 1s;
  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, ReportsOnceAFileThatNeverStandsStillThatItIsNotRead) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  let_changes_be_new();

  for (int i = 0; i < 200; ++i) {
    write(users(std::string(static_cast<std::size_t>(i + 1), 'b')));
    EXPECT_EQ(current(access), first);
    now_.steady += 500ms;
  }

  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("has kept changing for a minute")));
}

class SwappedLinkTest : public WebAccessTest {
 protected:
  SwappedLinkTest() {
    tree_.write("a.yaml", users("a"));
    tree_.write("b.yaml", users("b"));
    point_to("a.yaml");
  }
  void point_to(const std::string& file) {
    std::filesystem::create_symlink(file, tree_.path("new"));
    tree_.rename("new", "web.yaml");
  }
};

TEST_F(SwappedLinkTest, IsFollowedAtOnceToAnOldFile) {
  AccessReload access = load();
  const auto first = current(access);

  point_to("b.yaml");

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(SwappedLinkTest, IsNotReadAgainWhenItIsSwappedBackBeforeItHasStoodStill) {
  AccessReload access = load();
  const auto first = current(access);
  let_changes_be_new();
  point_to("b.yaml");
  (void)current(access);

  point_to("a.yaml");
  now_.steady += 1min;

  EXPECT_EQ(current(access), first);
  EXPECT_THAT(reloads_, IsEmpty());
}

TEST_F(SwappedLinkTest, IsReadAgainWhenItIsSwappedBackAfterAReport) {
  AccessReload access = load();
  (void)current(access);
  let_changes_be_new();
  point_to("b.yaml");
  for (int i = 0; i < 130; ++i) {
    tree_.write("b.yaml", users(std::string(static_cast<std::size_t>(i + 2), 'b')));
    (void)current(access);
    now_.steady += 500ms;
  }

  point_to("a.yaml");
  (void)current(access);
  now_.steady += 1s;
  (void)current(access);

  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("has kept changing for a minute"), "adopted"));
}

// --- taking protection away ----------------------------------------------------------------------

constexpr const char* kAll = R"(tls_server_config:
  cert_file: a.crt
  key_file: a.key
  client_ca_file: a.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans:
    - one
basic_auth_users:
  a: $2y$04$bcdefghijklmnopqrstuve9mTbZgbIFkXMBMZXzp1YE2C7Dj3KfPa
  b: $2y$04$bcdefghijklmnopqrstuve9mTbZgbIFkXMBMZXzp1YE2C7Dj3KfPa
rate_limit:
  interval: 1s
  burst: 5
)";

bool is_shut(const access::WebProtections& of) {
  return of.tls && of.client_certificate == access::ClientCertificate::kRequiredAndVerified &&
         of.allowed_sans > 0 && of.users > 0;
}

TEST_F(WebAccessTest, IsAsShutAsBeforeWhereverTheFileIsCutOff) {
  write_identity();
  const std::string whole = kAll;

  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    AccessReload access = load(kAll);
    ASSERT_TRUE(is_shut(access.in_force()));
    write(whole.substr(0, bytes));
    (void)current(access);
    EXPECT_TRUE(is_shut(access.in_force())) << whole.substr(0, bytes);
  }
}

TEST_F(WebAccessTest, RefusesAnEmptyFileAndReportsWhatItTakesAway) {
  write_identity();
  AccessReload access = load(kTls + users("a"));
  const auto first = current(access);

  write("");

  EXPECT_EQ(current(access), first);
  EXPECT_EQ(current(access), first);
  ASSERT_THAT(outcomes(), ElementsAre("refused"));
  ASSERT_THAT(reloads_[0].downgrades, SizeIs(2));
  EXPECT_EQ(describe(reloads_[0].downgrades[0]), "tls_server_config from TLS to plain HTTP");
  EXPECT_EQ(describe(reloads_[0].downgrades[1]), "basic_auth_users from 1 user to no user");
}

TEST_F(WebAccessTest, OpensWhenTheFileAllowsIt) {
  AccessReload access = load(users("a"));
  const auto first = current(access);

  write("allow_downgrade: false\n");
  EXPECT_EQ(current(access), first);
  write("allow_downgrade: true\n");
  EXPECT_NE(current(access), first);

  EXPECT_THAT(outcomes(), ElementsAre("refused", "adopted"));
  ASSERT_THAT(reloads_[1].downgrades, SizeIs(1));
  EXPECT_EQ(access.in_force().users, 0U);
}

TEST_F(WebAccessTest, OpensAtARestart) {
  AccessReload before = load(users("a"));
  write("");
  (void)current(before);

  const AccessReload after = load();

  EXPECT_EQ(before.in_force().users, 1U);
  EXPECT_EQ(after.in_force().users, 0U);
}

TEST_F(WebAccessTest, RefusesInTheLastOfManyStepsWhatItRefusesInOne) {
  AccessReload access =
      load("basic_auth_users: {a: '" + std::string(kHash) + "', b: '" + kHash + "'}\n");

  write(users("b"));
  (void)current(access);
  write("{}\n");
  (void)current(access);
  write("# nothing\n");
  (void)current(access);

  EXPECT_THAT(outcomes(), ElementsAre("adopted", "refused", "refused"));
  EXPECT_EQ(access.in_force().users, 1U);
}

TEST_F(WebAccessTest, FollowsAnotherChangeAfterOneThatItRefused) {
  AccessReload access = load(users("a"));
  const auto first = current(access);
  write("");
  (void)current(access);

  write(users("b"));

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("refused", "adopted"));
}

TEST_F(WebAccessTest, AdoptsALesserDowngradeAndReportsIt) {
  AccessReload access = load("rate_limit: {interval: 1s, burst: 5}\n" + users("a"));

  write(users("a"));
  (void)current(access);

  ASSERT_THAT(outcomes(), ElementsAre("adopted"));
  ASSERT_THAT(reloads_[0].downgrades, SizeIs(1));
  EXPECT_EQ(reloads_[0].downgrades[0].protection, "rate_limit");
}

// --- certificates --------------------------------------------------------------------------------

class RotationTest : public WebAccessTest, public testing::WithParamInterface<bool> {};

TEST_P(RotationTest, OfCertificateAndKeyWorksInEitherOrder) {
  write_identity();
  AccessReload access = load(kTls);
  const auto first = current(access);
  const bool key_first = GetParam();
  const auto renew = [&](bool key) {
    if (key) {
      replace("a.key", identity(true).key());
    } else {
      replace("a.crt", identity(true).certificate());
    }
  };

  renew(key_first);
  EXPECT_EQ(current(access), first);
  renew(!key_first);

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("a.key"), "adopted"));
}

INSTANTIATE_TEST_SUITE_P(KeyFirst, RotationTest, testing::Bool());

TEST_F(WebAccessTest, ReportsNothingOfACertificateWhoseKeyComesWithinASecond) {
  write_identity();
  AccessReload access = load(kTls);
  const auto first = current(access);
  let_changes_be_new();

  replace("a.crt", identity(true).certificate());
  EXPECT_EQ(current(access), first);
  now_.steady += 500ms;
  replace("a.key", identity(true).key());
  EXPECT_EQ(current(access), first);
  now_.steady += 1s;

  EXPECT_NE(current(access), first);
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

// --- what an operator should know ----------------------------------------------------------------

TEST_F(WebAccessTest, ReportsAtTheStartOfAFileThatShutsNothingThatEverybodyMayScrape) {
  for (const char* text : {"", "# nothing\n", "rate_limit: {interval: 1s, burst: 5}\n"}) {
    (void)load(text);
    EXPECT_THAT(lines_of(warnings_),
                ElementsAre(HasSubstr("anyone who can connect to this server can read")));
  }
  (void)load(users("a"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(WebAccessTest, ReportsOfAllowDowngradeThatItHasNothingToDoAnyMore) {
  const std::string text = users("a") + "allow_downgrade: true\n";
  AccessReload access = load(text);
  EXPECT_THAT(lines_of(warnings_), ElementsAre(HasSubstr("allow_downgrade")));

  write(text + "\n");
  (void)current(access);

  ASSERT_THAT(outcomes(), ElementsAre("adopted"));
  EXPECT_THAT(lines_of(reloads_[0].warnings), ElementsAre(HasSubstr("allow_downgrade")));
}

TEST_F(WebAccessTest, ReportsOfAChangeWhatMakesNoDifference) {
  AccessReload access = load("{}\n");

  write("http_server_config: {http2: true}\n");
  (void)current(access);

  ASSERT_THAT(reloads_, SizeIs(1));
  EXPECT_THAT(reloads_[0].warnings, SizeIs(1));
}

class ExposedFileTest : public WebAccessTest {
 protected:
  /// Everybody may pass, as far as it depends on us.
  ExposedFileTest() {
    ::chmod(tree_.root().c_str(), 0755);
    write_identity();
    ::chmod(tree_.path("a.key").c_str(), 0640);
  }
  void write(const std::string& text, mode_t mode) {
    WebAccessTest::write(text);
    ::chmod(tree_.path("web.yaml").c_str(), mode);
  }
};

TEST_F(ExposedFileTest, IsTheKeyThatEverybodyCanRead) {
  write(kTls, 0644);
  (void)load();
  EXPECT_THAT(warnings_, IsEmpty());

  ::chmod(tree_.path("a.key").c_str(), 0644);
  (void)load();

  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(describe(warnings_[0]), HasSubstr("Remedy: chmod o-r " + tree_.path("a.key")));
}

TEST_F(ExposedFileTest, IsTheWebConfigurationOnlyWhereItHoldsSecrets) {
  write(users("a"), 0640);
  (void)load();
  EXPECT_THAT(warnings_, IsEmpty());

  write(users("a"), 0644);
  (void)load();

  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(describe(warnings_[0]), HasSubstr("Remedy: chmod o-r " + tree_.path("web.yaml")));
}

TEST_F(ExposedFileTest, IsNoneInADirectoryThatOthersCannotPass) {
  write(users("a"), 0644);
  ::chmod(tree_.root().c_str(), 0750);

  (void)load();

  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ExposedFileTest, IsReportedAgainAtEachReading) {
  write(users("a"), 0640);
  AccessReload access = load();

  write(users("b"), 0644);
  (void)current(access);
  (void)current(access);

  ASSERT_THAT(reloads_, SizeIs(1));
  EXPECT_THAT(lines_of(reloads_[0].warnings), ElementsAre(HasSubstr("can be read by every user")));
}

}  // namespace
}  // namespace pex::daemon
