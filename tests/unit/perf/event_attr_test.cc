#include "perf/event_attr.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iostream>

#include "perf/event_control.h"
#include "support/scripted_kernel.h"

namespace pex::perf {
namespace {

#define PEX_EXPECT_SAME_PLACE(ours, theirs) \
  EXPECT_EQ(offsetof(EventAttr, ours), offsetof(perf_event_attr, theirs))

TEST(EventAttrTest, HasTheLayoutOfTheKernel) {
  PEX_EXPECT_SAME_PLACE(type, type);
  PEX_EXPECT_SAME_PLACE(size, size);
  PEX_EXPECT_SAME_PLACE(config, config);
  PEX_EXPECT_SAME_PLACE(sample_period, sample_freq);
  PEX_EXPECT_SAME_PLACE(sample_type, sample_type);
  PEX_EXPECT_SAME_PLACE(read_format, read_format);
  PEX_EXPECT_SAME_PLACE(wakeup_events, wakeup_watermark);
  PEX_EXPECT_SAME_PLACE(bp_type, bp_type);
  PEX_EXPECT_SAME_PLACE(config1, bp_addr);
  PEX_EXPECT_SAME_PLACE(config2, bp_len);
  PEX_EXPECT_SAME_PLACE(branch_sample_type, branch_sample_type);
  PEX_EXPECT_SAME_PLACE(sample_regs_user, sample_regs_user);
  PEX_EXPECT_SAME_PLACE(sample_stack_user, sample_stack_user);
  PEX_EXPECT_SAME_PLACE(clockid, clockid);
  PEX_EXPECT_SAME_PLACE(sample_regs_intr, sample_regs_intr);
  PEX_EXPECT_SAME_PLACE(aux_watermark, aux_watermark);
  PEX_EXPECT_SAME_PLACE(sample_max_stack, sample_max_stack);
  PEX_EXPECT_SAME_PLACE(aux_sample_size, aux_sample_size);
  PEX_EXPECT_SAME_PLACE(sig_data, sig_data);
  EXPECT_GE(sizeof(perf_event_attr), kAttrSizeVer7);
}

#undef PEX_EXPECT_SAME_PLACE

TEST(EventAttrTest, HasTheSkidInTwoBits) {
  EventAttr attr;
  attr.flags = precise_ip(2) | attr_flag(AttrFlag::kMmapData);
  perf_event_attr header{};
  std::memcpy(&header, &attr, std::min(sizeof header, sizeof attr));

  EXPECT_EQ(header.precise_ip, 2U);
  EXPECT_EQ(header.mmap_data, 1U);
  EXPECT_EQ(header.watermark, 0U);
}

TEST(EventAttrExample, IsRight) {
  EventAttr attr;
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.flags = attr_flag(AttrFlag::kTask) | attr_flag(AttrFlag::kSampleIdAll);

  EXPECT_EQ(attr.size, kAttrSizeVer9);
}

TEST(EventControlExample, IsRight) {
  test::ScriptedKernel kernel;
  EventAttr attr;
  const Result<OpenCounter> event = kernel.open_event(attr, {.pid = 0});

  const Result<> stopped = kernel.control(event->fd.get(), EventControl::kDisable, 0);
  if (!stopped) std::cerr << describe(stopped.error()) << '\n';

  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace pex::perf
