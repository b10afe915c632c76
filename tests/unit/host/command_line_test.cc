#include "host/command_line.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "support/patience.h"
#include "support/test_headers.h"

namespace pex::host {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandLineTest, WordsEndWithAZeroByteWhichTheLastOneMayHaveLost) {
  EXPECT_THAT(parse_command_line("/usr/bin/a\0--b=c d\0\0e\0"sv),
              ElementsAre("/usr/bin/a", "--b=c d", "", "e"));
  EXPECT_THAT(parse_command_line("a\0b"sv), ElementsAre("a", "b"));
  EXPECT_THAT(parse_command_line(""), IsEmpty()) << "a thread of the kernel";
}

TEST(CommandLineTest, OfAProgramAreThoseOfItsProcessesWithoutThisOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sleep", "/somewhere/pex_command_line_test", "60", nullptr);
    ::_exit(1);
  }
  const CommandLine expected = {"/somewhere/pex_command_line_test", "60"};
  const auto limit = std::chrono::steady_clock::now() + test::kPatience;
  while (command_lines_of("pex_command_line_test").empty() &&
         std::chrono::steady_clock::now() < limit) {
    ::usleep(1000);
  }

  EXPECT_THAT(command_lines_of("pex_command_line_test"), ElementsAre(expected));
  EXPECT_THAT(command_lines_of("host_test"), IsEmpty());

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace pex::host
