#pragma once

#include <cerrno>

#include "perf/perf_kernel.h"

namespace pex::test {

/// Base of kernels that only count: there is no event to sample, to control or to map.
class CountingKernel : public perf::PerfKernel {
 public:
  Result<perf::OpenCounter> open_event(perf::EventAttr&, const perf::EventTarget&) override {
    return Error{ENOSYS, {}, {}};
  }
  Result<> control(int, perf::EventControl, std::uint64_t) override {
    return Error{ENOSYS, {}, {}};
  }
  Result<perf::Mapping> map(int, std::size_t, std::size_t, bool) override {
    return Error{ENOSYS, {}, {}};
  }
};

}  // namespace pex::test
