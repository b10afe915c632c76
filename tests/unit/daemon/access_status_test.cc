#include "daemon/web/access_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AccessFieldsTest, ReportPlainHttpWithoutLoginByDefault) {
  EXPECT_THAT(access_fields({}), ElementsAre(Pair("scheme", "http"), Pair("login", "none")));
}

TEST(AccessFieldsTest, ReportTlsWithTheCertificateThatAClientNeedsAndALogin) {
  access::WebProtections in_force;
  in_force.tls = true;
  in_force.client_certificate = access::ClientCertificate::kRequiredAndVerified;
  in_force.users = 2;

  EXPECT_THAT(
      access_fields(in_force),
      ElementsAre(Pair("scheme", "https"), Pair("client_auth_type", "RequireAndVerifyClientCert"),
                  Pair("login", "required")));
}

}  // namespace
}  // namespace pex::daemon
