#include "abi/record/data_source.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <iostream>
#include <string>

namespace pex::perf {
namespace {

TEST(DataSourceTest, HasEachFieldWhereTheKernelHasIt) {
  perf_mem_data_src kernel{};
  kernel.mem_op = PERF_MEM_OP_EXEC;
  kernel.mem_lvl = PERF_MEM_LVL_UNC;
  kernel.mem_snoop = PERF_MEM_SNOOP_HITM;
  kernel.mem_lock = PERF_MEM_LOCK_LOCKED;
  kernel.mem_dtlb = PERF_MEM_TLB_OS;
  kernel.mem_lvl_num = PERF_MEM_LVLNUM_PMEM;
  kernel.mem_remote = PERF_MEM_REMOTE_REMOTE;
  kernel.mem_snoopx = PERF_MEM_SNOOPX_PEER;
  kernel.mem_blk = PERF_MEM_BLK_ADDR;
  kernel.mem_hops = PERF_MEM_HOPS_3;

  const DataSource source{kernel.val | std::uint64_t{15} << 46};

  EXPECT_EQ(source.operation(), PERF_MEM_OP_EXEC);
  EXPECT_EQ(source.hierarchy(), PERF_MEM_LVL_UNC);
  EXPECT_EQ(source.snoop(), PERF_MEM_SNOOP_HITM);
  EXPECT_EQ(source.lock(), PERF_MEM_LOCK_LOCKED);
  EXPECT_EQ(source.tlb(), PERF_MEM_TLB_OS);
  EXPECT_EQ(source.level(), MemoryLevel::kPersistentMemory);
  EXPECT_TRUE(source.remote());
  EXPECT_EQ(source.extended_snoop(), PERF_MEM_SNOOPX_PEER);
  EXPECT_EQ(source.blocked(), PERF_MEM_BLK_ADDR);
  EXPECT_EQ(source.hops(), MemoryHops::kRemoteBoard);
  EXPECT_EQ(source.region(), static_cast<MemoryRegion>(15));
  EXPECT_EQ(describe(source),
            "mem_op EXEC, mem_lvl UNC, mem_snoop HITM, mem_lock LOCKED, mem_dtlb OS, "
            "mem_lvl_num PMEM, mem_remote REMOTE, mem_snoopx PEER, mem_blk ADDR, mem_hops 3, "
            "mem_region MEM7");
}

TEST(DataSourceTest, DescribesEachValue) {
  const std::uint64_t all_sets = ~std::uint64_t{0} >> (64 - 33) | std::uint64_t{0x3f} << 37;
  EXPECT_EQ(describe(DataSource{all_sets}),
            "mem_op NA|LOAD|STORE|PFETCH|EXEC, "
            "mem_lvl NA|HIT|MISS|L1|LFB|L2|L3|LOC_RAM|REM_RAM1|REM_RAM2|REM_CCE1|REM_CCE2|IO|UNC, "
            "mem_snoop NA|NONE|HIT|MISS|HITM, mem_lock NA|LOCKED, "
            "mem_dtlb NA|HIT|MISS|L1|L2|WK|OS, mem_remote REMOTE, mem_snoopx FWD|PEER, "
            "mem_blk NA|DATA|ADDR");

  const char* const levels[] = {"L1",  "L2", "L3",        "L4",  "L2_MHB", "MSC",  "L0", "UNC",
                                "CXL", "IO", "ANY_CACHE", "LFB", "RAM",    "PMEM", "NA"};
  const char* const regions[] = {"RSVD",        "L_SHARE", "L_NON_SHARE", "O_IO", "O_SHARE",
                                 "O_NON_SHARE", "MMIO",    "MEM0",        "MEM1", "MEM2",
                                 "MEM3",        "MEM4",    "MEM5",        "MEM6", "MEM7"};
  for (std::uint64_t value = 1; value <= 15; ++value) {
    EXPECT_EQ(describe(DataSource{value << 33}), "mem_lvl_num " + std::string(levels[value - 1]));
    EXPECT_EQ(describe(DataSource{value << 46}), "mem_region " + std::string(regions[value - 1]));
    if (value > 4) continue;
    EXPECT_EQ(describe(DataSource{value << 43}), "mem_hops " + std::to_string(value - 1));
  }
}

TEST(DataSourceTest, DescribesASetByAllOfItsBits) {
  EXPECT_EQ(describe(DataSource{PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L1)}),
            "mem_op LOAD, mem_lvl HIT|L1");
}

TEST(DataSourceTest, DescribesValuesWithoutANameAsNumbers) {
  EXPECT_EQ(describe(DataSource{std::uint64_t{7} << 43}), "mem_hops 7");
  EXPECT_EQ(describe(DataSource{std::uint64_t{16} << 46}), "mem_region 16");
  EXPECT_EQ(describe(DataSource{}), "");
  EXPECT_EQ(describe(DataSource{~std::uint64_t{0} << 51}), "");  // reserved bits
}

TEST(DataSourceExample, DescribesALoadFromTheThirdLevel) {
  testing::internal::CaptureStdout();

  const DataSource source{.value = PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVLNUM, L3)};
  if (source.operation() & PERF_MEM_OP_LOAD) std::cout << describe(source) << '\n';

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "mem_op LOAD, mem_lvl_num L3\n");
}

}  // namespace
}  // namespace pex::perf
