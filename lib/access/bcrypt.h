#pragma once

#include <string>
#include <string_view>

namespace pex::access {

/// The cost of a hash, as bcrypt's power of two. The upper bound is ours: one check of cost 16
/// takes seconds, and each further step twice as long.
inline constexpr int kMinCost = 4;
inline constexpr int kMaxCost = 18;
inline constexpr int kMaxUsualCost = 16;  ///< beyond it there is a warning at the start

/// Why `hash` is not a bcrypt hash (crypt(5): $2a$, $2b$, $2y$) that a password could match, or too
/// expensive to check; empty if it is fine. Never repeats any of it but the cost.
std::string wrong_hash(std::string_view hash);

/// The cost of a hash that is fine.
int cost_of(std::string_view hash);

}  // namespace pex::access
