#include "abi/cpu_registers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>

namespace pex::perf {
namespace {

TEST(CpuRegistersTest, HaveNoCounterForWhatNamesNone) {
  // 0: the event has none. 1 << 29, x86: shares of the slots, and no count.
  for (const std::uint32_t index :
       {0U, (1U << 29) + 1, std::numeric_limits<std::uint32_t>::max()}) {
    EXPECT_EQ(cpu_registers().counter(index), std::nullopt) << index;
  }
}

TEST(CpuRegistersTest, HaveAClockThatGoesOn) {
  const std::optional<std::uint64_t> before = cpu_registers().clock();
  if (!before) GTEST_SKIP() << "no clock of this kind of CPU can be read";
  std::optional<std::uint64_t> after = before;

  for (int tries = 0; tries < 1'000'000 && after == before; ++tries) {
    after = cpu_registers().clock();
  }

  EXPECT_GT(after, before);
}

TEST(CpuRegistersExample, IsRight) {
  testing::internal::CaptureStdout();

  if (const std::optional<std::uint64_t> cycles = cpu_registers().clock()) {
    std::cout << "cycle " << *cycles << '\n';
  }

  const bool has_clock = cpu_registers().clock().has_value();
  EXPECT_EQ(testing::internal::GetCapturedStdout().starts_with("cycle "), has_clock);
}

}  // namespace
}  // namespace pex::perf
