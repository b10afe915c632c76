#include "http/same_origin.h"

#include <gtest/gtest.h>

#include <string>

namespace pex::http {
namespace {

bool is_refused(const std::string& fields, const std::string& host = "x.example:10173") {
  RequestHead head{1024};
  std::string received = "POST /-/reload HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
  EXPECT_TRUE(head.take(received));
  EXPECT_EQ(head.status(), 200u) << fields;
  return is_of_another_site(head);
}

TEST(SameOriginTest, LetsInWhoIsNoBrowserAndPagesOfThisSite) {
  for (const char* fields :
       {"", "Origin: http://x.example:10173\r\n", "origin: https://X.example:10173\r\n",
        "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n",
        "Origin: http://x.example:10173\r\nSec-Fetch-Site: same-origin\r\n"}) {
    EXPECT_FALSE(is_refused(fields)) << fields;
  }
  EXPECT_FALSE(is_refused("Origin: http://[::1]:10173\r\n", "[::1]:10173"));
}

TEST(SameOriginTest, RefusesPagesOfOtherSites) {
  for (const char* fields :
       {"Origin: http://evil.example\r\n", "Origin: http://evil.example:10173\r\n",
        "Origin: http://x.example\r\n", "Origin: http://x.example:10173.evil.example\r\n",
        "Origin: http://evil.example/x.example:10173\r\n", "Origin: null\r\n", "Origin:\r\n",
        "Origin: x.example:10173\r\n", "Origin: http://\r\n",
        "Origin: http://x.example:10173\r\nOrigin: http://evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: nonsense\r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n",
        "Origin: http://x.example:10173\r\nSec-Fetch-Site: cross-site\r\n",
        "Origin: http://evil.example\r\nSec-Fetch-Site: same-origin\r\n"}) {
    EXPECT_TRUE(is_refused(fields)) << fields;
  }
  EXPECT_TRUE(is_refused("Origin: http://\r\n", ""));
}

}  // namespace
}  // namespace pex::http
