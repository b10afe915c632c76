#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/ExecFixture.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>

#include "support/time_budget.h"

namespace pex::test {

/// As RC_GTEST_PROP does, but in rounds of five cases of all sizes, each with the next seed: as
/// many as PEX_PROPERTY_SECONDS allow, and no more cases than RC_PARAMS asks for (100 unless set).
inline void check_by_time(void (*property)()) {
  constexpr int kCases = 5;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  const auto rounds = static_cast<unsigned>(std::max(params.maxSuccess / kCases, 1));
  const std::uint64_t seed = params.seed;
  params.maxSuccess = kCases;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test.test_suite_name()) + "/" + test.name();
  metadata.description = test.name();

  run_rounds(rounds, [&](unsigned round) {
    params.seed = seed + round;
    const auto result = rc::detail::checkTestable(property, metadata, params);
    if (result.is<rc::detail::SuccessResult>()) return;
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    ADD_FAILURE() << text.str();
  });
}

}  // namespace pex::test

/// A property whose hundred cases take longer than a test should.
#define PEX_TIMED_PROPERTY(Suite, Name)                                            \
  void property_of_##Suite##_##Name();                                             \
  TEST(Suite, Name) { ::pex::test::check_by_time(&property_of_##Suite##_##Name); } \
  void property_of_##Suite##_##Name()

/// The same with a fixture, which is made for each case.
#define PEX_TIMED_FIXTURE_PROPERTY(Fixture, Name)                                            \
  class PropertyOf##Fixture##Name : public Fixture {                                         \
   public:                                                                                   \
    void rapidCheck_fixtureSetUp() { SetUp(); }                                              \
    void TestBody() override {}                                                              \
    void operator()();                                                                       \
    void rapidCheck_fixtureTearDown() { TearDown(); }                                        \
  };                                                                                         \
  TEST(Fixture##_RapidCheck, Name) {                                                         \
    ::pex::test::check_by_time(&::rc::detail::ExecFixture<PropertyOf##Fixture##Name>::exec); \
  }                                                                                          \
  void PropertyOf##Fixture##Name::operator()()
