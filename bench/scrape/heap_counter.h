#pragma once

#include <cstdint>

namespace pex::bench {

/// Bytes that operator new has given out since the program began, in all threads.
std::uint64_t allocated_bytes();

}  // namespace pex::bench
