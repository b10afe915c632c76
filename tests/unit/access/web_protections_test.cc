#include "access/web_protections.h"

#include <string_view>

#include "access/web_config.h"
#include "support/test_headers.h"

namespace pex::access::web_protections_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kUser = "{a: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG}";
const std::string kVerify = ", client_ca_file: c, client_auth_type: RequireAndVerifyClientCert";

std::string tls(const std::string& further = {}) {
  return "tls_server_config: {cert_file: a, key_file: b" + further + "}\n";
}
std::string users(const std::string& all = kUser) { return "basic_auth_users: " + all + "\n"; }

AccessSettings of(const std::string& yaml) {
  LoadedWebConfig loaded = load_web_config_text(yaml, "w.yaml");
  for (const yaml::Diagnostic& error : loaded.diagnostics.errors()) {
    ADD_FAILURE() << describe(error);
  }
  return std::move(loaded.config.access);
}

std::vector<std::string> reported(const std::string& before, const std::string& after) {
  std::vector<std::string> all;
  for (const Downgrade& each : downgrades(of(before), of(after))) {
    all.push_back((each.opens ? "opens: " : "lowers: ") + describe(each));
  }
  return all;
}

/// A change, what it lowers when it is made, and nothing when it is undone.
struct Case {
  std::string name;
  std::string before;
  std::string after;
  std::string report;
};

class DowngradeTest : public testing::TestWithParam<Case> {};

TEST_P(DowngradeTest, IsSeenInOneDirectionOnly) {
  const Case& each = GetParam();

  EXPECT_THAT(reported(each.before, each.after), ElementsAre(each.report));
  EXPECT_THAT(reported(each.after, each.before), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Protection, DowngradeTest,
    testing::Values(
        Case{"NoTls", tls() + users(), users(), "opens: tls_server_config from TLS to plain HTTP"},
        Case{"NothingButComments", tls(), "# TLS was here\n",
             "opens: tls_server_config from TLS to plain HTTP"},
        Case{"TlsKeysWithoutCertificate", tls(), "tls_server_config: {min_version: TLS12}\n",
             "opens: tls_server_config from TLS to plain HTTP"},
        Case{"ClientsUnverified", tls(kVerify), tls(),
             "opens: tls_server_config.client_auth_type from RequireAndVerifyClientCert to "
             "NoClientCert"},
        Case{"ClientsOfAnyAuthority", tls(kVerify),
             tls(", client_auth_type: RequireAndVerifyClientCert"),
             "opens: tls_server_config.client_auth_type from RequireAndVerifyClientCert to "
             "RequireAndVerifyClientCert by any authority of the system"},
        Case{"ClientsVerifiedIfTheyWant", tls(kVerify),
             tls(", client_ca_file: c, client_auth_type: VerifyClientCertIfGiven"),
             "opens: tls_server_config.client_auth_type from RequireAndVerifyClientCert to "
             "VerifyClientCertIfGiven"},
        Case{"AnyName", tls(kVerify + ", client_allowed_sans: [a, b]"), tls(kVerify),
             "opens: tls_server_config.client_allowed_sans from 2 names to any name"},
        Case{"NoUsers", users(), "", "opens: basic_auth_users from 1 user to no user"},
        Case{"NoUsersBehindTls", tls() + users(), tls(),
             "opens: basic_auth_users from 1 user to no user"},
        Case{"OlderVersion", tls(", min_version: TLS13"), tls(),
             "lowers: tls_server_config.min_version from TLS13 to TLS12"},
        Case{"CbcBesideAnother", tls(", cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]"),
             tls(", cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
                 "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]"),
             "lowers: tls_server_config.cipher_suites from no CBC to ECDHE-RSA-AES128-SHA"},
        Case{"CbcInPlaceOfTheDefault", tls(),
             tls(", cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]"),
             "lowers: tls_server_config.cipher_suites from no CBC to ECDHE-RSA-AES128-SHA"},
        Case{"NoRateLimit", "rate_limit: {interval: 100ms, burst: 20}\n", "",
             "lowers: rate_limit from 1 request in 100ms, burst 20 to no limit"},
        Case{"QuickerRate", "rate_limit: {interval: 1s, burst: 20}\n",
             "rate_limit: {interval: 100ms, burst: 20}\n",
             "lowers: rate_limit from 1 request in 1s, burst 20 to 1 request in 100ms, burst 20"},
        Case{"GreaterBurst", "rate_limit: {interval: 1s, burst: 2}\n",
             "rate_limit: {interval: 1s, burst: 3}\n",
             "lowers: rate_limit from 1 request in 1s, burst 2 to 1 request in 1s, burst 3"},
        Case{"NoHeader", "http_server_config: {headers: {X-Frame-Options: deny}}\n", "{}\n",
             "lowers: http_server_config.headers from X-Frame-Options to none"}),
    [](const auto& each) { return each.param.name; });

TEST(DowngradesTest, AreNoneWhereWhoMayComeInChangesAndOthersStayOut) {
  const std::string two =
      "{a: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG, "
      "b: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG}";

  EXPECT_THAT(reported(users(two), users()), IsEmpty());
  EXPECT_THAT(reported(users(), users(two)), IsEmpty());
  EXPECT_THAT(reported(tls(kVerify + ", client_allowed_sans: [a]"),
                       tls(kVerify + ", client_allowed_sans: [b, c]")),
              IsEmpty());
  EXPECT_THAT(reported(tls(), "tls_server_config: {cert_file: new, key_file: newer}\n"), IsEmpty());
  EXPECT_THAT(reported("", tls(kVerify) + users()), IsEmpty());
}

TEST(DowngradesTest, NameEveryProtectionThatOneChangeTakesAway) {
  EXPECT_THAT(reported(tls(", min_version: TLS13") + users(), ""),
              ElementsAre("opens: tls_server_config from TLS to plain HTTP",
                          "opens: basic_auth_users from 1 user to no user"));
}

TEST(ProtectionStatesTest, NameEachProtectionOnce) {
  const std::vector<ProtectionState> states = states_of({});

  std::set<std::string_view> names;
  for (const ProtectionState& each : states) names.insert(each.protection);
  EXPECT_EQ(names.size(), states.size());
  EXPECT_TRUE(names.contains("users"));
}

TEST(ProtectionStatesTest, HoldNoSecret) {
  for (const ProtectionState& each : states_of(of(tls(kVerify) + users()))) {
    EXPECT_EQ(each.state.find("$2y$"), std::string::npos) << each.state;
  }
}

}  // namespace
}  // namespace pex::access::web_protections_test
