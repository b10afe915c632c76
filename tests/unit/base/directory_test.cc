#include "base/directory.h"

#include <cerrno>

#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ListDirectoryTest, NamesEveryEntryInRisingOrder) {
  const test::TempTree tree{{"b/file", ""}, {"b/.hidden", ""}, {"b/folder/below", ""}, {"b/B", ""}};

  const Result<std::vector<std::string>> names = list_directory(tree.path("b"), 10);

  ASSERT_TRUE(names) << describe(names.error());
  EXPECT_THAT(*names, ElementsAre(".hidden", "B", "file", "folder"));
}

TEST(ListDirectoryTest, GivesAsManyNamesAsAreAllowedAndNotOneMore) {
  const test::TempTree tree{{"a", ""}, {"b", ""}, {"c", ""}};
  const test::TempTree empty;

  for (std::size_t most = 0; most < 5; ++most) {
    const Result<std::vector<std::string>> names = list_directory(tree.root(), most);

    ASSERT_TRUE(names) << describe(names.error());
    EXPECT_THAT(*names, SizeIs(std::min<std::size_t>(most, 3)));
    EXPECT_THAT(*list_directory(empty.root(), most), IsEmpty());
  }
}

TEST(ListDirectoryTest, ReportsWhichDirectoryAndWhyWhenItCannotBeRead) {
  const test::TempTree tree{{"file", ""}};
  struct Row {
    const char* path;
    int code;
  };
  const Row rows[] = {{"absent", ENOENT}, {"file", ENOTDIR}, {"file/below", ENOTDIR}};

  for (const Row& row : rows) {
    const Result<std::vector<std::string>> names = list_directory(tree.path(row.path), 10);

    ASSERT_FALSE(names) << row.path;
    EXPECT_EQ(names.error().code, row.code) << row.path;
    EXPECT_EQ(names.error().attempted, "read the directory '" + tree.path(row.path) + "'");
  }
}

}  // namespace
}  // namespace pex
