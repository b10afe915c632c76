#include "perf/record/data_source.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <iostream>
#include <string>

namespace pex::perf {
namespace {

const DataSourceField& field_at(std::uint8_t shift) {
  for (const DataSourceField& field : data_source_fields()) {
    if (field.shift == shift) return field;
  }
  ADD_FAILURE() << "no field at bit " << unsigned(shift);
  return data_source_fields().front();
}

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
}

TEST(DataSourceTest, HasFieldsOneAfterTheOther) {
  unsigned next = 0;
  for (const DataSourceField& field : data_source_fields()) {
    EXPECT_EQ(field.shift, next) << field.abi.name;
    next += field.bits;
  }
  EXPECT_EQ(next, 51u);  // mem_rsvd is 13 bits
}

TEST(DataSourceTest, DescribesEachValue) {
  for (const DataSourceValue& value : data_source_values()) {
    const DataSourceField& field = field_at(value.shift);
    const std::string name(value.abi.name.substr(value.abi.name.find('_', 9) + 1));

    const DataSource source{value.value << value.shift};

    EXPECT_LT(value.value, std::uint64_t{1} << field.bits) << value.abi.name;
    EXPECT_EQ(describe(source), std::string(field.abi.name) + " " + name);
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
