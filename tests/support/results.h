#pragma once

#include <gmock/gmock.h>

#include <type_traits>

#include "base/result.h"

// What a Result is: EXPECT_THAT(result, FailsWith(EINVAL)). Where it is not, both say why it
// failed.

namespace pex::test {

template <typename R>
bool is_success(const R& result, ::testing::MatchResultListener& listener) {
  if (result) return true;
  if constexpr (std::is_same_v<std::decay_t<decltype(result.error())>, Error>) {
    listener << "which failed: " << describe(result.error());
  } else {
    listener << "which failed";
  }
  return false;
}

/// It has a value, which matches.
MATCHER_P(Holds, value, "") {
  return is_success(arg, *result_listener) &&
         ::testing::ExplainMatchResult(value, *arg, result_listener);
}

/// It has an error, which matches.
MATCHER_P(HasError, error, "") {
  return !arg && ::testing::ExplainMatchResult(error, arg.error(), result_listener);
}

/// It has an Error with this code.
MATCHER_P(FailsWith, code, "") {
  if (arg) return false;
  *result_listener << describe(arg.error()) << ' ';
  return ::testing::ExplainMatchResult(code, arg.error().code, result_listener);
}

}  // namespace pex::test
