#pragma once

namespace pex {

/// The compiler of this build: "g++ 12.2.0", "Debian Clang 14.0.6".
#ifdef __clang__
inline constexpr const char* kCompiler = __VERSION__;  // begins with its name
#else
inline constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

}  // namespace pex
