#include "access/web_config.h"

#include <sys/stat.h>

#include <iterator>
#include <sstream>

#include "access/bcrypt.h"
#include "support/marked_text.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "yaml/file.h"
#include "yaml/value.h"

namespace pex::access {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kHash = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

/// A file with TLS and these keys besides; the first of them starts in column 58.
const std::string kEmpty = "this is empty: the default applies";

std::string with_tls(const std::string& keys) {
  return "tls_server_config: {cert_file: a.crt, key_file: a.key" +
         (keys.empty() ? "" : "," + std::string(3, ' ') + keys) + "}\n";
}

LoadedWebConfig load(const std::string& yaml) { return load_web_config_text(yaml, "w.yaml"); }

std::vector<std::string> messages(const LoadedWebConfig& loaded) {
  std::vector<std::string> all;
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) all.push_back(describe(error));
  return all;
}

std::vector<std::string> warnings(const LoadedWebConfig& loaded) {
  std::vector<std::string> all;
  for (const yaml::Diagnostic& warning : loaded.diagnostics.warnings()) {
    all.push_back(describe(warning));
  }
  return all;
}

TEST(WebConfigTest, MoreUsersThanCanBeServedAreRefused) {
  std::string text = "basic_auth_users:\n";
  for (int user = 0; user <= 1000; ++user) {
    text += "  u" + std::to_string(user) + ": " + kHash + "\n";
  }

  const LoadedWebConfig loaded = load(text);

  EXPECT_THAT(messages(loaded), ElementsAre("w.yaml:2:3: basic_auth_users: 1001 users. Remedy: "
                                            "name at most 1000"));
  EXPECT_THAT(loaded.config.access.users, IsEmpty());
}

class EmptyWebConfigTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EmptyWebConfigTest, IsPlainHttpForEverybody) {
  const LoadedWebConfig loaded = load(GetParam());

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.access.tls);
  EXPECT_FALSE(loaded.config.access.rate_limit);
  EXPECT_THAT(loaded.config.access.users, IsEmpty());
  EXPECT_THAT(loaded.config.access.headers, IsEmpty());
  EXPECT_THAT(warnings(loaded), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Text, EmptyWebConfigTest,
                         ::testing::Values("", "\n", "# nothing yet\n", "---\n", "{}\n"));

/// A text that the toolkit takes, and the warning here.
struct WarningRow {
  const char* name;
  std::string yaml;
  std::string warning;
};

class WebWarningsTest : public ::testing::TestWithParam<WarningRow> {};

TEST_P(WebWarningsTest, IsTakenWithAWarning) {
  const LoadedWebConfig loaded = load(GetParam().yaml);

  EXPECT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(warnings(loaded), ElementsAre("w.yaml:1:" + GetParam().warning));
}

INSTANTIATE_TEST_SUITE_P(
    Text, WebWarningsTest,
    ::testing::ValuesIn(std::vector<WarningRow>{
        {"NoSettings", "http_server_config: {}\n", "21: http_server_config: " + kEmpty},
        {"NoHeaders", "http_server_config: {headers: {}}\n",
         "31: http_server_config.headers: " + kEmpty},
        {"TlsWithoutAValue", "tls_server_config:\n", "1: tls_server_config: " + kEmpty},
        {"UsersWithoutAValue", "basic_auth_users:\n", "1: basic_auth_users: " + kEmpty},
        {"NoUsers", "basic_auth_users: {}\n", "19: basic_auth_users: " + kEmpty},
        {"AnEmptyNameOfAFile", with_tls("client_ca_file: ''"),
         "74: tls_server_config.client_ca_file: " + kEmpty},
        {"VerificationWithoutAnAuthority", with_tls("client_auth_type: VerifyClientCertIfGiven"),
         "76: tls_server_config.client_auth_type: without client_ca_file, a certificate of any "
         "authority that this system trusts will do"},
        {"AHashOfCost17", "basic_auth_users: {alice: $2y$17" + kHash.substr(6) + "}\n",
         "27: basic_auth_users: a hash of cost 17: one check of it takes many seconds, and other "
         "logins wait for it"},
        {"Http2", "http_server_config: {http2: true}\n",
         "29: http_server_config.http2: only HTTP/1.1 is served here"},
        {"NoBurst", "rate_limit: {interval: 1s}\n",
         "13: rate_limit: a burst of 0 answers every request with 429"},
        {"ABurstOfZero", "rate_limit: {interval: 1s, burst: 0}\n",
         "35: rate_limit.burst: a burst of 0 answers every request with 429"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(WebConfigTest, TakesTheDefaultOfEveryKeyOfTlsThatIsLeftOut) {
  const LoadedWebConfig loaded = load(with_tls(""));

  ASSERT_THAT(messages(loaded), IsEmpty());
  ASSERT_TRUE(loaded.config.access.tls);
  const TlsSettings& tls = *loaded.config.access.tls;
  EXPECT_EQ(tls.certificate.file, "a.crt");
  EXPECT_EQ(tls.key.file, "a.key");
  EXPECT_TRUE(tls.client_ca.empty());
  EXPECT_EQ(tls.client_certificate, ClientCertificate::kNone);
  EXPECT_THAT(tls.client_allowed_sans, IsEmpty());
  EXPECT_EQ(tls.min_version, TlsVersion::kTls12);
  EXPECT_EQ(tls.max_version, TlsVersion::kTls13);
  EXPECT_THAT(tls.ciphers, IsEmpty());
  EXPECT_THAT(tls.curves, IsEmpty());
  EXPECT_TRUE(tls.prefer_server_ciphers);
}

TEST(WebConfigTest, ReadsEveryKey) {
  const LoadedWebConfig loaded = load(
      "tls_server_config:\n"
      "  cert_file: a.crt\n"
      "  key_file: a.key\n"
      "  client_ca_file: ca.crt\n"
      "  client_auth_type: RequireAndVerifyClientCert\n"
      "  client_allowed_sans: [prometheus.example, 'spiffe://example/prometheus']\n"
      "  min_version: TLS11\n"
      "  max_version: TLS12\n"
      "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,\n"
      "                  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256]\n"
      "  prefer_server_cipher_suites: false\n"
      "  curve_preferences: [X25519, CurveP256, CurveP384, CurveP521]\n"
      "http_server_config:\n"
      "  http2: false\n"
      "  headers:\n"
      "    Strict-Transport-Security: max-age=31536000; includeSubDomains\n"
      "    X-Content-Type-Options: nosniff\n"
      "    X-Frame-Options: sameorigin\n"
      "    X-XSS-Protection: 1; mode=block\n"
      "    Content-Security-Policy: \"default-src 'none'\"\n"
      "basic_auth_users:\n"
      "  alice: " +
      kHash + "\n  'bob smith': '" + kHash +
      "'\n"
      "rate_limit:\n"
      "  interval: 1m30s\n"
      "  burst: 20\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  const AccessSettings& config = loaded.config.access;
  ASSERT_TRUE(config.tls);
  EXPECT_EQ(config.tls->client_ca.file, "ca.crt");
  EXPECT_EQ(config.tls->client_certificate, ClientCertificate::kRequiredAndVerified);
  EXPECT_THAT(config.tls->client_allowed_sans,
              ElementsAre("prometheus.example", "spiffe://example/prometheus"));
  EXPECT_EQ(config.tls->min_version, TlsVersion::kTls11);
  EXPECT_EQ(config.tls->max_version, TlsVersion::kTls12);
  EXPECT_THAT(config.tls->ciphers,
              ElementsAre("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"));
  EXPECT_FALSE(config.tls->prefer_server_ciphers);
  EXPECT_THAT(config.tls->curves, ElementsAre("X25519", "P-256", "P-384", "P-521"));
  EXPECT_THAT(
      config.headers,
      ElementsAre(Pair("Content-Security-Policy", "default-src 'none'"),
                  Pair("X-Frame-Options", "sameorigin"), Pair("X-Content-Type-Options", "nosniff"),
                  Pair("X-XSS-Protection", "1; mode=block"),
                  Pair("Strict-Transport-Security", "max-age=31536000; includeSubDomains")));
  EXPECT_THAT(config.users, ElementsAre(Pair("alice", kHash), Pair("bob smith", kHash)));
  ASSERT_TRUE(config.rate_limit);
  EXPECT_EQ(config.rate_limit->interval, 90s);
  EXPECT_EQ(config.rate_limit->burst, 20u);
  EXPECT_THAT(warnings(loaded), IsEmpty());
}

TEST(WebConfigTest, ReadsPemTextsBelowABar) {
  const LoadedWebConfig loaded = load(
      "tls_server_config:\n"
      "  cert: |\n"
      "    Subject: CN=here\n"
      "    -----BEGIN CERTIFICATE-----\n"
      "    MIIB\n"
      "    -----END CERTIFICATE-----\n"
      "  key: |-\n"
      "    -----BEGIN PRIVATE KEY-----\n"
      "    MC4C\n"
      "    -----END PRIVATE KEY-----\n"
      "  client_ca: \"-----BEGIN CERTIFICATE-----\\nMIIC\\n-----END CERTIFICATE-----\\n\"\n"
      "  client_auth_type: VerifyClientCertIfGiven\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  ASSERT_TRUE(loaded.config.access.tls);
  const TlsSettings& tls = *loaded.config.access.tls;
  EXPECT_EQ(tls.certificate.text,
            "Subject: CN=here\n"
            "-----BEGIN CERTIFICATE-----\n"
            "MIIB\n"
            "-----END CERTIFICATE-----");
  EXPECT_EQ(tls.key.text, "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----");
  EXPECT_EQ(tls.client_ca.text, "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n");
  EXPECT_TRUE(tls.certificate.file.empty() && tls.key.file.empty() && tls.client_ca.file.empty());
}

TEST(WebConfigTest, ReadsPemTextsOfAFileWithLineBreaksOfWindows) {
  const LoadedWebConfig loaded = load(
      "tls_server_config:\r\n"
      "  cert: |\r\n"
      "    -----BEGIN CERTIFICATE-----\r\n"
      "    -----END CERTIFICATE-----\r\n"
      "  key_file: a.key\r\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  ASSERT_TRUE(loaded.config.access.tls);
  EXPECT_THAT(loaded.config.access.tls->certificate.text, HasSubstr("-----BEGIN CERTIFICATE-----"));
}

TEST(WebConfigTest, TakesFilesNextToItselfUnlessTheyHaveAWholePath) {
  const LoadedWebConfig loaded = load_web_config_text(
      "tls_server_config:\n"
      "  cert_file: certs/a.crt\n"
      "  key_file: /etc/ssl/a.key\n"
      "  client_ca_file: ../ca.crt\n"
      "  client_auth_type: RequestClientCert\n",
      "/etc/exporter/web.yaml");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.access.tls->certificate.file, "/etc/exporter/certs/a.crt");
  EXPECT_EQ(loaded.config.access.tls->key.file, "/etc/ssl/a.key");
  EXPECT_EQ(loaded.config.access.tls->client_ca.file, "/etc/exporter/../ca.crt");
}

/// How Go, in which files of this kind were written first, calls a policy.
struct ClientAuthCase {
  std::string word;
  ClientCertificate client_certificate;
};
class ClientAuthTest : public ::testing::TestWithParam<ClientAuthCase> {};

TEST_P(ClientAuthTest, IsRead) {
  const std::string ca =
      GetParam().client_certificate == ClientCertificate::kNone ? "" : ", client_ca_file: ca.crt";

  const LoadedWebConfig loaded = load(with_tls("client_auth_type: " + GetParam().word + ca));

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_EQ(loaded.config.access.tls->client_certificate, GetParam().client_certificate);
}

INSTANTIATE_TEST_SUITE_P(
    Word, ClientAuthTest,
    ::testing::Values(
        ClientAuthCase{"NoClientCert", ClientCertificate::kNone},
        ClientAuthCase{"RequestClientCert", ClientCertificate::kRequested},
        ClientAuthCase{"RequireAnyClientCert", ClientCertificate::kAny},
        ClientAuthCase{"RequireClientCert", ClientCertificate::kAny},
        ClientAuthCase{"VerifyClientCertIfGiven", ClientCertificate::kVerifiedIfGiven},
        ClientAuthCase{"RequireAndVerifyClientCert", ClientCertificate::kRequiredAndVerified}),
    [](const auto& row) { return row.param.word; });

TEST(WebConfigTest, NeedsNoAuthorityForClientsThatAreNotVerified) {
  EXPECT_THAT(messages(load(with_tls("client_auth_type: RequestClientCert"))), IsEmpty());
  EXPECT_THAT(messages(load(with_tls("client_auth_type: RequireAnyClientCert"))), IsEmpty());
}

TEST(WebConfigTest, ReadsTheVersionsOfTlsFromTheFirstToTheLast) {
  const LoadedWebConfig widest = load(with_tls("min_version: TLS10, max_version: TLS13"));
  const LoadedWebConfig newest = load(with_tls("min_version: TLS13"));

  ASSERT_THAT(messages(widest), IsEmpty());
  EXPECT_EQ(widest.config.access.tls->min_version, TlsVersion::kTls10);
  EXPECT_EQ(widest.config.access.tls->max_version, TlsVersion::kTls13);
  ASSERT_THAT(messages(newest), IsEmpty());
  EXPECT_EQ(newest.config.access.tls->min_version, TlsVersion::kTls13);
}

TEST(WebConfigTest, TakesEmptyListsForTheDefault) {
  const LoadedWebConfig loaded = load(with_tls("cipher_suites: [], curve_preferences: []"));

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.access.tls->ciphers, IsEmpty());
  EXPECT_THAT(loaded.config.access.tls->curves, IsEmpty());
}

TEST(WebConfigTest, WarnsThatTheSuitesOfTls13CannotBeChosen) {
  const LoadedWebConfig loaded =
      load(with_tls("cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]"));

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.access.tls->ciphers, ElementsAre("ECDHE-RSA-AES128-SHA"));
  EXPECT_THAT(warnings(loaded),
              ElementsAre("w.yaml:1:74: tls_server_config.cipher_suites[0]: the suites of TLS 1.3 "
                          "are always on"));
}

TEST(WebConfigTest, TakesSuitesOfTls13AloneWhereNothingElseIsSpoken) {
  const LoadedWebConfig loaded =
      load(with_tls("min_version: TLS13, cipher_suites: [TLS_CHACHA20_POLY1305_SHA256]"));

  EXPECT_THAT(messages(loaded), IsEmpty());
}

TEST(WebConfigTest, WarnsThatThereIsNoTlsWithoutACertificate) {
  const LoadedWebConfig loaded = load("tls_server_config: {min_version: TLS13}\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.access.tls);
  EXPECT_THAT(warnings(loaded), ElementsAre("w.yaml:1:20: tls_server_config: without a "
                                            "certificate, plain HTTP is served"));
}

TEST(WebConfigTest, LeavesOutAHeaderThatIsBlank) {
  const LoadedWebConfig loaded =
      load("http_server_config: {headers: {X-XSS-Protection: ' ', Content-Security-Policy: ''}}\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_THAT(loaded.config.access.headers, IsEmpty());
}

TEST(WebConfigTest, HasNoLimitWithAnIntervalOfZero) {
  const LoadedWebConfig loaded = load("rate_limit: {interval: 0, burst: 0}\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.access.rate_limit);
  EXPECT_THAT(warnings(loaded), IsEmpty());
}

TEST(WebConfigTest, WarnsThatABurstAloneLimitsNothing) {
  const LoadedWebConfig loaded = load("rate_limit: {burst: 5}\n");

  ASSERT_THAT(messages(loaded), IsEmpty());
  EXPECT_FALSE(loaded.config.access.rate_limit);
  EXPECT_THAT(warnings(loaded),
              ElementsAre("w.yaml:1:13: rate_limit: without an interval, nothing is limited"));
}

TEST(WebConfigTest, TakesBothEndsOfEveryRange) {
  EXPECT_THAT(messages(load("rate_limit: {interval: 1ns, burst: 1}\n")), IsEmpty());
  EXPECT_THAT(messages(load("rate_limit: {interval: 1h, burst: 1000000}\n")), IsEmpty());
}

TEST(BcryptTest, TakesEveryVariantAndCostThatCanBeChecked) {
  for (const char* start : {"$2a$04", "$2b$12", "$2y$16"}) {
    EXPECT_EQ(wrong_hash(start + kHash.substr(6)), "") << start;
  }
}

TEST(BcryptTest, RefusesWhatNoPasswordCanMatch) {
  std::string wrong_salt = kHash;
  wrong_salt[28] = 'v';  // bits that its place does not have
  std::string wrong_end = kHash;
  wrong_end.back() = 'H';  // the same
  for (const std::string& damaged :
       {kHash.substr(0, 59), kHash + "x", kHash.substr(0, 20) + "!" + kHash.substr(21), wrong_salt,
        wrong_end, std::string("$2y$10$")}) {
    EXPECT_THAT(wrong_hash(damaged), HasSubstr("damaged")) << damaged;
  }
}

TEST(BcryptTest, RefusesOtherSchemes) {
  for (const char* other : {"", "hunter2", "$2", "$2y$", "$2y$1", "$2x$10$", "$2$10$", "$2y$1x$",
                            "$apr1$abc", "$6$salt$hash", "{SHA}abc="}) {
    EXPECT_EQ(wrong_hash(other), "this is no bcrypt hash") << other;
  }
}

/// What an operator may write, with a '^' before what is wrong, and the only thing said about it.
struct WebErrorRow {
  std::string name;
  std::string yaml;
  std::string error;
  std::string remedy;
};

const std::string kTopLevelRemedy =
    "the keys here are: tls_server_config, http_server_config, basic_auth_users, rate_limit, "
    "allow_downgrade";
const std::string kPemRemedy =
    "write '|' after the colon, and the text from -----BEGIN to the end of its last line below "
    "it, indented";
const std::string kHashRemedy =
    "write what 'htpasswd -nBC 10 \"\"' prints after its colon, of a cost from 4 to 18";
const std::string kVerifyRemedy = "write 'client_auth_type: RequireAndVerifyClientCert'";
const std::string kVersionRemedy = "write TLS10, TLS11, TLS12 or TLS13";
const std::string kCurveRemedy = "use CurveP256, CurveP384, CurveP521 and X25519";
const std::string kIntervalRemedy = "write a duration from 0s to 1h, for example 500ms or 1m30s";
const std::string kCipherRemedy =
    "use others, for example TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 and "
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";

const std::vector<WebErrorRow> kRows = {
    // What the file is as a whole.
    {"AListAtTheTop", "^- a\n", "found a list where a map of keys is expected", kTopLevelRemedy},
    {"AWordAtTheTop", "^alice:hunter2\n", "found a text where a map of keys is expected",
     kTopLevelRemedy},
    {"TheOtherKindOfFile", "^groups: []\n", "unknown key", kTopLevelRemedy},
    {"AMisspelledKey", "^basic_auth_user: {}\n", "unknown key", "did you mean 'basic_auth_users'?"},
    {"AnUnknownKey", "^xxx: 1\n", "unknown key", kTopLevelRemedy},
    {"AnUnknownKeyInCapitals", "rate_limit: {^LIMIT: 1}\n", "rate_limit: unknown key",
     "the keys here are: interval, burst"},
    {"AnUnknownKeyWithoutAValue", "rate_limit: {^limit}\n", "rate_limit: unknown key",
     "the keys here are: interval, burst"},
    {"AKeyTwice", "rate_limit: {burst: 1, ^burst: 2}\n",
     "rate_limit.burst: this is repeated, first on line 1 column 14", "keep one of the two"},
    {"AControlCharacter", "rate_limit: ^\x01\n", "the control character 0x01",
     "remove it; a text file contains none but tabs and line breaks"},
    {"NoYaml", "rate_limit: {\n^", "not YAML: end of map flow not found",
     "check the indentation, which takes no tabs, and the brackets and quotes here and above; put "
     "text with special characters in quotes"},
    // Certificates and keys.
    {"AnUnknownKeyOfTls", with_tls("^client_auth: NoClientCert"), "tls_server_config: unknown key",
     "the keys here are: cert, key, client_ca, cert_file, key_file, client_ca_file, "
     "client_auth_type, client_allowed_sans, min_version, max_version, cipher_suites, "
     "prefer_server_cipher_suites, curve_preferences"},
    {"AMisspelledKeyOfTls", with_tls("^cipher_suits: []"), "tls_server_config: unknown key",
     "did you mean 'cipher_suites'?"},
    {"NoKey", "tls_server_config: ^{cert_file: a}\n", "tls_server_config: there is no key",
     "add 'key_file: ' and its name"},
    {"NoCertificate", "tls_server_config: ^{key_file: a}\n",
     "tls_server_config: there is no certificate", "add 'cert_file: ' and its name"},
    {"AFileAndAText",
     "tls_server_config:\n"
     "  cert_file: ^a\n"
     "  cert: \"-----BEGIN CERTIFICATE-----\\n\"\n"
     "  key_file: b\n",
     "tls_server_config.cert_file: there is cert as well", "keep one of cert and cert_file"},
    {"AnEmptyNameOfAFile", "tls_server_config: ^{cert_file: '', key_file: b}\n",
     "tls_server_config: there is no certificate", "add 'cert_file: ' and its name"},
    {"AFileForAText", "tls_server_config: {cert: ^a.crt, key_file: b}\n",
     "tls_server_config.cert: this is not a text in the PEM format",
     "write '|' after the colon, and the text from -----BEGIN to the end of its last line below "
     "it, indented; the name of a file belongs to the key that ends in _file"},
    {"ATextForAFile",
     "tls_server_config:\n"
     "  cert_file: a\n"
     "  key_file: ^|\n"
     "    -----BEGIN PRIVATE KEY-----\n"
     "    MC4C\n",
     "tls_server_config.key_file: this is a text in the PEM format, not the name of a file",
     "write it as the value of the key without _file"},
    {"ANameOfAFileOfTwoLines",
     "tls_server_config:\n"
     "  cert_file: ^a\n"
     "    b\n"
     "  key_file: c\n",
     "tls_server_config.cert_file: the text runs over more than one line",
     "write each text on one line or below '>-', and items and keys in the column of those above"},
    {"APemTextWithoutABar",
     "tls_server_config:\n"
     "  cert_file: a\n"
     "  key: ^-----BEGIN PRIVATE KEY-----\n"
     "    MC4C\n"
     "    -----END PRIVATE KEY-----\n",
     "tls_server_config.key: this text has lost its line breaks", kPemRemedy},
    {"APemTextThatRingsABell", "tls_server_config: {cert_file: a, key: ^\"-----BEGIN \\a\"}\n",
     "tls_server_config.key: the text contains a control character", kPemRemedy},
    {"AListForAPemText", "tls_server_config: {cert_file: a, key: ^[b]}\n",
     "tls_server_config.key: found a list where a text in the PEM format is expected", kPemRemedy},
    // Clients.
    {"AMisspelledPolicy", with_tls("client_auth_type: ^RequireAndVerify"),
     "tls_server_config.client_auth_type: the text is not a policy for clients",
     "write NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
     "RequireAndVerifyClientCert"},
    {"AMisspelledPolicyWithAnAuthority",
     with_tls("client_auth_type: ^RequireAndVerifyClientCerts, client_ca_file: c"),
     "tls_server_config.client_auth_type: the text is not a policy for clients",
     "did you mean 'RequireAndVerifyClientCert'?"},
    {"AnAuthorityWithoutAPolicy", with_tls("client_ca_file: ^c"),
     "tls_server_config.client_ca_file: no client is asked for a certificate",
     "add 'client_auth_type: RequireAndVerifyClientCert', or remove this"},
    {"NamesWithoutAPolicy", with_tls("client_allowed_sans: ^[a]"),
     "tls_server_config.client_allowed_sans: names are checked only if every client is verified",
     kVerifyRemedy},
    {"NamesOfClientsThatNeedNoCertificate",
     with_tls("client_auth_type: VerifyClientCertIfGiven, client_ca_file: c, "
              "client_allowed_sans: ^[a]"),
     "tls_server_config.client_allowed_sans: names are checked only if every client is verified",
     kVerifyRemedy},
    {"NamesOfClientsThatAreNotVerified",
     with_tls("client_auth_type: RequireAnyClientCert, client_allowed_sans: ^[a]"),
     "tls_server_config.client_allowed_sans: names are checked only if every client is verified",
     kVerifyRemedy},
    {"NoNames",
     with_tls("client_auth_type: RequireAndVerifyClientCert, client_ca_file: c, "
              "client_allowed_sans: ^[]"),
     "tls_server_config.client_allowed_sans: no name: every client would be refused",
     "list one, or remove the key"},
    {"AnEmptyName",
     with_tls("client_auth_type: RequireAndVerifyClientCert, client_ca_file: c, "
              "client_allowed_sans: [^'']"),
     "tls_server_config.client_allowed_sans[0]: a name of 0 bytes",
     "write a DNS name, an IP or mail address or a URI of at most 2048 bytes"},
    {"AWordForNames",
     with_tls("client_auth_type: RequireAndVerifyClientCert, client_ca_file: c, "
              "client_allowed_sans: ^a"),
     "tls_server_config.client_allowed_sans: found a text where a list of names is expected",
     "write a list, for example [client.example]"},
    // Versions, cipher suites and curves.
    {"AnUnknownVersion", with_tls("min_version: ^TLS1.2"),
     "tls_server_config.min_version: the text is not a version of TLS", "did you mean 'TLS12'?"},
    {"AVersionOfLongAgo", with_tls("min_version: ^SSLv3"),
     "tls_server_config.min_version: the text is not a version of TLS", kVersionRemedy},
    {"AVersionAsNearToOneAsToAnother", with_tls("min_version: ^TLS14"),
     "tls_server_config.min_version: the text is not a version of TLS", kVersionRemedy},
    {"AnUnknownVersionAboveTheOther", with_tls("min_version: ^TLS9, max_version: TLS11"),
     "tls_server_config.min_version: the text is not a version of TLS", kVersionRemedy},
    {"VersionsInTheWrongOrder", with_tls("min_version: TLS13, max_version: ^TLS12"),
     "tls_server_config.max_version: max_version is below min_version",
     "lower min_version as well, which is TLS12 unless it is written"},
    {"AMostVersionBelowTheDefault", with_tls("max_version: ^TLS11"),
     "tls_server_config.max_version: max_version is below min_version",
     "lower min_version as well, which is TLS12 unless it is written"},
    {"AnUnknownCipher", with_tls("cipher_suites: [^FAST]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite", kCipherRemedy},
    {"AMisspelledCipher", with_tls("cipher_suites: [^TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA265]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite",
     "did you mean 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'?"},
    {"ACipherOfOpenSsl", with_tls("cipher_suites: [^ECDHE-RSA-AES256-GCM-SHA384]"),
     "tls_server_config.cipher_suites[0]: 'ECDHE-RSA-AES256-GCM-SHA384' is OpenSSL's name",
     "write Go's name, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
    {"Rc4", with_tls("cipher_suites: [^TLS_ECDHE_RSA_WITH_RC4_128_SHA]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite",
     "did you mean 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA'?"},
    {"TripleDes", with_tls("cipher_suites: [^TLS_RSA_WITH_3DES_EDE_CBC_SHA]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite", kCipherRemedy},
    {"RsaKeyExchange", with_tls("cipher_suites: [^TLS_RSA_WITH_AES_128_GCM_SHA256]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite",
     "did you mean 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'?"},
    {"CbcWithSha256", with_tls("cipher_suites: [^TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256]"),
     "tls_server_config.cipher_suites[0]: the text is not a cipher suite", kCipherRemedy},
    {"ACipherTwice",
     with_tls("cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, ^"
              "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]"),
     "tls_server_config.cipher_suites[1]: this is repeated, first on line 1 column 74",
     "remove one of the two"},
    {"OnlyCiphersOfTls13", with_tls("cipher_suites: ^[TLS_AES_128_GCM_SHA256]"),
     "tls_server_config.cipher_suites: all of these are of TLS 1.3, so there is none for TLS 1.2",
     "add some for it, or write 'min_version: TLS13'"},
    {"AWordForCiphers", with_tls("cipher_suites: ^HIGH"),
     "tls_server_config.cipher_suites: found a text where a list of cipher suites is expected",
     "write a list, for example [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
     "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]"},
    {"AnUnknownCurve", with_tls("curve_preferences: [^secp256k1]"),
     "tls_server_config.curve_preferences[0]: the text is not a curve", kCurveRemedy},
    {"AMisspelledCurve", with_tls("curve_preferences: [^P256]"),
     "tls_server_config.curve_preferences[0]: the text is not a curve", kCurveRemedy},
    {"YesForAFlag", with_tls("prefer_server_cipher_suites: ^yes"),
     "tls_server_config.prefer_server_cipher_suites: the text is not true or false",
     "write true or false"},
    // Headers.
    {"AWordForHttp2", "http_server_config: {http2: ^off}\n",
     "http_server_config.http2: the text is not true or false", "write true or false"},
    {"AnotherHeader", "http_server_config: {headers: {^Server: me}}\n",
     "http_server_config.headers: unknown key",
     "the keys here are: Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, "
     "X-XSS-Protection, Strict-Transport-Security"},
    {"AHeaderInSmallLetters", "http_server_config: {headers: {^x-frame-options: deny}}\n",
     "http_server_config.headers: unknown key", "did you mean 'X-Frame-Options'?"},
    {"AnotherWordForAHeader", "http_server_config: {headers: {X-Frame-Options: ^allow}}\n",
     "http_server_config.headers.X-Frame-Options: the text is not a value of this header",
     "write deny or sameorigin"},
    {"AWordForAHeaderInCapitals", "http_server_config: {headers: {X-Frame-Options: ^SAMEORIGIN}}\n",
     "http_server_config.headers.X-Frame-Options: the text is not a value of this header",
     "did you mean 'sameorigin'?"},
    {"AMisspelledWordForAHeader",
     "http_server_config: {headers: {X-Content-Type-Options: ^no-sniff}}\n",
     "http_server_config.headers.X-Content-Type-Options: the text is not a value of this header",
     "did you mean 'nosniff'?"},
    {"AnEmptyWordForAHeader", "http_server_config: {headers: {X-Content-Type-Options: ^''}}\n",
     "http_server_config.headers.X-Content-Type-Options: the text is not a value of this header",
     "write nosniff"},
    {"AHeaderThatBreaksALine",
     "http_server_config: {headers: {X-XSS-Protection: ^\"1\\r\\nServer: me\"}}\n",
     "http_server_config.headers.X-XSS-Protection: the text contains a control character",
     "write it on one line"},
    {"AHeaderThatIsNotAscii",
     "http_server_config: {headers: {Content-Security-Policy: ^'größer'}}\n",
     "http_server_config.headers.Content-Security-Policy: a value that is not ASCII, or longer "
     "than 4096 bytes",
     "write a shorter one in ASCII"},
    {"AHeaderThatIsTooLong",
     "http_server_config: {headers: {Content-Security-Policy: ^" + std::string(4097, 'x') + "}}\n",
     "http_server_config.headers.Content-Security-Policy: a value that is not ASCII, or longer "
     "than 4096 bytes",
     "write a shorter one in ASCII"},
    // Users.
    {"AListOfUsers", "basic_auth_users: ^[alice]\n",
     "basic_auth_users: found a list where a map of users is expected",
     "write 'name: hash' for each user, the hash as 'htpasswd -nBC 10 \"\"' prints it, or remove "
     "basic_auth_users to disable logins"},
    {"APlainPassword",
     "basic_auth_users:\n"
     "  alice: ^hunter2\n",
     "basic_auth_users: this is no bcrypt hash", kHashRemedy},
    {"AnEmptyPassword", "basic_auth_users: {alice: ^''}\n",
     "basic_auth_users: this is no bcrypt hash", kHashRemedy},
    {"AHashOfCost19", "basic_auth_users: {alice: ^$2y$19" + kHash.substr(6) + "}\n",
     "basic_auth_users: a hash of cost 19: one check of it would take too long", kHashRemedy},
    {"AHashOfCost3", "basic_auth_users: {alice: ^$2y$03" + kHash.substr(6) + "}\n",
     "basic_auth_users: a hash of cost 3, which bcrypt does not have", kHashRemedy},
    {"AHashThatWasCutOff", "basic_auth_users: {alice: ^" + kHash.substr(0, 59) + "}\n",
     "basic_auth_users: a bcrypt hash that is damaged: no password can match it", kHashRemedy},
    {"AnEmptyUser", "basic_auth_users: {^'': " + kHash + "}\n",
     "basic_auth_users: the name is empty", "write a name, for example prometheus"},
    {"AUserWithAColon", "basic_auth_users: {^'a:b': " + kHash + "}\n",
     "basic_auth_users: a name with ':', which no client can send",
     "write 'name: hash' with a blank after the colon"},
    {"AUserThatBreaksALine", "basic_auth_users: {^\"a\\nb\": " + kHash + "}\n",
     "basic_auth_users: the text contains a control character",
     "write a name, for example prometheus"},
    {"AUserOf256Bytes", "basic_auth_users: {^" + std::string(256, 'a') + ": " + kHash + "}\n",
     "basic_auth_users: a name of 256 bytes", "use at most 255"},
    {"AUserTwice",
     "basic_auth_users:\n"
     "  alice: " +
         kHash + "\n  ^alice: " + kHash + "\n",
     "basic_auth_users: this is repeated, first on line 2 column 3", "keep one of the two"},
    // Rate limits.
    {"AnIntervalWithoutAUnit", "rate_limit: {interval: ^5, burst: 1}\n",
     "rate_limit.interval: the text has no unit", kIntervalRemedy},
    {"ANegativeInterval", "rate_limit: {interval: ^-1s, burst: 1}\n",
     "rate_limit.interval: the text is not a duration", kIntervalRemedy},
    {"AnIntervalOfADay", "rate_limit: {interval: ^24h, burst: 1}\n",
     "rate_limit.interval: the text is out of range", kIntervalRemedy},
    {"ANegativeBurst", "rate_limit: {interval: 1s, burst: ^-1}\n",
     "rate_limit.burst: the text is negative",
     "write a whole number from 0 to 1000000, in plain digits"},
};

class WebErrorsTest : public ::testing::TestWithParam<WebErrorRow> {};

TEST_P(WebErrorsTest, IsReportedAs) {
  const test::MarkedText file = test::marked(GetParam().yaml);

  EXPECT_THAT(messages(load(file.text)),
              ElementsAre("w.yaml:" + file.place + ": " + GetParam().error +
                          ". Remedy: " + GetParam().remedy));
}

INSTANTIATE_TEST_SUITE_P(Text, WebErrorsTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(WebConfigTest, ReportsEveryErrorAtOnceAndInTheOrderOfTheFile) {
  const LoadedWebConfig loaded = load(
      "rate_limit: {interval: 5}\n"
      "basic_auth_users: {alice: hunter2}\n"
      "tls_server_config: {min_version: TLS9, cert_file: a}\n"
      "http: {}\n");

  EXPECT_THAT(messages(loaded),
              ElementsAre(HasSubstr("w.yaml:1:24: rate_limit.interval: "),
                          HasSubstr("w.yaml:2:27: basic_auth_users: "),
                          HasSubstr("w.yaml:3:20: tls_server_config: there is no key"),
                          HasSubstr("w.yaml:3:34: tls_server_config.min_version: "),
                          HasSubstr("w.yaml:4:1: unknown key")));
}

/// Where a key, or a line of one, may have slipped to; '@' stands for it.
const std::vector<std::string> kWrongPlaces = {
    "@\n",
    "@: {}\n",
    "{@}\n",
    "- @\n",
    "tls_server_config: @\n",
    "tls_server_config: |\n  -----BEGIN PRIVATE KEY-----\n  @\n  -----END PRIVATE KEY-----\n",
    "tls_server_config: [@]\n",
    "tls_server_config: {@}\n",
    "tls_server_config: {@: x}\n",
    "tls_server_config: {key @}\n",
    "tls_server_config: {key:@}\n",
    "tls_server_config: {client_ca_file @}\n",
    "tls_server_config: {prefer_server_cipher_suites @}\n",
    "tls_server_config: {key @: x}\n",
    "tls_server_config: {? [@] : x}\n",
    "tls_server_config: {key:\n  @}\n",
    "tls_server_config: {cert_file: a, key: b, @: , @: }\n",
    "tls_server_config: {keys: @}\n",
    "tls_server_config: {keys: |-\n  @}\n",
    "tls_server_config: {cert: @, key: @, client_ca: @}\n",
    "tls_server_config: {cert_file: [@], key_file: {@: @}, client_ca_file: {@}}\n",
    "tls_server_config: {min_version: @, max_version: [@]}\n",
    "tls_server_config: {min_version: !@ x}\n",
    "tls_server_config: {min_version: \"@\\n\"}\n",
    "tls_server_config:\n  min_version: @\n    @\n",
    "tls_server_config: {client_auth_type: @}\n",
    "tls_server_config: {client_auth_type: RequireAndVerifyClientCert @}\n",
    "tls_server_config: {client_allowed_sans: @}\n",
    "tls_server_config: {client_allowed_sans: [[@], {@: @}, \"@\\a\"]}\n",
    "tls_server_config: {cipher_suites: @}\n",
    "tls_server_config: {cipher_suites: [@, TLS_RSA_WITH_@, {@: @}]}\n",
    "tls_server_config: {curve_preferences: @}\n",
    "tls_server_config: {curve_preferences: [@, @]}\n",
    "tls_server_config: {prefer_server_cipher_suites: @}\n",
    "tls_server_config: {prefer_server_cipher_suites: '@'}\n",
    "http_server_config: @\n",
    "http_server_config: [@]\n",
    "http_server_config: {@}\n",
    "http_server_config: {http2: @}\n",
    "http_server_config: {headers: @}\n",
    "http_server_config: {headers: {@: x}}\n",
    "http_server_config: {headers: {X-Frame-Options: @}}\n",
    "http_server_config: {headers: {X-XSS-Protection: \"@\\n\"}}\n",
    "basic_auth_users: @\n",
    "basic_auth_users: {@}\n",
    "basic_auth_users: {@: @}\n",
    "basic_auth_users: {alice: {@: @}}\n",
    "rate_limit: @\n",
    "rate_limit: {@}\n",
    "rate_limit: {interval: @}\n",
    "rate_limit: {interval: 1@, burst: 1@}\n",
    "rate_limit: {interval: 1s, burst: '@'}\n",
    "%YAML @\n---\n",
};

std::string with_secret(const std::string& place, const std::string& secret) {
  std::string text;
  for (const char c : place) text += c == '@' ? secret : std::string(1, c);
  return text;
}

/// Everything that is said about the text.
std::string all_messages(const std::string& yaml) {
  const LoadedWebConfig loaded = load(yaml);
  std::string all;
  for (const std::string& message : messages(loaded)) all += message + "\n";
  for (const std::string& warning : warnings(loaded)) all += warning + "\n";
  return all;
}

class WrongPlaceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongPlaceTest, IsReportedWithoutWhatStandsThere) {
  for (const char* secret :
       {"SECRETKEY", "hunter2", "s3", "MC4CAQAwBQYDK2VwBCIEIDx1", "ab/cd+ef=="}) {
    const std::string yaml = with_secret(GetParam(), secret);

    const std::string said = all_messages(yaml);

    EXPECT_THAT(said, Not(IsEmpty())) << yaml;
    EXPECT_THAT(said, Not(HasSubstr(secret))) << yaml;
  }
}

INSTANTIATE_TEST_SUITE_P(Text, WrongPlaceTest, ::testing::ValuesIn(kWrongPlaces));

/// A digit and a capital are in every one of them, as in nearly every key in base64. None is so
/// long that a message would cut it off.
RC_GTEST_PROP(WrongPlaceTest, DisclosesNothingOfAnyKey, ()) {
  const auto digits = *rc::gen::container<std::string>(rc::gen::elementOf(
      std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")));
  const std::string secret = "M7" + digits.substr(0, 50);
  for (const std::string& place : kWrongPlaces) {
    RC_ASSERT(all_messages(with_secret(place, secret)).find(secret) == std::string::npos);
  }
}

/// Ways to write a password, or a key, where it does not belong or not as it should be.
class SecretTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SecretTest, IsNeverRepeated) {
  const LoadedWebConfig loaded = load(GetParam());

  ASSERT_TRUE(loaded.diagnostics.has_errors());
  for (const std::string& message : messages(loaded)) {
    EXPECT_THAT(message, Not(HasSubstr("hunter")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Text, SecretTest,
    ::testing::Values(
        "hunter2\n", "!hunter2 x\n", "{hunter}\n", "tls_server_config: {hunter}\n",
        "tls_server_config: {cert_file: a, key_file hunter}\n", "rate_limit: {interval hunter}\n",
        "http_server_config: {headers: {hunter}}\n", "basic_auth_users: hunter2\n",
        "basic_auth_users: !hunter2 x\n", "basic_auth_users: {alice: hunter2}\n",
        "basic_auth_users: {alice:hunter2}\n", "basic_auth_users: {alice hunter2}\n",
        "basic_auth_users: {alice: !hunter2 x}\n", "basic_auth_users: {alice: [hunter2]}\n",
        "basic_auth_users: {alice: {hunter2: x}}\n", "basic_auth_users: {alice: *hunter2}\n",
        "basic_auth_users: {alice: \"hunter2\\n\"}\n", "basic_auth_users: {hunter2: , hunter2: }\n",
        "basic_auth_users: {? [hunter2] : x}\n", "basic_auth_users:\n  alice: |\n    hunter2\n",
        "basic_auth_users:\n  alice: hunter2\n    x\n", "basic_auth_users:\n  alice:hunter2\n",
        "basic_auth_users:\n  - alice:hunter2\n", "basic_auth_users:\n  - alice: hunter2\n",
        "basic_auth_users:\n  alice: 'hunter2\n", "basic_auth_users:\n  alice: @hunter2\n",
        "basic_auth_users:\n  alice: \"\\hunter2\"\n", "basic_auth_users: alice: hunter2\n",
        "basic_auth_users:\n  alice: $2y$18$hunter2\n",
        "basic_auth_users:\n  alice: $2y$10$hunter2\n", "basic_auth_users:\nalice: hunter2\n",
        "rate_limit:\n  alice: hunter2\n", "tls_server_config: {cert_file: a, key: hunter2}\n",
        "tls_server_config: {cert_file: a, key: !hunter2 x}\n",
        "tls_server_config: {cert_file: a, key: -----BEGIN hunter2}\n",
        "tls_server_config: {cert_file: a, key_file: -----BEGIN hunter2}\n",
        "tls_server_config: {cert_file: a, key_file: \"hunter2\\nhunter2\"}\n",
        "tls_server_config: {cert_file: a, key_file: hunter2, key: \"hunter2\\e\"}\n"));

TEST(AllowDowngradeTest, IsAFlagThatIsFalseUnlessWritten) {
  EXPECT_FALSE(load("{}\n").config.allow_downgrade);
  EXPECT_TRUE(load("allow_downgrade: true\n").config.allow_downgrade);
  EXPECT_THAT(messages(load("allow_downgrade: yes\n")),
              ElementsAre(HasSubstr("w.yaml:1:18: allow_downgrade: ")));
}

TEST(WebConfigFileTest, IsReadWithItsFilesNextToIt) {
  const test::TempTree tree{{"web.yaml", "tls_server_config: {cert_file: a, key_file: /b}\n"}};

  const Result<LoadedWebConfig> loaded = load_web_config_file(tree.path("web.yaml"));

  ASSERT_TRUE(loaded);
  ASSERT_THAT(messages(*loaded), IsEmpty());
  EXPECT_EQ(loaded->config.access.tls->certificate.file, tree.path("a"));
  EXPECT_EQ(loaded->config.access.tls->key.file, "/b");
}

TEST(WebConfigFileTest, ThatIsMissingIsNamedWithItsOption) {
  const test::TempTree tree;
  const std::string path = tree.path("web.yaml");

  const Result<LoadedWebConfig> loaded = load_web_config_file(path);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(describe(loaded.error()),
            "read the web configuration '" + path +
                "': No such file or directory (ENOENT). Remedy: create the file, or set another "
                "one with the web configuration file");
}

TEST(WebConfigFileTest, ThatIsAFifoIsRefusedAndNotWaitedFor) {
  const test::TempTree tree;
  const std::string path = tree.path("web.yaml");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  const Result<LoadedWebConfig> loaded = load_web_config_file(path);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(describe(loaded.error()),
            "read the web configuration '" + path +
                "', which is a FIFO or pipe: Invalid argument (EINVAL). Remedy: write its content "
                "into a regular file, and name that file");
}

TEST(WebConfigFileTest, ThatIsTooLargeIsNamedAsWhatItIs) {
  const std::string text(yaml::kMaxFileBytes + 1, '#');
  const test::TempTree tree{{"web.yaml", text}};

  const Result<LoadedWebConfig> loaded = load_web_config_file(tree.path("web.yaml"));

  ASSERT_FALSE(loaded);
  EXPECT_THAT(describe(loaded.error()), HasSubstr("a web configuration is 1 MiB at most"));
  EXPECT_THAT(messages(load(text)),
              ElementsAre("w.yaml: the text is too large. Remedy: a web configuration is 1 MiB at "
                          "most; is this the right file?"));
}

TEST(ShippedWebConfigTest, HasNoErrors) {
  const std::string folder = PEX_SOURCE_DIR "/config/examples/";

  const Result<LoadedWebConfig> loaded = load_web_config_file(folder + "web.yaml");

  ASSERT_TRUE(loaded);
  ASSERT_THAT(messages(*loaded), IsEmpty());
  EXPECT_THAT(warnings(*loaded), IsEmpty());
  const AccessSettings& access = loaded->config.access;
  ASSERT_TRUE(access.tls);
  EXPECT_EQ(access.tls->certificate.file, folder + "exporter.crt");
  EXPECT_THAT(access.tls->ciphers, SizeIs(4));
  EXPECT_THAT(access.tls->curves, SizeIs(2));
  EXPECT_THAT(access.headers, SizeIs(5));
  EXPECT_THAT(access.users, SizeIs(1));
  EXPECT_TRUE(access.rate_limit);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// As the error of a key that is not known lists them.
std::vector<std::string> keys_of(const std::string& yaml) {
  std::vector<std::string> keys;
  for (const yaml::Diagnostic& error : load_web_config_text(yaml, "w.yaml").diagnostics.errors()) {
    if (error.message != yaml::kUnknownKey) continue;
    const std::string remedy = error.remedy.text();
    EXPECT_TRUE(remedy.starts_with(yaml::kKeysHere)) << remedy;
    std::istringstream list{remedy.substr(yaml::kKeysHere.size())};
    for (std::string key; std::getline(list >> std::ws, key, ',');) keys.push_back(key);
  }
  return keys;
}

TEST(WebConfigKeysTest, AreDescribedOneByOne) {
  const std::string page = content_of(PEX_SOURCE_DIR "/docs/web-configuration.md");
  const std::string example = content_of(PEX_SOURCE_DIR "/config/examples/web.yaml");

  for (const char* const map : {"zzz: 1\n", "tls_server_config: {zzz: 1}\n",
                                "http_server_config: {zzz: 1}\n", "rate_limit: {zzz: 1}\n"}) {
    const std::vector<std::string> keys = keys_of(map);
    EXPECT_GE(keys.size(), 2U) << map;
    for (const std::string& key : keys) {
      const bool has_heading = page.find("\n### " + key + "\n") != page.npos;
      EXPECT_TRUE(has_heading || page.find("`" + key + "`") != page.npos) << key;
      EXPECT_THAT(example, testing::ContainsRegex("\n[ #]*" + key + ":")) << key;
    }
  }
}

}  // namespace
}  // namespace pex::access
