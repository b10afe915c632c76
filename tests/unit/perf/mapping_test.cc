#include "perf/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace pex::perf::mapping_test {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

Mapping new_page() {
  void* const start =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(start, MAP_FAILED);
  return {start, kPage};
}

bool is_mapped(const void* start) {
  unsigned char resident = 0;
  return ::mincore(const_cast<void*>(start), kPage, &resident) == 0;
}

TEST(MappingTest, UnmapsWhatItOwns) {
  const void* start = nullptr;
  {
    const Mapping mapping = new_page();
    start = mapping.data();
    EXPECT_TRUE(is_mapped(start));
    EXPECT_EQ(mapping.bytes().size(), kPage);
  }
  EXPECT_FALSE(is_mapped(start));
}

TEST(MappingTest, PassesOnWhatItOwns) {
  Mapping first = new_page();
  Mapping second = new_page();
  const void* const kept = first.data();
  const void* const dropped = second.data();
  Mapping& from = first;

  second = std::move(from);

  EXPECT_FALSE(first);
  EXPECT_EQ(second.data(), kept);
  EXPECT_TRUE(is_mapped(kept));
  EXPECT_FALSE(is_mapped(dropped));
}

TEST(MappingTest, KeepsWhatItOwnsWhenAssignedToItself) {
  Mapping mapping = new_page();
  const void* const start = mapping.data();
  Mapping& same = mapping;

  mapping = std::move(same);

  EXPECT_EQ(mapping.data(), start);
  EXPECT_TRUE(is_mapped(start));
}

TEST(MappingExample, IsRight) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS;
  const Mapping memory{::mmap(nullptr, 4096, kAccess, kKind, -1, 0), 4096};

  EXPECT_TRUE(memory);
}

}  // namespace
}  // namespace pex::perf::mapping_test
