#include "host/init_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace pex::host {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(FirstProcessTest, WordsEndWithAZeroByte) {
  EXPECT_THAT(parse_command_line("/usr/bin/a\0--b=c d\0\0e\0"sv),
              ElementsAre("/usr/bin/a", "--b=c d", "", "e"));
}

TEST(FirstProcessTest, ALastWordMayHaveLostItsEnd) {
  EXPECT_THAT(parse_command_line("a\0b"sv), ElementsAre("a", "b"));
}

TEST(FirstProcessTest, AThreadOfTheKernelHasNoCommandLine) {
  EXPECT_THAT(parse_command_line(""), IsEmpty());
}

TEST(FirstProcessTest, ReportsThatOfThisMachineOrContainer) {
  EXPECT_THAT(command_line_of_init_process(), Not(IsEmpty()));
}

}  // namespace
}  // namespace pex::host
