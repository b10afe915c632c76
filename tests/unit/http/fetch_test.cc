#include "http/fetch.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "http/listener.h"
#include "support/patience.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "unit/access/certificates.h"
#include "unit/http/server_fixture.h"
#include "unit/http/tls_client.h"

namespace pex::http {
namespace {

using test::Identity;
using testing::HasSubstr;

/// Against a real server in another thread.
class FetchTest : public ServerTest {
 protected:
  static void expect_hello(const Result<Fetched>& fetched) {
    ASSERT_TRUE(fetched) << describe(fetched.error());
    EXPECT_EQ(fetched->status, 200u);
    EXPECT_EQ(fetched->body, "hello\n");
  }
  std::string here() { return "127.0.0.1:" + std::to_string(port()); }
};

TEST_F(FetchTest, GetsStatusAndBodyAlsoOfAnAnswerThatIsNoYes) {
  start();

  expect_hello(fetch({here()}, "/hello", test::kPatience));
  const auto missing = fetch({here()}, "/no-such-path", test::kPatience);
  ASSERT_TRUE(missing) << describe(missing.error());
  EXPECT_EQ(missing->status, 404u);
}

TEST_F(FetchTest, ReachesThisMachineWithoutAHostAndAUnixSocket) {
  const test::TempTree tree;
  const std::string socket = "unix:" + tree.path("socket");
  start({}, {.addresses = {":0", socket}});

  expect_hello(fetch({":" + std::to_string(port())}, "/hello", test::kPatience));
  expect_hello(fetch({socket}, "/hello", test::kPatience));
}

TEST_F(FetchTest, TakesAnyCertificateOfAServerThatSpeaksTls) {
  const Identity expired{{.name = "other", .valid_from = -7200, .valid_until = -3600}};
  let_in({.tls = tls_of(expired)});
  start();

  expect_hello(fetch({here(), /*tls=*/true}, "/hello", test::kPatience));
}

TEST_F(FetchTest, FailsWithAServerThatDoesNotSpeakTls) {
  start();

  const auto fetched = fetch({here(), /*tls=*/true}, "/hello", test::kPatience);

  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().attempted, HasSubstr("over TLS"));
}

TEST_F(FetchTest, RefusesAnAnswerThatIsTooLarge) {
  start();

  const auto fetched = fetch({here()}, "/big", test::kPatience);

  ASSERT_FALSE(fetched);
  EXPECT_THAT(fetched.error().attempted, HasSubstr("body limit exceeded"));
}

TEST_F(FetchTest, DoesNotWaitLongerThanItsPatience) {
  const auto silent = open_listener("127.0.0.1:0");  // takes connections, and never answers
  ASSERT_TRUE(silent) << describe(silent.error());
  const std::string address = "127.0.0.1:" + std::to_string(silent->port);

  for (const bool tls : {false, true}) {
    const auto fetched = fetch({address, tls}, "/hello", kShort);

    ASSERT_FALSE(fetched);
    EXPECT_EQ(fetched.error().code, ETIMEDOUT);
  }
}

TEST_F(FetchTest, ReportsThatNoOneListens) {
  std::string address;
  {
    const auto gone = open_listener("127.0.0.1:0");
    ASSERT_TRUE(gone) << describe(gone.error());
    address = "127.0.0.1:" + std::to_string(gone->port);
  }

  const auto fetched = fetch({address}, "/hello", test::kPatience);

  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ECONNREFUSED);
  EXPECT_THAT(describe(fetched.error()), HasSubstr("ask " + address + " for /hello"));
}

TEST_F(FetchTest, ReportsWhatIsNoAddress) {
  for (const char* const address : {"nonsense", "unix:", "host:99999", "::1:80"}) {
    EXPECT_FALSE(fetch({address}, "/hello", test::kPatience)) << address;
  }
}

}  // namespace
}  // namespace pex::http
