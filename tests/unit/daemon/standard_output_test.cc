#include "daemon/cli/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <variant>

#include "base/unique_fd.h"
#include "daemon/cli/options.h"

namespace pex::daemon {
namespace {

/// While it lives, standard output is `file`. What was written into it is forgotten at the end.
class OutputTo {
 public:
  explicit OutputTo(UniqueFd file) {
    std::cout.flush();
    ::dup2(file.get(), STDOUT_FILENO);
  }
  ~OutputTo() {
    std::cout.clear();
    std::cout.flush();
    std::clearerr(stdout);
    std::cout.clear();
    ::dup2(saved_.get(), STDOUT_FILENO);
  }

 private:
  UniqueFd saved_{::dup(STDOUT_FILENO)};
};

/// Every write fails with ENOSPC.
OutputTo output_to_full_disk() {
  return OutputTo{UniqueFd{::open("/dev/full", O_WRONLY | O_CLOEXEC)}};
}

constexpr const char* kNoSpace =
    "perf_event_exporter: write the result: No space left on device (ENOSPC). Remedy: free space "
    "where standard output is written to\n";

TEST(StandardOutputTest, IsReportedIfItsDiskIsFullWheneverAWriteFailed) {
  for (const int lines : {1, 100'000}) {  // the last or the first of many writes
    const OutputTo full = output_to_full_disk();
    testing::internal::CaptureStderr();
    for (int i = 0; i < lines; ++i) std::cout << "a line\n";

    EXPECT_FALSE(flush_output());

    EXPECT_EQ(testing::internal::GetCapturedStderr(), kNoSpace);
  }
}

TEST(StandardOutputTest, MayBeAPipeWhoseReaderHasLeft) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const auto previous = ::signal(SIGPIPE, SIG_IGN);
  {
    const OutputTo pipe{UniqueFd{ends[1]}};
    testing::internal::CaptureStderr();
    std::cout << "a line\n";

    EXPECT_TRUE(flush_output());

    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
  ::signal(SIGPIPE, previous);
}

TEST(StandardOutputTest, OfHelpAndVersionIsReportedAsThatOfCommands) {
  for (const char* option : {"--help", "--version"}) {
    const OutputTo full = output_to_full_disk();
    testing::internal::CaptureStderr();
    const char* const words[] = {"perf_event_exporter", option};

    const auto parsed = parse_command_line(2, words);

    EXPECT_EQ(testing::internal::GetCapturedStderr(), kNoSpace) << option;
    ASSERT_TRUE(std::holds_alternative<ExitStatus>(parsed)) << option;
    EXPECT_EQ(std::get<ExitStatus>(parsed), kFailed) << option;
  }
}

}  // namespace
}  // namespace pex::daemon
