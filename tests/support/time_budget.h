#pragma once

#include <functional>

namespace pex::test {

/// Calls `round` with 0, 1, 2 and so on until PEX_PROPERTY_SECONDS (0.5 unless set) have passed,
/// `most` rounds are done, or one has failed; at least once. The same number does the same each
/// time: PEX_PROPERTY_ROUND=number, which a failure prints, repeats that round alone.
void run_rounds(unsigned most, const std::function<void(unsigned number)>& round);

}  // namespace pex::test
