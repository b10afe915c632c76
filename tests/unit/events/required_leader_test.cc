#include "events/required_leader.h"

#include <linux/perf_event.h>

#include <cerrno>

#include "support/test_headers.h"

namespace pex::events::required_leader_test {
namespace {

using ::testing::ElementsAre;

PmuCatalogue pmus_of(const std::string& machine) {
  const std::string sys = PEX_SOURCE_DIR "/tests/unit/events/machines/" + machine + "/sys";
  Result<PmuCatalogue> pmus = PmuCatalogue::read({sys, "/nonexistent", {}});
  EXPECT_TRUE(pmus);
  return std::move(*pmus);
}

perf::EventAttributes raw(std::uint64_t config, std::uint32_t type = PERF_TYPE_RAW) {
  perf::EventAttributes event;
  event.type = type;
  event.config = config;
  return event;
}

std::vector<perf::CounterSpec> raw_events(std::initializer_list<std::uint64_t> configs) {
  std::vector<perf::CounterSpec> events;
  for (const std::uint64_t config : configs) events.push_back({"", raw(config)});
  return events;
}

TEST(RequiredLeaderTest, OfATopDownShareIsSlots) {
  const PmuCatalogue pmus = pmus_of("intel_server");

  for (const std::uint64_t share : {0x8000, 0x8300, 0x8700}) {
    const auto leader = required_leader(pmus, raw(share));

    ASSERT_TRUE(leader) << share;
    EXPECT_EQ(leader->counter.name, "cpu/slots/");
    EXPECT_EQ(leader->counter.attributes, raw(0x0400));
    EXPECT_EQ(leader->refusal, EINVAL);
    EXPECT_TRUE(is_leader(*leader, raw(0x0400)));
    EXPECT_FALSE(is_leader(*leader, raw(share)));
  }
}

TEST(RequiredLeaderTest, OfLoadsByLatencyIsTheAuxiliaryEvent) {
  const auto leader = required_leader(pmus_of("intel_hybrid"), raw(0x01cd));

  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->counter.name, "cpu_core/mem-loads-aux/");
  EXPECT_EQ(leader->refusal, ENODATA);
}

TEST(RequiredLeaderTest, IsNoneForOtherEventsAndOnOtherPmus) {
  const PmuCatalogue hybrid = pmus_of("intel_hybrid");

  for (const std::uint64_t other : {0x0400, 0x7f00, 0x8800, 0x80c2, 0x003c}) {
    EXPECT_FALSE(required_leader(hybrid, raw(other))) << other;
  }
  EXPECT_FALSE(required_leader(hybrid, raw(0x8000, 10))) << "cpu_atom";
  EXPECT_FALSE(required_leader(pmus_of("intel_client"), raw(0x8000))) << "it has no slots";
  EXPECT_FALSE(required_leader(pmus_of("intel_client"), raw(0x01cd)));
  EXPECT_FALSE(required_leader(pmus_of("amd_zen"), raw(0x8000)));
  EXPECT_FALSE(required_leader(pmus_of("arm_neoverse"), raw(0x8000)));
}

TEST(RequiredLeaderTest, OfATopDownShareSetsTheModesThatItIsCountedIn) {
  const auto leader = required_leader(pmus_of("intel_server"), raw(0x8000));
  ASSERT_TRUE(leader);
  const perf::EventAttributes slots = raw(0x0400);
  for (const auto mode :
       {&perf::EventAttributes::exclude_user, &perf::EventAttributes::exclude_kernel,
        &perf::EventAttributes::exclude_host, &perf::EventAttributes::exclude_guest}) {
    perf::EventAttributes share = raw(0x8000);
    share.*mode = true;
    perf::EventAttributes same = slots;
    same.*mode = true;

    EXPECT_FALSE(is_in_its_modes(*leader, slots, share));
    EXPECT_TRUE(is_in_its_modes(*leader, same, share));
  }
}

TEST(RequiredLeaderTest, OfLoadsByLatencyLeavesThemTheirModes) {
  const auto leader = required_leader(pmus_of("intel_hybrid"), raw(0x01cd));
  ASSERT_TRUE(leader);
  perf::EventAttributes loads = raw(0x01cd);
  loads.exclude_kernel = true;

  EXPECT_TRUE(is_in_its_modes(*leader, raw(0x8203), loads));
}

TEST(LeadersFirstTest, PutsALeaderWithWhatNeedsItBeforeAllOthers) {
  const OpeningOrder led = leaders_first(
      pmus_of("intel_hybrid"), raw_events({0x8300, 0x01cd, 0x3c, 0x8000, 0x8203, 0x0400}));

  EXPECT_THAT(led.order, ElementsAre(5, 0, 3, 4, 1, 2));
  EXPECT_EQ(led.together, 5U);
}

TEST(LeadersFirstTest, LeavesAGroupThatNeedsNoLeaderAsItIs) {
  const PmuCatalogue pmus = pmus_of("intel_server");

  const OpeningOrder plain = leaders_first(pmus, raw_events({0x3c, 0x0400, 0xc0}));
  const OpeningOrder lacking = leaders_first(pmus, raw_events({0x3c, 0x8000}));

  EXPECT_THAT(plain.order, ElementsAre(0, 1, 2));
  EXPECT_EQ(plain.together, 1U);
  EXPECT_THAT(lacking.order, ElementsAre(0, 1));
  EXPECT_EQ(lacking.together, 1U);
}

}  // namespace
}  // namespace pex::events::required_leader_test
