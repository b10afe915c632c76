#include "base/small_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "support/temp_tree.h"

namespace pex {
namespace {

TEST(ReadSmallFileTest, GivesTheWholeContentWhateverItIs) {
  const std::string content = std::string(10'000, 'x') + '\0' + "\n\n";
  const test::TempTree tree{{"file", content}, {"empty", ""}};

  const Result<std::string> whole = read_small_file(tree.path("file"));
  const Result<std::string> nothing = read_small_file(tree.path("empty"));

  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, content);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, "");
}

TEST(ReadSmallFileTest, ReadsFilesWhoseSizeTheKernelDoesNotTell) {
  const Result<std::string> status = read_small_file("/proc/self/status");

  ASSERT_TRUE(status);
  EXPECT_TRUE(status->starts_with("Name:"));
}

TEST(ReadSmallFileTest, TakesAsManyBytesAsAreAllowedAndNotOneMore) {
  const test::TempTree tree{{"five", "12345"}};

  const Result<std::string> fits = read_small_file(tree.path("five"), 5);
  const Result<std::string> too_large = read_small_file(tree.path("five"), 4);

  ASSERT_TRUE(fits);
  EXPECT_EQ(*fits, "12345");
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, EFBIG);
}

TEST(ReadSmallFileTest, SaysWhichFileAndWhyWhenItCannotBeRead) {
  const test::TempTree tree{{"directory/"}, {"file", ""}};
  struct Row {
    const char* path;
    int code;
  };
  const Row rows[] = {{"directory", EISDIR}, {"absent", ENOENT}, {"file/below", ENOTDIR}};

  for (const Row& row : rows) {
    const Result<std::string> text = read_small_file(tree.path(row.path));

    ASSERT_FALSE(text) << row.path;
    EXPECT_EQ(text.error().code, row.code) << row.path;
    EXPECT_EQ(text.error().attempted, "read '" + tree.path(row.path) + "'");
  }
}

TEST(WithoutFinalNewlineTest, TakesOneLineBreakAway) {
  EXPECT_EQ(without_final_newline("0-3\n"), "0-3");
  EXPECT_EQ(without_final_newline("0-3"), "0-3");
  EXPECT_EQ(without_final_newline("0-3\n\n"), "0-3\n");
  EXPECT_EQ(without_final_newline("\n"), "");
  EXPECT_EQ(without_final_newline(""), "");
}

}  // namespace
}  // namespace pex
