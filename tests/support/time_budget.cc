#include "support/time_budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

namespace pex::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::duration<double> kUsual{0.5};

Clock::duration budget() {
  const char* const seconds = std::getenv("PEX_PROPERTY_SECONDS");
  return std::chrono::duration_cast<Clock::duration>(
      seconds != nullptr ? std::chrono::duration<double>{std::stod(seconds)} : kUsual);
}

void run_one(unsigned number, const std::function<void(unsigned)>& round) {
  SCOPED_TRACE("PEX_PROPERTY_ROUND=" + std::to_string(number));
  round(number);
}

}  // namespace

void run_rounds(unsigned most, const std::function<void(unsigned)>& round) {
  if (const char* const only = std::getenv("PEX_PROPERTY_ROUND")) {
    return run_one(static_cast<unsigned>(std::stoul(only)), round);
  }
  const Clock::time_point end = Clock::now() + budget();
  unsigned number = 0;
  do {
    run_one(number, round);
  } while (++number < most && Clock::now() < end && !testing::Test::HasFailure());
}

}  // namespace pex::test
