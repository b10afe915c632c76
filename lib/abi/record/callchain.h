#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "abi/record/packed_span.h"

namespace pex::perf {

/// Where the addresses of a callchain belong, up to the next such mark. The values are those in the
/// chain: PERF_CONTEXT_*.
enum class CallchainContext : std::uint64_t {
  kNone = 0,  ///< before the first mark
  kHypervisor = std::uint64_t(-32),
  kKernel = std::uint64_t(-128),
  kUser = std::uint64_t(-512),
  kUserDeferred = std::uint64_t(-640),  ///< followed by the cookie of a CallchainDeferred
  kGuest = std::uint64_t(-2048),
  kGuestKernel = std::uint64_t(-2176),
  kGuestUser = std::uint64_t(-2560),
};

/// An entry of a callchain from here on is a mark and no address: PERF_CONTEXT_MAX.
inline constexpr std::uint64_t kFirstCallchainMark = std::uint64_t(-4095);

/// Calls `visit(CallchainContext, std::uint64_t address)` for each address of a callchain, the
/// innermost frame first. Marks and the cookie are left out. A mark that is not known is passed as
/// the context of the addresses after it.
///
/// Example:
///   const std::array<std::uint64_t, 4> entries{PERF_CONTEXT_KERNEL, 0xffffffff81000000,
///                                              PERF_CONTEXT_USER, 0x401000};
///   const PackedSpan<std::uint64_t> chain(std::as_bytes(std::span(entries)));
///   visit_frames(chain, [](CallchainContext context, std::uint64_t address) {
///     if (context == CallchainContext::kUser) std::cout << address << '\n';
///   });
template <typename Visitor>
void visit_frames(PackedSpan<std::uint64_t> chain, Visitor visit) {
  CallchainContext context = CallchainContext::kNone;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    const std::uint64_t entry = chain[at];
    if (entry < kFirstCallchainMark) {
      visit(context, entry);
      continue;
    }
    context = CallchainContext{entry};
    if (context == CallchainContext::kUserDeferred) ++at;  // over the cookie
  }
}

/// The cookie of the CallchainDeferred that has the user frames of this chain; nothing if the chain
/// has them itself.
std::optional<std::uint64_t> deferred_cookie(PackedSpan<std::uint64_t> chain);

}  // namespace pex::perf
