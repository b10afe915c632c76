#include "access/source_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace pex::access {
namespace {

TEST(SourceHashTest, IsThatOfTheStandardsExample) {
  EXPECT_EQ(source_hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
}

TEST(SourceHashTest, IsOneForNoTextAsWell) {
  EXPECT_EQ(source_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

TEST(SourceHashTest, ChangesWithEveryByte) {
  EXPECT_NE(source_hash("a"), source_hash("a\n"));
  EXPECT_NE(source_hash("a"), source_hash(std::string("a\0", 2)));
}

}  // namespace
}  // namespace pex::access
