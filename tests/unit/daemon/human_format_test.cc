#include "daemon/service/human_format.h"

#include <gtest/gtest.h>

namespace pex::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(HumanFormatTest, DurationsAreInOneOrTwoUnits) {
  EXPECT_EQ(duration_text(seconds{0}), "0\u00a0s");
  EXPECT_EQ(duration_text(microseconds{640}), "640\u00a0\u00b5s");
  EXPECT_EQ(duration_text(microseconds{3214}), "3.21\u00a0ms");
  EXPECT_EQ(duration_text(milliseconds{1250}), "1.25\u00a0s");
  EXPECT_EQ(duration_text(seconds{42}), "42\u00a0s");
  EXPECT_EQ(duration_text(seconds{245}), "4\u00a0min 5\u00a0s");
  EXPECT_EQ(duration_text(seconds{3 * 3600}), "3\u00a0h");
  EXPECT_EQ(duration_text(seconds{9 * 86'400 + 6 * 3600 + 59}), "9\u00a0d 6\u00a0h");
}

}  // namespace
}  // namespace pex::daemon
