#include "daemon/log/stderr_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "base/small_file.h"
#include "base/unique_fd.h"
#include "support/temp_tree.h"

namespace pex::daemon {
namespace {

using std::chrono::milliseconds;

/// stderr is a file that may grow to a number of bytes, as on a disk that is nearly full.
class FullStderrTest : public testing::Test {
 protected:
  FullStderrTest() : xfsz_before_(::signal(SIGXFSZ, SIG_IGN)) {
    const UniqueFd file{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    ::dup2(file.get(), STDERR_FILENO);
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullStderrTest() override {
    ::dup2(saved_.get(), STDERR_FILENO);
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, xfsz_before_);
  }

  void grow_to(rlim_t bytes) const {
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  void grow_as_before() const { ::setrlimit(RLIMIT_FSIZE, &before_); }

  std::string written() const { return *read_small_file(path_, 4096, "stderr"); }

 private:
  test::TempTree tree_;
  std::string path_ = tree_.path("stderr");
  UniqueFd saved_{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)};
  rlimit before_{};
  void (*xfsz_before_)(int);
};

TEST_F(FullStderrTest, BeginsALineAfterOneThatWasCutOff) {
  grow_to(6);
  EXPECT_FALSE(write_to_stderr("line 1\n"));
  EXPECT_FALSE(write_to_stderr("line 2\n"));
  grow_as_before();

  EXPECT_TRUE(write_to_stderr("line 3\n"));
  EXPECT_TRUE(write_to_stderr("line 4\n"));

  EXPECT_EQ(written(), "line 1\nline 3\nline 4\n");
}

TEST_F(FullStderrTest, BeginsALineAlsoWhereNoneMayWait) {
  grow_to(3);
  EXPECT_FALSE(write_to_stderr_within(milliseconds{0}, "line 1\n"));
  grow_as_before();

  EXPECT_TRUE(write_to_stderr_within(milliseconds{0}, "line 2\n"));
  EXPECT_TRUE(write_to_stderr("line 3\n"));

  EXPECT_EQ(written(), "lin\nline 2\nline 3\n");
}

TEST_F(FullStderrTest, AddsNoLineBreakAfterALineOfWhichNothingWasWritten) {
  grow_to(7);
  EXPECT_TRUE(write_to_stderr("line 1\n"));
  EXPECT_FALSE(write_to_stderr("line 2\n"));
  grow_as_before();

  EXPECT_TRUE(write_to_stderr("line 3\n"));

  EXPECT_EQ(written(), "line 1\nline 3\n");
}

}  // namespace
}  // namespace pex::daemon
