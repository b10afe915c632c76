#include "daemon/web/access_reload.h"

#include <sys/stat.h>

#include "daemon/web/access_status.h"
#include "support/few_descriptors.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"
#include "unit/daemon/commands.h"

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

/// Of "x", with the least cost there is.
constexpr const char* kHash = "$2y$04$bcdefghijklmnopqrstuve9mTbZgbIFkXMBMZXzp1YE2C7Dj3KfPa";
const std::string kTls = "tls_server_config: {cert_file: a.crt, key_file: a.key}\n";

std::string users(const std::string& name) {
  return "basic_auth_users: {" + name + ": '" + kHash + "'}\n";
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
  std::shared_ptr<const access::Access> look() {
    return access_.current(
        [this](const AccessReload::Reload& reload) { reloads_.push_back(reload); }, now_);
  }
  /// With what the file has now.
  void begin() {
    access_ = load();
    before_ = look();
  }
  void begin(const std::string& text) {
    write(text);
    begin();
  }
  bool is_as_before() { return look() == before_; }
  /// What is wrong with a text that a start cannot use.
  std::vector<std::string> errors_of(const std::string& text,
                                     const std::vector<std::string>& required = {}) {
    write(text);
    const auto access = AccessReload::load(tree_.path("web.yaml"), required, warnings_);
    return access ? std::vector<std::string>{} : described(access.error());
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
  AccessReload access_;
  std::shared_ptr<const access::Access> before_;
  Moment now_{std::chrono::system_clock::now() + 1h, {}};
};

TEST_F(WebAccessTest, IsForEverybodyWithoutAFile) {
  EXPECT_EQ(look(), look());
  EXPECT_FALSE(access_.has_file());
}

TEST_F(WebAccessTest, IsReadAgainOnlyWhenItsFileChanges) {
  begin(users("a"));
  EXPECT_TRUE(is_as_before());
  EXPECT_THAT(reloads_, IsEmpty());

  write(users("another"));

  EXPECT_FALSE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, StaysAsItWasWhenAChangeCannotBeUsedAndReportsItOnce) {
  begin(users("a"));

  write("basic_auth_userz: {}\n");

  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("web.yaml:1:1: unknown key")));
}

TEST_F(WebAccessTest, FollowsAChangeAfterOneThatCannotBeUsedOrIsRefused) {
  for (const char* unused : {"[", ""}) {
    begin(users("a"));
    reloads_.clear();
    write(unused);
    look();

    write(users("b"));

    EXPECT_FALSE(is_as_before());
    EXPECT_THAT(outcomes(), ElementsAre(Not("adopted"), "adopted"));
  }
}

TEST_F(WebAccessTest, NoticesWhenAFileThatItsFileNamesAppears) {
  begin(users("a"));
  write(kTls + users("a"));
  look();
  now_.steady += 1s;  // a file that is not there has no time of its own
  look();
  look();
  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("a.crt")));

  write_identity();
  look();

  EXPECT_THAT(outcomes(), SizeIs(2));
  EXPECT_EQ(outcomes().back(), "adopted");
}

TEST_F(WebAccessTest, TriesAgainAfterAWhileWhatFailedForLackOfDescriptors) {
  begin(users("a"));
  write(users("b") + "# longer\n");
  {
    const test::FewDescriptors none{0};
    look();
    look();
  }
  EXPECT_THAT(reloads_, SizeIs(1));

  now_.steady += 1min;
  look();

  EXPECT_THAT(reloads_, SizeIs(2));
}

TEST_F(WebAccessTest, DoesNotTryAgainWhatOnlyAChangeOfTheFileMends) {
  begin(users("a"));
  tree_.remove("web.yaml");
  tree_.make_directory("web.yaml");  // EISDIR
  look();
  EXPECT_THAT(reloads_, SizeIs(1));

  now_.steady += 1min;
  look();

  EXPECT_THAT(reloads_, SizeIs(1));
}

TEST_F(WebAccessTest, FailsToLoadWithEverythingThatIsWrong) {
  EXPECT_THAT(errors_of("a: 1\nb: 2\n"), SizeIs(2));
  EXPECT_THAT(errors_of(kTls),
              ElementsAre(HasSubstr("a.crt': No such file or directory (ENOENT)"),
                          HasSubstr("a.key': No such file or directory (ENOENT)")));
}

/// A file that was cut or emptied is the one that a restart would use.
TEST_F(WebAccessTest, FailsToLoadWithEachProtectionThatIsRequiredAndLacking) {
  EXPECT_THAT(errors_of("", {"tls", "users", "client-certificate"}),
              ElementsAre(HasSubstr("--web.require=tls. Remedy: restore 'tls_server_config'"),
                          HasSubstr("--web.require=users. Remedy: restore"),
                          HasSubstr("--web.require=client-certificate. Remedy: restore")));
}

TEST_F(WebAccessTest, AChangeThatRemovesWhatIsRequiredIsNoneEvenIfItSaysThatItIsMeant) {
  required_ = {"users"};
  begin(users("a"));
  write("allow_downgrade: true\n");

  EXPECT_TRUE(is_as_before());
  ASSERT_THAT(reloads_, SizeIs(1));
  EXPECT_THAT(describe(reloads_[0].errors.at(0)), HasSubstr("--web.require=users"));
}

TEST_F(WebAccessTest, IsNotKeptWaitingByAFifoThatTookTheFilesPlace) {
  begin(users("a"));
  tree_.remove("web.yaml");
  ASSERT_EQ(::mkfifo(tree_.path("web.yaml").c_str(), 0600), 0);

  EXPECT_TRUE(is_as_before());
  now_.steady += 1min;
  EXPECT_TRUE(is_as_before());

  EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("which is a FIFO or pipe")));
}

// --- standing still ------------------------------------------------------------------------------

TEST_F(WebAccessTest, ReadsANewChangeOnlyOnceItHasStoodStillForASecond) {
  begin(users("a"));
  let_changes_be_new();
  write(users("b"));
  EXPECT_TRUE(is_as_before());

  now_.steady += 999ms;
  write(users("bc"));
  EXPECT_TRUE(is_as_before());

  now_.steady += 999ms;
  EXPECT_TRUE(is_as_before());
  EXPECT_THAT(reloads_, IsEmpty());
  now_.steady += 1ms;
  EXPECT_FALSE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, WaitsForANewFileThatAnOldOneNames) {
  begin(users("a"));
  write(kTls + users("a"));
  write_identity();
  const std::filesystem::file_time_type soon = std::filesystem::file_time_type::clock::now() + 2h;
  std::filesystem::last_write_time(tree_.path("a.key"), soon);

  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(is_as_before());
  EXPECT_THAT(reloads_, IsEmpty());
  now_.steady += 1s;
  EXPECT_FALSE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(WebAccessTest, ReportsOnceAFileThatNeverStandsStillThatItIsNotRead) {
  begin(users("a"));
  let_changes_be_new();

  for (int i = 0; i < 200; ++i) {
    write(users(std::string(static_cast<std::size_t>(i + 1), 'b')));
    EXPECT_TRUE(is_as_before());
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
  begin();

  point_to("b.yaml");

  EXPECT_FALSE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

TEST_F(SwappedLinkTest, IsNotReadAgainWhenItIsSwappedBackBeforeItHasStoodStill) {
  begin();
  let_changes_be_new();
  point_to("b.yaml");
  look();

  point_to("a.yaml");
  now_.steady += 1min;

  EXPECT_TRUE(is_as_before());
  EXPECT_THAT(reloads_, IsEmpty());
}

TEST_F(SwappedLinkTest, IsReadAgainWhenItIsSwappedBackAfterAReport) {
  begin();
  look();
  let_changes_be_new();
  point_to("b.yaml");
  for (int i = 0; i < 130; ++i) {
    tree_.write("b.yaml", users(std::string(static_cast<std::size_t>(i + 2), 'b')));
    look();
    now_.steady += 500ms;
  }

  point_to("a.yaml");
  look();
  now_.steady += 1s;
  look();

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

bool is_shut(const access::AccessSettings& of) {
  return of.tls && !of.users.empty() && !of.tls->client_allowed_sans.empty() &&
         of.tls->client_certificate == access::ClientCertificate::kRequiredAndVerified;
}

TEST_F(WebAccessTest, IsAsShutAsBeforeWhereverTheFileIsCutOff) {
  write_identity();
  const std::string whole = kAll;

  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    begin(kAll);
    ASSERT_TRUE(is_shut(access_.access()->settings()));
    write(whole.substr(0, bytes));
    look();
    EXPECT_TRUE(is_shut(access_.access()->settings())) << whole.substr(0, bytes);
  }
}

TEST_F(WebAccessTest, RefusesAnEmptyFileAndReportsWhatItTakesAway) {
  write_identity();
  begin(kTls + users("a"));

  write("");

  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(is_as_before());
  ASSERT_THAT(outcomes(), ElementsAre("refused"));
  EXPECT_THAT(described(reloads_[0].downgrades),
              ElementsAre("tls_server_config from TLS to plain HTTP",
                          "basic_auth_users from 1 user to no user"));
}

TEST_F(WebAccessTest, OpensWhenTheFileAllowsIt) {
  begin(users("a"));

  write("allow_downgrade: false\n");
  EXPECT_TRUE(is_as_before());
  write("allow_downgrade: true\n");
  EXPECT_FALSE(is_as_before());

  EXPECT_THAT(outcomes(), ElementsAre("refused", "adopted"));
  ASSERT_THAT(reloads_[1].downgrades, SizeIs(1));
  EXPECT_EQ(access_.access()->settings().users.size(), 0U);
}

TEST_F(WebAccessTest, OpensAtARestart) {
  begin(users("a"));
  write("");
  look();
  EXPECT_EQ(access_.access()->settings().users.size(), 1U);

  EXPECT_EQ(load().access()->settings().users.size(), 0U);
}

TEST_F(WebAccessTest, RefusesInTheLastOfManyStepsWhatItRefusesInOne) {
  begin("basic_auth_users: {a: '" + std::string(kHash) + "', b: '" + kHash + "'}\n");

  write(users("b"));
  look();
  write("{}\n");
  look();
  write("# nothing\n");
  look();

  EXPECT_THAT(outcomes(), ElementsAre("adopted", "refused", "refused"));
  EXPECT_EQ(access_.access()->settings().users.size(), 1U);
}

TEST_F(WebAccessTest, AdoptsALesserDowngradeAndReportsIt) {
  begin("rate_limit: {interval: 1s, burst: 5}\n" + users("a"));

  write(users("a"));
  look();

  ASSERT_THAT(outcomes(), ElementsAre("adopted"));
  ASSERT_THAT(reloads_[0].downgrades, SizeIs(1));
  EXPECT_EQ(reloads_[0].downgrades[0].protection, "rate_limit");
}

// --- certificates --------------------------------------------------------------------------------

TEST_F(WebAccessTest, ACertificateAndItsKeyAreRenewedInEitherOrder) {
  for (const bool key_first : {false, true}) {
    write_identity();
    begin(kTls);
    reloads_.clear();

    for (const bool is_key : {key_first, !key_first}) {
      EXPECT_TRUE(is_as_before());
      if (is_key) replace("a.key", identity(true).key());
      if (!is_key) replace("a.crt", identity(true).certificate());
    }

    EXPECT_FALSE(is_as_before());
    EXPECT_THAT(outcomes(), ElementsAre(HasSubstr("a.key"), "adopted"));
  }
}

TEST_F(WebAccessTest, ReportsNothingOfACertificateWhoseKeyComesWithinASecond) {
  write_identity();
  begin(kTls);
  let_changes_be_new();

  replace("a.crt", identity(true).certificate());
  EXPECT_TRUE(is_as_before());
  now_.steady += 500ms;
  replace("a.key", identity(true).key());
  EXPECT_TRUE(is_as_before());
  now_.steady += 1s;

  EXPECT_FALSE(is_as_before());
  EXPECT_THAT(outcomes(), ElementsAre("adopted"));
}

// --- what an operator should know ----------------------------------------------------------------

TEST_F(WebAccessTest, ReportsAtTheStartOfAFileThatShutsNothingThatEverybodyMayScrape) {
  for (const char* text : {"", "# nothing\n", "rate_limit: {interval: 1s, burst: 5}\n"}) {
    (void)load(text);
    EXPECT_THAT(described(warnings_),
                ElementsAre(HasSubstr("anyone who can connect to this server can read")));
  }
  (void)load(users("a"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(WebAccessTest, ReportsOfAllowDowngradeThatItHasNothingToDoAnyMore) {
  const std::string text = users("a") + "allow_downgrade: true\n";
  begin(text);
  EXPECT_THAT(described(warnings_), ElementsAre(HasSubstr("allow_downgrade")));

  write(text + "\n");
  look();

  ASSERT_THAT(outcomes(), ElementsAre("adopted"));
  EXPECT_THAT(described(reloads_[0].warnings), ElementsAre(HasSubstr("allow_downgrade")));
}

TEST_F(WebAccessTest, ReportsOfAChangeWhatMakesNoDifference) {
  begin("{}\n");

  write("http_server_config: {http2: true}\n");
  look();

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

TEST_F(ExposedFileTest, IsTheKeyOrTheWebConfigurationWithSecretsThatEverybodyCanRead) {
  write(kTls, 0644);
  (void)load();
  EXPECT_THAT(warnings_, IsEmpty());

  write(kTls + users("a"), 0640);
  for (const char* file : {"a.key", "web.yaml"}) {
    (void)load();
    EXPECT_THAT(warnings_, IsEmpty());

    ::chmod(tree_.path(file).c_str(), 0644);
    (void)load();
    EXPECT_THAT(described(warnings_),
                ElementsAre(HasSubstr("Remedy: chmod o-r " + tree_.path(file))));
    ::chmod(tree_.path(file).c_str(), 0640);
  }
}

TEST_F(ExposedFileTest, IsNoneInADirectoryThatOthersCannotPass) {
  write(users("a"), 0644);
  ::chmod(tree_.root().c_str(), 0750);

  (void)load();

  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ExposedFileTest, IsReportedAgainAtEachReading) {
  write(users("a"), 0640);
  begin();

  write(users("b"), 0644);
  look();
  look();

  ASSERT_THAT(reloads_, SizeIs(1));
  EXPECT_THAT(described(reloads_[0].warnings), ElementsAre(HasSubstr("can be read by every user")));
}

// --- in the log
// -----------------------------------------------------------------------------------

TEST(AccessFieldsTest, ReportPlainHttpWithoutLoginByDefault) {
  EXPECT_THAT(access_fields({}), ElementsAre(Pair("scheme", "http"), Pair("login", "none")));
}

TEST(AccessFieldsTest, ReportTlsWithTheCertificateThatAClientNeedsAndALogin) {
  access::AccessSettings in_force;
  in_force.tls.emplace().client_certificate = access::ClientCertificate::kRequiredAndVerified;
  in_force.users = {{"a", kHash}};

  EXPECT_THAT(
      access_fields(in_force),
      ElementsAre(Pair("scheme", "https"), Pair("client_auth_type", "RequireAndVerifyClientCert"),
                  Pair("login", "required")));
}

}  // namespace
}  // namespace pex::daemon
