#include "perf/record/callchain.h"

#include <array>

namespace pex::perf {
namespace {

constexpr std::string_view kInCallchain = "perf/record/callchain.h";
constexpr std::string_view kContextTest = "CallchainTest.KnowsWhereEachAddressBelongs";

constexpr std::array kCallchainContexts = {
    CallchainContextEntry{
        {"PERF_CONTEXT_HV", "2.6.31", "the addresses after it are the hypervisor's", kInCallchain,
         kContextTest},
        CallchainContext::kHypervisor},
    CallchainContextEntry{{"PERF_CONTEXT_KERNEL", "2.6.31",
                           "the addresses after it are the kernel's", kInCallchain, kContextTest},
                          CallchainContext::kKernel},
    CallchainContextEntry{{"PERF_CONTEXT_USER", "2.6.31",
                           "the addresses after it are the process's", kInCallchain, kContextTest},
                          CallchainContext::kUser},
    CallchainContextEntry{{"PERF_CONTEXT_USER_DEFERRED", "6.19",
                           "the process's addresses follow in a PERF_RECORD_CALLCHAIN_DEFERRED, "
                           "whose cookie is the next entry",
                           kInCallchain, "CallchainTest.FindsTheCookieOfDeferredFrames"},
                          CallchainContext::kUserDeferred},
    CallchainContextEntry{{"PERF_CONTEXT_GUEST", "2.6.31", "the addresses after it are a guest's",
                           kInCallchain, kContextTest},
                          CallchainContext::kGuest},
    CallchainContextEntry{
        {"PERF_CONTEXT_GUEST_KERNEL", "2.6.31", "the addresses after it are a guest's kernel's",
         kInCallchain, kContextTest},
        CallchainContext::kGuestKernel},
    CallchainContextEntry{
        {"PERF_CONTEXT_GUEST_USER", "2.6.31", "the addresses after it are a guest's process's",
         kInCallchain, kContextTest},
        CallchainContext::kGuestUser},
};

}  // namespace

std::span<const CallchainContextEntry> callchain_contexts() { return kCallchainContexts; }

std::optional<std::uint64_t> deferred_cookie(PackedSpan<std::uint64_t> chain) {
  for (std::size_t at = 0; at + 1 < chain.size(); ++at) {
    if (CallchainContext{chain[at]} == CallchainContext::kUserDeferred) return chain[at + 1];
  }
  return std::nullopt;
}

}  // namespace pex::perf
