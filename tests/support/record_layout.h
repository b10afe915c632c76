#pragma once

#include <cassert>
#include <cstdio>
#include <cstdlib>

#include "abi/record/sample_layout.h"

namespace pex::test {

/// Of a format that is known. Ends the test program if it is not.
inline perf::SampleLayout layout_of(const perf::SampleFormat& format) {
  const Result<perf::SampleLayout> layout = perf::SampleLayout::of(format);
  if (!layout) {
    std::fputs(describe(layout.error()).c_str(), stderr);
    std::abort();
  }
  return *layout;
}

}  // namespace pex::test
