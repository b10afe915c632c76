#pragma once

#include <chrono>
#include <thread>

namespace pex::test {

/// What is bound to come is waited for as long as this: only a test that fails takes a minute.
inline constexpr std::chrono::seconds kPatience{60};

/// Calls `condition` until it is true. False if it never is.
template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace pex::test
