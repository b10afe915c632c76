#include "abi/record/callchain.h"

namespace pex::perf {

std::optional<std::uint64_t> deferred_cookie(PackedSpan<std::uint64_t> chain) {
  for (std::size_t at = 0; at + 1 < chain.size(); ++at) {
    if (CallchainContext{chain[at]} == CallchainContext::kUserDeferred) return chain[at + 1];
  }
  return std::nullopt;
}

}  // namespace pex::perf
