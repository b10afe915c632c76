#include "abi/record/packed_span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <ranges>
#include <vector>

namespace pex::perf {
namespace {

using testing::ElementsAre;

static_assert(std::ranges::random_access_range<PackedSpan<std::uint64_t>>);
static_assert(std::is_trivially_copyable_v<PackedSpan<std::uint64_t>>);

TEST(PackedSpanTest, ReadsElementsAtAnyAddress) {
  const std::array<std::byte, 9> buffer{std::byte{0xff}, std::byte{1}, {}, {}, {},
                                        std::byte{2},    {},           {}, {}};

  const PackedSpan<std::uint32_t> numbers{std::span(buffer).subspan(1)};

  EXPECT_EQ(numbers.size(), 2u);
  EXPECT_EQ(numbers[0], 1u);
  EXPECT_EQ(numbers[1], 2u);
  EXPECT_THAT(numbers, ElementsAre(1, 2));
}

TEST(PackedSpanTest, LeavesOutBytesThatAreNoWholeElement) {
  const std::array<std::byte, 7> buffer{};

  const PackedSpan<std::uint32_t> numbers{std::span(buffer)};

  EXPECT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers.bytes().size(), 4u);
}

TEST(PackedSpanTest, IsEmptyWithoutABuffer) {
  const PackedSpan<std::uint64_t> numbers;

  EXPECT_TRUE(numbers.empty());
  EXPECT_EQ(numbers.begin(), numbers.end());
}

TEST(PackedSpanTest, IsWalkedInBothDirections) {
  const std::array<std::uint16_t, 3> source{10, 20, 30};
  const PackedSpan<std::uint16_t> numbers{std::as_bytes(std::span(source))};

  std::vector<int> backwards;
  std::reverse_copy(numbers.begin(), numbers.end(), std::back_inserter(backwards));
  EXPECT_THAT(backwards, ElementsAre(30, 20, 10));
  EXPECT_EQ(numbers.end() - numbers.begin(), 3);
  EXPECT_EQ(numbers.begin()[2], 30);
  EXPECT_LT(numbers.begin(), numbers.end());
}

TEST(PackedSpanExample, AddsWordsThatAreNotAligned) {
  const std::array<std::byte, 17> buffer{std::byte{9}, std::byte{1}};
  const PackedSpan<std::uint64_t> words{std::span(buffer).subspan(1)};
  const std::uint64_t sum = std::accumulate(words.begin(), words.end(), std::uint64_t{0});

  EXPECT_EQ(words.size(), 2u);
  EXPECT_EQ(sum, 1u);
}

}  // namespace
}  // namespace pex::perf
