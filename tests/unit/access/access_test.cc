#include "access/access.h"

#include <openssl/err.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/bcrypt.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"

namespace pex::access {
namespace {

using test::Identity;
using test::TempTree;

const Identity& identity() {
  static const Identity made{{.name = "server"}};
  return made;
}

AccessSettings with_tls() {
  TlsSettings tls{.certificate = {.text = identity().certificate()},
                  .key = {.text = identity().key()}};
  return {.tls = std::move(tls)};
}

/// What an operator reads; "none" when there is nothing to complain about.
std::string complaint_about(AccessSettings settings) {
  const auto access = make_access(std::move(settings));
  EXPECT_EQ(ERR_peek_error(), 0u) << "OpenSSL's queue of errors was left full";
  return access ? "none" : describe(access.error());
}

constexpr const char* kCertificateRemedy =
    ". Remedy: set 'cert_file' or 'cert' in 'tls_server_config' to a certificate in the PEM "
    "format, with its chain after it";
constexpr const char* kKeyRemedy =
    ". Remedy: set 'key_file' or 'key' in 'tls_server_config' to the private key of that "
    "certificate in the PEM format, without a passphrase";
constexpr const char* kClientCaRemedy =
    ". Remedy: set 'client_ca_file' or 'client_ca' in 'tls_server_config' to one or more "
    "certificates in the PEM format";

TEST(AccessTest, TakesCertificatesFromFilesAndFromText) {
  TempTree tree{{"cert.pem", identity().certificate()}, {"key.pem", identity().key()}};
  AccessSettings settings = with_tls();
  EXPECT_EQ(complaint_about(settings), "none");

  settings.tls->certificate = {.file = tree.path("cert.pem")};
  settings.tls->key = {.file = tree.path("key.pem")};
  settings.tls->client_ca = {.file = tree.path("cert.pem")};
  EXPECT_EQ(complaint_about(settings), "none");
}

TEST(AccessTest, NamesTheFileThatCannotBeRead) {
  TempTree tree{{"empty", ""}, {"directory/"}};
  AccessSettings settings = with_tls();

  settings.tls->certificate = {.file = tree.path("missing")};
  EXPECT_EQ(complaint_about(settings), "read certificate '" + tree.path("missing") +
                                           "': No such file or directory (ENOENT). Remedy: "
                                           "check the path in the web configuration; relative "
                                           "ones start from its directory");
  settings = with_tls();
  settings.tls->key = {.file = tree.path("directory")};
  EXPECT_EQ(complaint_about(settings),
            "read key '" + tree.path("directory") +
                "': Is a directory (EISDIR). Remedy: name the file itself in the web "
                "configuration, not the directory it is in");
  settings = with_tls();
  settings.tls->client_ca = {.file = tree.path("empty")};
  EXPECT_EQ(complaint_about(settings),
            "read client CA '" + tree.path("empty") + "': no start line" + kClientCaRemedy);
}

TEST(AccessTest, RefusesAFifoInPlaceOfAnyOfItsFilesAndDoesNotWaitForIt) {
  const TempTree tree;
  const std::string fifo = tree.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  struct Case {
    const char* what;
    Pem TlsSettings::*pem;
  };

  for (const Case& each :
       {Case{"certificate", &TlsSettings::certificate}, Case{"key", &TlsSettings::key},
        Case{"client CA", &TlsSettings::client_ca}}) {
    AccessSettings settings = with_tls();
    (*settings.tls).*each.pem = {.file = fifo};
    EXPECT_EQ(complaint_about(settings),
              std::string{"read "} + each.what + " '" + fifo +
                  "', which is a FIFO or pipe: Invalid argument (EINVAL). Remedy: write its "
                  "content into a regular file, and name that file");
  }
}

TEST(AccessTest, ReportsWhoMustBeAllowedToReadAFile) {
  TempTree tree{{"key.pem", identity().key()}};
  ASSERT_EQ(::chmod(tree.path("key.pem").c_str(), 0), 0);
  AccessSettings settings = with_tls();
  settings.tls->key = {.file = tree.path("key.pem")};

  const uid_t usual = ::geteuid();
  if (usual == 0 && ::seteuid(65534) != 0) GTEST_SKIP() << "cannot give up root: NOT tested";
  const std::string complaint = complaint_about(settings);
  ASSERT_EQ(::seteuid(usual), 0);

  EXPECT_EQ(complaint,
            "read key '" + tree.path("key.pem") +
                "': Permission denied (EACCES). Remedy: let the user of this process read it");
}

TEST(AccessTest, RefusesWhatIsNoPem) {
  std::string broken = identity().certificate();
  broken[broken.size() / 2] = '!';
  AccessSettings settings = with_tls();

  settings.tls->certificate.text = identity().key();
  EXPECT_EQ(complaint_about(settings), "read certificate in the web configuration: no start line" +
                                           std::string{kCertificateRemedy});
  settings.tls->certificate.text = broken;
  EXPECT_TRUE(complaint_about(settings).ends_with(kCertificateRemedy)) << complaint_about(settings);
  settings.tls->certificate.text = identity().certificate() + broken;
  EXPECT_TRUE(complaint_about(settings).ends_with(kCertificateRemedy)) << complaint_about(settings);
  settings = with_tls();
  settings.tls->key.text = identity().certificate();
  EXPECT_TRUE(complaint_about(settings).ends_with(kKeyRemedy)) << complaint_about(settings);
  settings = with_tls();
  settings.tls->client_ca.text = identity().certificate() + broken;
  EXPECT_TRUE(complaint_about(settings).ends_with(kClientCaRemedy)) << complaint_about(settings);
}

TEST(AccessTest, RefusesAKeyOfAnotherCertificateOrWithAPassphrase) {
  AccessSettings settings = with_tls();

  settings.tls->key.text = Identity{{.name = "other"}}.key();
  EXPECT_EQ(complaint_about(settings),
            "use key in the web configuration with certificate in the web configuration: key "
            "values mismatch" +
                std::string{kKeyRemedy});
  settings.tls->key.text = identity().encrypted_key();
  EXPECT_TRUE(complaint_about(settings).starts_with("read key in the web configuration: "));
}

TEST(AccessTest, RefusesCiphersCurvesAndVersionsThatOpensslDoesNotHave) {
  AccessSettings settings = with_tls();
  settings.tls->ciphers = {"ECDHE-ECDSA-AES256-GCM-SHA384", "ROT13"};
  EXPECT_EQ(complaint_about(settings),
            "use the cipher 'ROT13': no cipher match. Remedy: leave it out of 'cipher_suites' in "
            "'tls_server_config'");

  settings = with_tls();
  settings.tls->curves = {"X25519", "round"};
  EXPECT_TRUE(complaint_about(settings).starts_with("use the curves 'X25519:round': "))
      << complaint_about(settings);

  settings = with_tls();
  settings.tls->max_version = TlsVersion::kTls11;
  EXPECT_TRUE(complaint_about(settings).starts_with("use the TLS versions "))
      << complaint_about(settings);
}

AccessSettings with_key_of(const test::Subject& subject) {
  const Identity made{subject};
  return {
      .tls = TlsSettings{.certificate = {.text = made.certificate()}, .key = {.text = made.key()}}};
}

TEST(AccessTest, RefusesVersionsThatHaveNoCipherForTheKey) {
  AccessSettings settings = with_tls();
  settings.tls->ciphers = {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"};
  EXPECT_EQ(complaint_about(settings),
            "serve TLS12 with a key of type EC: none of 'cipher_suites' fits both. Remedy: add "
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 to 'cipher_suites' in 'tls_server_config', or "
            "set 'min_version' to TLS13");

  settings = with_key_of({.is_rsa = true});
  settings.tls->ciphers = {"ECDHE-ECDSA-AES256-SHA"};
  settings.tls->max_version = TlsVersion::kTls12;  // later ones are no way out
  EXPECT_EQ(complaint_about(settings),
            "serve TLS12 with a key of type RSA: none of 'cipher_suites' fits both. Remedy: add "
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 to 'cipher_suites' in 'tls_server_config'");

  settings = with_tls();
  settings.tls->min_version = TlsVersion::kTls11;
  settings.tls->ciphers = {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA"};
  EXPECT_EQ(complaint_about(settings),
            "serve TLS11 with a key of type EC: none of 'cipher_suites' fits both. Remedy: add "
            "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA to 'cipher_suites' in 'tls_server_config', or "
            "set 'min_version' to TLS12");

  settings = with_key_of({.is_ed25519 = true});
  settings.tls->min_version = TlsVersion::kTls10;
  EXPECT_EQ(complaint_about(settings),
            "serve TLS10 with a key of type Ed25519: none of 'cipher_suites' fits both. Remedy: "
            "use a key of type EC or RSA, or set 'min_version' to TLS12");
}

TEST(AccessTest, TakesCiphersOfAnotherKeyWhereEachVersionHasOneForThisKey) {
  for (const auto version : {TlsVersion::kTls10, TlsVersion::kTls12, TlsVersion::kTls13}) {
    AccessSettings settings = with_tls();
    settings.tls->min_version = version;
    EXPECT_EQ(complaint_about(settings), "none") << "the default";
    settings.tls->ciphers = {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"};
    EXPECT_EQ(complaint_about(settings), "none");
  }
  AccessSettings settings = with_tls();
  settings.tls->ciphers = {"ECDHE-RSA-AES128-GCM-SHA256"};
  settings.tls->min_version = TlsVersion::kTls13;
  EXPECT_EQ(complaint_about(settings), "none");
  EXPECT_EQ(complaint_about(with_key_of({.is_rsa = true})), "none");
  EXPECT_EQ(complaint_about(with_key_of({.is_ed25519 = true})), "none");
}

TEST(AccessTest, RefusesHashesThatAreNoBcrypt) {
  const std::string good = "$2y$04$......................w/JG3B7zmB4ySJx4hkDh0mGzUdTZW2C";
  ASSERT_EQ(good.size(), 60u);
  EXPECT_EQ(complaint_about({.users = {{"alice", good}}}), "none");

  std::string blank = good;
  blank[20] = ' ';
  for (const std::string& bad :
       {std::string{"secret"}, std::string{}, "$1" + good.substr(2), "$6" + good.substr(2),
        "$2x" + good.substr(3), blank, good.substr(0, 59), "$2y$19" + good.substr(6)}) {
    EXPECT_EQ(complaint_about({.users = {{"alice", bad}}}),
              "let user 'alice' log in: " + wrong_hash(bad) +
                  ". Remedy: give the bcrypt hash of the password in 'basic_auth_users', as "
                  "'htpasswd -nB USER' prints it");
  }
}

TEST(AccessTest, NamesEachFileThatCannotBeRead) {
  TempTree tree{{"cert.pem", identity().certificate()}};
  AccessSettings settings = with_tls();
  settings.tls->certificate = {.file = tree.path("cert.pem")};
  settings.tls->key = {.file = tree.path("no.key")};
  settings.tls->client_ca = {.file = tree.path("no.ca")};

  const std::vector<Error> errors = unreadable_files(settings);

  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].attempted, "read key '" + tree.path("no.key") + "'");
  EXPECT_EQ(errors[0].code, ENOENT);
  EXPECT_EQ(errors[1].attempted, "read client CA '" + tree.path("no.ca") + "'");
  EXPECT_TRUE(unreadable_files(with_tls()).empty());
  EXPECT_TRUE(unreadable_files({}).empty());
}

TEST(AccessTest, RefusesHeadersThatWouldBeMoreThanOneLine) {
  EXPECT_EQ(complaint_about({.headers = {{"X-Frame-Options", "deny"}}}), "none");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"A", "b\r\nC: d"}, {"A\n", "b"}, {"", "b"}, {"A b", ""}}) {
    EXPECT_EQ(complaint_about({.headers = {{name, value}}}),
              "header '" + name +
                  "' cannot be sent. Remedy: write it on one line, without control characters");
  }
}

TEST(AccessTest, LetsClientsWithoutALoginInUnlessUsersOrVerifiedCertificatesAreNeeded) {
  const auto lets_in = [](AccessSettings settings) {
    const auto access = make_access(std::move(settings));
    return access && allows_anonymous(**access);
  };
  AccessSettings asked = with_tls();
  asked.tls->client_ca.text = identity().certificate();
  asked.tls->client_certificate = ClientCertificate::kAny;
  AccessSettings verified = asked;
  verified.tls->client_certificate = ClientCertificate::kRequiredAndVerified;

  EXPECT_TRUE(lets_in({}));
  EXPECT_TRUE(lets_in(with_tls()));
  EXPECT_TRUE(lets_in(asked));
  EXPECT_FALSE(lets_in(verified));
  EXPECT_FALSE(
      lets_in({.users = {{"u", "$2b$04$abcdefghijklmnopqrstuu1yHHzeesYlaDAogf8rz2bpLgGRIp.lG"}}}));
}

TEST(AccessTest, SaysWhatAWeakCertificateIsToBeReplacedBy) {
  const Identity weak{{.is_rsa = true, .rsa_bits = 1024}};
  AccessSettings settings = with_tls();
  settings.tls->certificate = {.text = weak.certificate()};
  settings.tls->key = {.text = weak.key()};

  EXPECT_EQ(complaint_about(settings),
            "use certificate in the web configuration: ee key too small. Remedy: make a new one, "
            "with an RSA key of at least 2048 bits or an EC key, and signed with SHA-256");
}

}  // namespace
}  // namespace pex::access
