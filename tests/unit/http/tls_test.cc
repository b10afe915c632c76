
#include <future>

#include "http/server.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"
#include "unit/http/raw_client.h"
#include "unit/http/server_fixture.h"
#include "unit/http/tls_client.h"

namespace pex::http {
namespace {

using test::Identity;

/// Two authorities and what they have signed: those of the others are not trusted here.
class TlsTest : public ServerTest {
 protected:
  access::TlsSettings tls() const { return tls_of(server_identity_); }

  void use(access::TlsSettings settings) { let_in({.tls = std::move(settings)}); }
  void start_with(access::TlsSettings settings, const Limits& limits = {}) {
    use(std::move(settings));
    start(limits);
  }

  access::TlsSettings asking(access::ClientCertificate asked) const {
    access::TlsSettings settings = tls();
    settings.client_certificate = asked;
    settings.client_ca.text = authority_.certificate();
    return settings;
  }

  /// The status of a request by a client that shows `own`; 0 when it has no answer.
  unsigned status_for(const Identity* own, int version = TLS1_3_VERSION) {
    TlsClient client{port(), {.max_version = version, .own = own}};
    return client.get("/hello").status;
  }

  Identity authority_{{.name = "authority", .is_authority = true}};
  Identity server_identity_{{.name = "server", .alternative_names = "IP:127.0.0.1"}, authority_};
  Identity client_identity_{{.name = "client",
                             .alternative_names = "DNS:scraper.example,IP:192.0.2.7,"
                                                  "email:ops@example.org,URI:spiffe://x/scraper"},
                            authority_};
  Identity expired_{{.name = "expired", .valid_from = -7200, .valid_until = -3600}, authority_};
  Identity stranger_{{.name = "stranger"}};
};

TEST_F(TlsTest, ServesOverTlsToAClientThatVerifiesIt) {
  start_with(tls());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client{port(),
                     {.min_version = version, .max_version = version, .trusted = &authority_}};

    EXPECT_EQ(client.failure(), "");
    EXPECT_EQ(client.version(), version);
    EXPECT_EQ(client.get("/hello").body, "hello\n");
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\nHEAD /hello HTTP/1.0\r\n\r\n");
    EXPECT_EQ(client.read_reply().body, "hello\n");
    EXPECT_EQ(client.read_reply(/*with_body=*/false).status, 200u);
    EXPECT_TRUE(client.is_closed_without_a_word());
    EXPECT_TRUE(client.saw_close_notify());
  }
}

TEST_F(TlsTest, SendsTheWholeChain) {
  const Identity intermediate{{.name = "intermediate", .is_authority = true}, authority_};
  const Identity leaf{{.name = "leaf"}, intermediate};
  access::TlsSettings settings = tls_of(leaf);
  settings.certificate.text += intermediate.certificate();
  start_with(settings);

  TlsClient client{port(), {.trusted = &authority_}};

  EXPECT_EQ(client.get("/hello").status, 200u) << client.failure();
}

TEST_F(TlsTest, IsRefusedByAClientWhenItsCertificateHasExpired) {
  start_with(tls_of(expired_));

  EXPECT_EQ((TlsClient{port(), {.trusted = &authority_}}.failure()), "certificate verify failed");
}

TEST_F(TlsTest, SendsABigBodyWhole) {
  start_with(tls());
  TlsClient client{port()};

  EXPECT_EQ(client.get("/big").body.size(), kBigBody);
  EXPECT_EQ(client.get("/hello").status, 200u);
}

TEST_F(TlsTest, RefusesOldVersionsUnlessItIsConfiguredTo) {
  start_with(tls());
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    TlsClient client{port(), {.min_version = version, .max_version = version}};
    EXPECT_FALSE(client.is_secure());
    EXPECT_EQ(client.failure(), "tlsv1 alert protocol version");
  }

  access::TlsSettings old = tls();
  old.min_version = access::TlsVersion::kTls10;
  use(old);
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client{port(), {.min_version = version, .max_version = version}};
    EXPECT_EQ(client.get("/hello").status, 200u) << client.failure();
    EXPECT_EQ(client.version(), version);
  }
}

TEST_F(TlsTest, KeepsToTheVersionsCiphersAndCurvesItIsGiven) {
  access::TlsSettings settings = tls();
  settings.max_version = access::TlsVersion::kTls12;
  settings.ciphers = {"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"};
  settings.curves = {"P-384"};
  start_with(settings);
  const char* const both = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";

  TlsClient newest{port(), {.min_version = TLS1_3_VERSION}};
  TlsClient other_cipher{port(), {.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"}};
  TlsClient ours_first{port(), {.ciphers = both}};
  settings.prefer_server_ciphers = false;
  use(settings);
  TlsClient theirs_first{port(), {.ciphers = both}};

  EXPECT_FALSE(newest.is_secure());
  EXPECT_FALSE(other_cipher.is_secure());
  EXPECT_EQ(ours_first.cipher(), "ECDHE-ECDSA-AES256-GCM-SHA384");
  EXPECT_EQ(theirs_first.cipher(), "ECDHE-ECDSA-AES128-GCM-SHA256");
  EXPECT_EQ(theirs_first.get("/hello").status, 200u);
}

/// Those with which an RSA certificate can be used.
TEST_F(TlsTest, TakesCiphersOfForwardSecrecyAndAuthenticatedEncryptionUnlessOthersAreWritten) {
  const Identity rsa{{.name = "rsa", .is_rsa = true}};
  access::TlsSettings settings = tls_of(rsa);
  start_with(settings);
  const auto is_taken = [this](const char* cipher) {
    return TlsClient{port(), {.max_version = TLS1_2_VERSION, .ciphers = cipher}}.is_secure();
  };

  for (const char* cipher : {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384",
                             "ECDHE-RSA-CHACHA20-POLY1305"}) {
    EXPECT_TRUE(is_taken(cipher)) << cipher;
  }
  for (const char* cipher : {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA",
                             "AES256-SHA256", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384",
                             "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CAMELLIA128-SHA256"}) {
    EXPECT_FALSE(is_taken(cipher)) << cipher;
  }

  settings.ciphers = {"AES128-SHA"};
  use(settings);
  EXPECT_TRUE(is_taken("AES128-SHA"));
}

TEST_F(TlsTest, DoesNotRenegotiate) {
  start_with(tls());
  TlsClient client{port(), {.max_version = TLS1_2_VERSION}};
  ASSERT_EQ(client.get("/hello").status, 200u);

  EXPECT_FALSE(client.renegotiate());
}

TEST_F(TlsTest, ResumesSessionsUnlessClientsShowCertificates) {
  start_with(tls());
  TlsClient first{port()};
  ASSERT_EQ(first.get("/hello").status, 200u);
  TlsClient again{port(), {.resumed = first.session()}};
  EXPECT_TRUE(again.is_resumed());
  EXPECT_EQ(again.get("/hello").status, 200u);

  use(asking(access::ClientCertificate::kRequiredAndVerified));
  TlsClient showing{port(), {.own = &client_identity_}};
  ASSERT_EQ(showing.get("/hello").status, 200u) << showing.failure();
  TlsClient anew{port(), {.own = &client_identity_, .resumed = showing.session()}};
  EXPECT_FALSE(anew.is_resumed());
  EXPECT_EQ(anew.get("/hello").status, 200u);
}

TEST_F(TlsTest, AsksForCertificatesInTheFiveWaysOfGo) {
  struct Row {
    access::ClientCertificate asked;
    unsigned none, good, expired, stranger;  ///< the status for a client that shows it
  };
  const Row rows[] = {
      {access::ClientCertificate::kNone, 200, 200, 200, 200},
      {access::ClientCertificate::kRequested, 200, 200, 200, 200},
      {access::ClientCertificate::kAny, 0, 200, 200, 200},
      {access::ClientCertificate::kVerifiedIfGiven, 200, 200, 0, 0},
      {access::ClientCertificate::kRequiredAndVerified, 0, 200, 0, 0},
  };
  start_with(tls());
  for (const Row& row : rows) {
    use(asking(row.asked));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      const testing::Message what = testing::Message()
                                    << static_cast<int>(row.asked) << ", version " << version;
      EXPECT_EQ(status_for(nullptr, version), row.none) << what;
      EXPECT_EQ(status_for(&client_identity_, version), row.good) << what;
      EXPECT_EQ(status_for(&expired_, version), row.expired) << what;
      EXPECT_EQ(status_for(&stranger_, version), row.stranger) << what;
    }
  }
}

TEST_F(TlsTest, TrustsWhatStandsInTheFileOfAuthoritiesAndNothingElse) {
  access::TlsSettings settings = asking(access::ClientCertificate::kRequiredAndVerified);
  settings.client_ca.text = stranger_.certificate() + authority_.certificate();
  start_with(settings);
  EXPECT_EQ(status_for(&client_identity_), 200u);
  EXPECT_EQ(status_for(&stranger_), 200u);

  settings.client_ca.text.clear();
  use(settings);
  EXPECT_EQ(status_for(&client_identity_), 0u);
}

TEST_F(TlsTest, WantsOneOfTheAllowedNamesInAVerifiedCertificate) {
  access::TlsSettings settings = asking(access::ClientCertificate::kRequiredAndVerified);
  start_with(settings);
  const Identity nameless{{.name = "scraper.example"}, authority_};

  for (const char* const allowed : {"scraper.example", "Scraper.Example", "192.0.2.7",
                                    "ops@example.org", "spiffe://x/scraper"}) {
    settings.client_allowed_sans = {"other.example", allowed};
    use(settings);
    EXPECT_EQ(status_for(&client_identity_), 200u) << allowed;
    EXPECT_EQ(status_for(&nameless), 0u) << allowed;
  }
  for (const char* const other :
       {"other.example", "example", "192.0.2.70", "client", "::ffff:192.0.2.7", "spiffe://x/"}) {
    settings.client_allowed_sans = {other};
    use(settings);
    EXPECT_EQ(status_for(&client_identity_), 0u) << other;
  }
}

TEST_F(TlsTest, InformsAClientThatSpeaksHttpInTheClear) {
  start_with(tls());
  RawClient client = this->client();

  const Reply reply = client.get("/hello");

  EXPECT_EQ(reply.status, 400u);
  EXPECT_EQ(reply.body, "400 Bad Request: this port speaks HTTPS, and that was HTTP\n");
  EXPECT_TRUE(client.is_closed_without_a_word());
}

TEST_F(TlsTest, JustClosesAClientThatSpeaksNeither) {
  start_with(tls());
  RawClient nonsense = client_that_sends("\x01\x02\x03");

  EXPECT_EQ(nonsense.read_reply().status, 0u);
  EXPECT_EQ(TlsClient{port()}.get("/hello").status, 200u);
  EXPECT_EQ(errors().tls_handshake, 1u);
}

TEST_F(TlsTest, JustClosesAClientWhoseHandshakeTakesTooLong) {
  start_with(tls(), {.read_timeout = kShort});
  RawClient silent = client();
  RawClient half = client_that_sends("\x16\x03\x01");

  EXPECT_TRUE(silent.is_closed_without_a_word());
  EXPECT_EQ(half.read_reply().status, 0u);
}

TEST_F(TlsTest, ServesManyWhoComeAtOnce) {
  start_with(tls());
  std::vector<std::future<unsigned>> statuses;
  for (int i = 0; i < 20; ++i) {
    statuses.push_back(std::async(std::launch::async, [this] { return status_for(nullptr); }));
  }

  for (auto& each : statuses) EXPECT_EQ(each.get(), 200u);
}

TEST_F(TlsTest, RefusesRequestsAsItDoesInTheClear) {
  start_with(tls());

  TlsClient malformed{port()};
  malformed.send("nonsense\r\n\r\n");
  EXPECT_EQ(malformed.read_reply().status, 400u);
  EXPECT_TRUE(malformed.is_closed_without_a_word());

  TlsClient body{port()};
  body.send("POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n");
  body.send(std::string(200'000, 'x'));
  EXPECT_EQ(body.read_reply().status, 413u);
}

TEST_F(TlsTest, AnswersAHalfRequestWhenItsTimeIsUp) {
  start_with(tls(), {.read_timeout = seconds{2}});  // in which the handshake must be done, too

  TlsClient slow{port()};
  slow.send("GET /hello HTTP/1.1\r\nHo");
  EXPECT_EQ(slow.read_reply().status, 408u);
  EXPECT_TRUE(slow.is_closed_without_a_word());
}

TEST_F(TlsTest, CutsOffAClientThatDoesNotReadItsAnswer) {
  start_with(tls(), {.write_timeout = kShort});
  TlsClient client{port()};

  client.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");

  EXPECT_TRUE(client.is_reset());
}

TEST_F(TlsTest, TurnsFromPlainToTlsAndBackWhileItRuns) {
  start();
  RawClient plain = client();
  ASSERT_EQ(plain.get("/hello").header("connection"), "");

  use(tls());
  TlsClient secure{port()};
  EXPECT_EQ(secure.get("/hello").header("connection"), "");
  EXPECT_EQ(client().get("/hello").status, 400u);
  const Reply last_plain = plain.get("/hello");

  let_in({});
  EXPECT_EQ(client().get("/hello").status, 200u);
  const Reply last_secure = secure.get("/hello");

  // A connection that was there before has its answer, and is ended.
  EXPECT_EQ(last_plain.status, 200u);
  EXPECT_EQ(last_plain.header("connection"), "close");
  EXPECT_TRUE(plain.is_closed_without_a_word());
  EXPECT_EQ(last_secure.status, 200u);
  EXPECT_TRUE(secure.is_closed_without_a_word());
}

TEST_F(TlsTest, TakesANewCertificateWithTheNextConnection) {
  start_with(tls());
  const Identity other_authority{{.name = "other", .is_authority = true}};
  const Identity renewed{{.name = "renewed"}, other_authority};

  EXPECT_TRUE((TlsClient{port(), {.trusted = &authority_}}.is_secure()));
  use(tls_of(renewed));

  EXPECT_FALSE((TlsClient{port(), {.trusted = &authority_}}.is_secure()));
  EXPECT_TRUE((TlsClient{port(), {.trusted = &other_authority}}.is_secure()));
}

TEST_F(TlsTest, StopsWithConnectionsInEveryState) {
  start_with(tls());
  TlsClient idle{port()};
  ASSERT_EQ(idle.get("/hello").status, 200u);
  RawClient before_handshake = client();
  RawClient in_handshake = client_that_sends("\x16\x03\x01");
  TlsClient not_reading{port()};
  not_reading.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(not_reading.has_input());
  TlsClient waiting{port()};
  ask_for_later(waiting);
  TlsClient ending{port()};
  ending.send("nonsense\r\n\r\n");
  EXPECT_EQ(ending.read_reply().status, 400u);

  boost::asio::post(loop_, [this] { server_->stop(); });

  EXPECT_TRUE(loop_ends());
}

}  // namespace
}  // namespace pex::http
