#pragma once

#include <string>
#include <string_view>

namespace pex::access {

/// How much work a hash may be, as the power of two that bcrypt knows. The upper bound is ours: one
/// check of cost 16 takes seconds, and each further step twice as long.
inline constexpr int kMinCost = 4;
inline constexpr int kMaxCost = 16;

/// Why `hash` is none of bcrypt (crypt(5): $2a$, $2b$, $2y$) that a password could ever match, or
/// none whose check we can afford; empty when it is one. Never repeats any of it but the cost.
std::string wrong_hash(std::string_view hash);

}  // namespace pex::access
