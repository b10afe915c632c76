#include "base/result.h"

#include <cerrno>

#include "support/test_headers.h"

namespace pex {
namespace {

TEST(DescribeTest, LeavesOutThePartsThatAreEmpty) {
  struct Row {
    Error error;
    const char* line;
  };
  const Row rows[] = {
      {{EACCES, "open event 'cycles' on CPU 3", "grant CAP_PERFMON"},
       "open event 'cycles' on CPU 3: Permission denied (EACCES). Remedy: grant CAP_PERFMON"},
      {{EMFILE, "open event 'cycles' on CPU 3", ""},
       "open event 'cycles' on CPU 3: Too many open files (EMFILE)"},
      {{0, "there is no event 'cycels'", "did you mean 'cycles'?"},
       "there is no event 'cycels'. Remedy: did you mean 'cycles'?"},
      {{0, "there is no event 'x'", ""}, "there is no event 'x'"},
      {{ENOENT, "", ""}, "No such file or directory (ENOENT)"},
      {{4095, "read", ""}, "read: Unknown error (errno 4095)"},
      {{524, "open it", ""}, "open it: Operation is not supported (ENOTSUPP)"},
      {{EACCES, "open it", "grant it", "CAP_PERFMON is missing"},
       "open it: CAP_PERFMON is missing (EACCES). Remedy: grant it"},
  };

  for (const Row& row : rows) {
    EXPECT_EQ(describe(row.error), row.line);
  }
}

TEST(ErrnoNameTest, IsTheNumberWhenThereIsNoName) { EXPECT_EQ(errno_name(-1), "errno -1"); }

#ifndef NDEBUG
TEST(ResultDeathTest, AssertsThatWhatIsAskedForIsThere) {
  const Result<std::string> value = std::string("seen");
  const Result<std::string> error = Error{ENOENT, "look", {}};
  const Result<> done;

  EXPECT_DEATH((void)*error, "has_value");
  EXPECT_DEATH((void)error->size(), "has_value");
  EXPECT_DEATH((void)value.error(), "has_value");
  EXPECT_DEATH((void)done.error(), "has_value");
}
#else
TEST(ResultDeathTest, AssertsThatWhatIsAskedForIsThere) {
  GTEST_SKIP() << "assertions are compiled out of this build";
}
#endif

}  // namespace
}  // namespace pex
