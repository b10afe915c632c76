#include "abi/record/callchain.h"

#include <linux/perf_event.h>

#include <iostream>

#include "support/test_headers.h"

namespace pex::perf {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Frame = std::pair<CallchainContext, std::uint64_t>;
using Entries = std::vector<std::uint64_t>;

PackedSpan<std::uint64_t> chain_of(const Entries& entries) {
  return PackedSpan<std::uint64_t>(std::as_bytes(std::span(entries)));
}

std::vector<Frame> frames_of(const Entries& entries) {
  std::vector<Frame> frames;
  visit_frames(chain_of(entries), [&](CallchainContext context, std::uint64_t address) {
    frames.emplace_back(context, address);
  });
  return frames;
}

TEST(CallchainTest, KnowsWhereEachAddressBelongs) {
  Entries entries{0x10};
  std::vector<Frame> expected{{CallchainContext::kNone, 0x10}};
  std::uint64_t address = 0x1000;
  for (const CallchainContext context :
       {CallchainContext::kHypervisor, CallchainContext::kKernel, CallchainContext::kUser,
        CallchainContext::kUserDeferred, CallchainContext::kGuest, CallchainContext::kGuestKernel,
        CallchainContext::kGuestUser}) {
    entries.push_back(static_cast<std::uint64_t>(context));
    if (context == CallchainContext::kUserDeferred) entries.push_back(0xc00c1e);
    for (int frame = 0; frame < 2; ++frame) {
      entries.push_back(++address);
      expected.emplace_back(context, address);
    }
  }

  EXPECT_EQ(frames_of(entries), expected);
}

TEST(CallchainTest, HasTheNumbersOfTheKernel) {
  EXPECT_EQ(std::uint64_t(CallchainContext::kHypervisor), PERF_CONTEXT_HV);
  EXPECT_EQ(std::uint64_t(CallchainContext::kKernel), PERF_CONTEXT_KERNEL);
  EXPECT_EQ(std::uint64_t(CallchainContext::kUser), PERF_CONTEXT_USER);
  EXPECT_EQ(std::uint64_t(CallchainContext::kGuest), PERF_CONTEXT_GUEST);
  EXPECT_EQ(std::uint64_t(CallchainContext::kGuestKernel), PERF_CONTEXT_GUEST_KERNEL);
  EXPECT_EQ(std::uint64_t(CallchainContext::kGuestUser), PERF_CONTEXT_GUEST_USER);
  EXPECT_EQ(kFirstCallchainMark, PERF_CONTEXT_MAX);
}

TEST(CallchainTest, TakesAMarkOfAYoungerKernelForNoAddress) {
  const std::uint64_t younger = std::uint64_t(-700);

  EXPECT_THAT(frames_of({younger, 0x1000}), ElementsAre(Pair(CallchainContext{younger}, 0x1000)));
}

TEST(CallchainTest, FindsTheCookieOfDeferredFrames) {
  const Entries deferred{PERF_CONTEXT_KERNEL, 1, std::uint64_t(-640), 0xc00c1e};
  const Entries cut{PERF_CONTEXT_KERNEL, 1, std::uint64_t(-640)};

  EXPECT_EQ(deferred_cookie(chain_of(deferred)), 0xc00c1eu);
  EXPECT_THAT(frames_of(deferred), ElementsAre(Pair(CallchainContext::kKernel, 1)));
  EXPECT_EQ(deferred_cookie(chain_of(cut)), std::nullopt);
  EXPECT_THAT(frames_of(cut), ElementsAre(Pair(CallchainContext::kKernel, 1)));
}

TEST(CallchainTest, HasNoCookieIfTheFramesAreThere) {
  const Entries whole{PERF_CONTEXT_KERNEL, 1, PERF_CONTEXT_USER, 2};
  const Entries empty;

  EXPECT_EQ(deferred_cookie(chain_of(whole)), std::nullopt);
  EXPECT_EQ(deferred_cookie(chain_of(empty)), std::nullopt);
}

TEST(CallchainExample, PrintsTheFramesOfUserSpace) {
  testing::internal::CaptureStdout();

  const std::array<std::uint64_t, 4> entries{PERF_CONTEXT_KERNEL, 0xffffffff81000000,
                                             PERF_CONTEXT_USER, 0x401000};
  const PackedSpan<std::uint64_t> chain(std::as_bytes(std::span(entries)));
  visit_frames(chain, [](CallchainContext context, std::uint64_t address) {
    if (context == CallchainContext::kUser) std::cout << address << '\n';
  });

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "4198400\n");
}

}  // namespace
}  // namespace pex::perf
