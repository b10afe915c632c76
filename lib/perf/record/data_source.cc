#include "perf/record/data_source.h"

#include <array>

namespace pex::perf {
namespace {

constexpr std::string_view kInDataSource = "perf/record/data_source.h";
constexpr std::string_view kFieldTest = "DataSourceTest.HasEachFieldWhereTheKernelHasIt";
constexpr std::string_view kValueTest = "DataSourceTest.DescribesEachValue";

constexpr DataSourceField source_field(std::string_view name, std::string_view since,
                                       std::uint8_t shift, std::uint8_t bits, bool is_set,
                                       std::string_view meaning) {
  return {{name, since, meaning, kInDataSource, kFieldTest}, shift, bits, is_set};
}

constexpr DataSourceValue source_value(std::string_view name, std::string_view since,
                                       std::uint8_t shift, std::uint64_t number,
                                       std::string_view meaning) {
  return {{name, since, meaning, kInDataSource, kValueTest}, shift, number};
}

constexpr std::array kSourceFields = {
    //    name           since   shift  bits  set
    source_field("mem_op", "3.10", 0, 5, true, "the kind of access"),
    source_field("mem_lvl", "3.10", 5, 14, true, "the level of the memory hierarchy, hit or miss"),
    source_field("mem_snoop", "3.10", 19, 5, true, "what a snoop of other caches found"),
    source_field("mem_lock", "3.10", 24, 2, true, "whether the instruction was locked"),
    source_field("mem_dtlb", "3.10", 26, 7, true, "what the TLB did"),
    source_field("mem_lvl_num", "4.14", 33, 4, false,
                 "the level of the memory hierarchy, as a number"),
    source_field("mem_remote", "4.14", 37, 1, true, "served from a remote place"),
    source_field("mem_snoopx", "4.14", 38, 2, true, "what a snoop did, more of it"),
    source_field("mem_blk", "5.12", 40, 3, true, "why the access was blocked"),
    source_field("mem_hops", "5.16", 43, 3, false, "how far away it was served"),
    source_field("mem_region", "7.0", 46, 5, false,
                 "the region of caches or memory that served it"),
};

constexpr std::array kSourceValues = {
    //    name                       since   shift  value
    source_value("PERF_MEM_OP_NA", "3.10", 0, 1, "not available"),
    source_value("PERF_MEM_OP_LOAD", "3.10", 0, 2, "a load"),
    source_value("PERF_MEM_OP_STORE", "3.10", 0, 4, "a store"),
    source_value("PERF_MEM_OP_PFETCH", "3.10", 0, 8, "a prefetch"),
    source_value("PERF_MEM_OP_EXEC", "3.10", 0, 16, "an instruction fetch"),
    source_value("PERF_MEM_LVL_NA", "3.10", 5, 1, "not available"),
    source_value("PERF_MEM_LVL_HIT", "3.10", 5, 2, "hit that level"),
    source_value("PERF_MEM_LVL_MISS", "3.10", 5, 4, "missed that level"),
    source_value("PERF_MEM_LVL_L1", "3.10", 5, 8, "L1"),
    source_value("PERF_MEM_LVL_LFB", "3.10", 5, 16, "the line fill buffer"),
    source_value("PERF_MEM_LVL_L2", "3.10", 5, 32, "L2"),
    source_value("PERF_MEM_LVL_L3", "3.10", 5, 64, "L3"),
    source_value("PERF_MEM_LVL_LOC_RAM", "3.10", 5, 128, "local DRAM"),
    source_value("PERF_MEM_LVL_REM_RAM1", "3.10", 5, 256, "remote DRAM, 1 hop away"),
    source_value("PERF_MEM_LVL_REM_RAM2", "3.10", 5, 512, "remote DRAM, 2 hops away"),
    source_value("PERF_MEM_LVL_REM_CCE1", "3.10", 5, 1024, "a remote cache, 1 hop away"),
    source_value("PERF_MEM_LVL_REM_CCE2", "3.10", 5, 2048, "a remote cache, 2 hops away"),
    source_value("PERF_MEM_LVL_IO", "3.10", 5, 4096, "I/O memory"),
    source_value("PERF_MEM_LVL_UNC", "3.10", 5, 8192, "uncached memory"),
    source_value("PERF_MEM_SNOOP_NA", "3.10", 19, 1, "not available"),
    source_value("PERF_MEM_SNOOP_NONE", "3.10", 19, 2, "no snoop"),
    source_value("PERF_MEM_SNOOP_HIT", "3.10", 19, 4, "a hit"),
    source_value("PERF_MEM_SNOOP_MISS", "3.10", 19, 8, "a miss"),
    source_value("PERF_MEM_SNOOP_HITM", "3.10", 19, 16, "a hit of a modified line"),
    source_value("PERF_MEM_LOCK_NA", "3.10", 24, 1, "not available"),
    source_value("PERF_MEM_LOCK_LOCKED", "3.10", 24, 2, "a locked access"),
    source_value("PERF_MEM_TLB_NA", "3.10", 26, 1, "not available"),
    source_value("PERF_MEM_TLB_HIT", "3.10", 26, 2, "hit that level"),
    source_value("PERF_MEM_TLB_MISS", "3.10", 26, 4, "missed that level"),
    source_value("PERF_MEM_TLB_L1", "3.10", 26, 8, "the L1 TLB"),
    source_value("PERF_MEM_TLB_L2", "3.10", 26, 16, "the L2 TLB"),
    source_value("PERF_MEM_TLB_WK", "3.10", 26, 32, "the hardware walker"),
    source_value("PERF_MEM_TLB_OS", "3.10", 26, 64, "the fault handler of the kernel"),
    source_value("PERF_MEM_LVLNUM_L1", "4.14", 33, 1, "L1"),
    source_value("PERF_MEM_LVLNUM_L2", "4.14", 33, 2, "L2"),
    source_value("PERF_MEM_LVLNUM_L3", "4.14", 33, 3, "L3"),
    source_value("PERF_MEM_LVLNUM_L4", "4.14", 33, 4, "L4"),
    source_value("PERF_MEM_LVLNUM_L2_MHB", "6.11", 33, 5, "the L2 miss handling buffer"),
    source_value("PERF_MEM_LVLNUM_MSC", "6.11", 33, 6, "the memory-side cache"),
    source_value("PERF_MEM_LVLNUM_L0", "7.0", 33, 7, "L0"),
    source_value("PERF_MEM_LVLNUM_UNC", "6.6", 33, 8, "uncached memory"),
    source_value("PERF_MEM_LVLNUM_CXL", "6.1", 33, 9, "memory behind CXL"),
    source_value("PERF_MEM_LVLNUM_IO", "6.1", 33, 10, "I/O memory"),
    source_value("PERF_MEM_LVLNUM_ANY_CACHE", "4.14", 33, 11, "any cache"),
    source_value("PERF_MEM_LVLNUM_LFB", "4.14", 33, 12,
                 "the line fill buffer, or L1 miss handling buffer"),
    source_value("PERF_MEM_LVLNUM_RAM", "4.14", 33, 13, "DRAM"),
    source_value("PERF_MEM_LVLNUM_PMEM", "4.14", 33, 14, "persistent memory"),
    source_value("PERF_MEM_LVLNUM_NA", "4.14", 33, 15, "not available"),
    source_value("PERF_MEM_REMOTE_REMOTE", "4.14", 37, 1, "remote"),
    source_value("PERF_MEM_SNOOPX_FWD", "4.14", 38, 1, "forwarded"),
    source_value("PERF_MEM_SNOOPX_PEER", "6.1", 38, 2, "transferred from a peer"),
    source_value("PERF_MEM_BLK_NA", "5.12", 40, 1, "not available"),
    source_value("PERF_MEM_BLK_DATA", "5.12", 40, 2, "the data could not be forwarded"),
    source_value("PERF_MEM_BLK_ADDR", "5.12", 40, 4, "an address conflict"),
    source_value("PERF_MEM_HOPS_0", "5.16", 43, 1, "a remote core of the same node"),
    source_value("PERF_MEM_HOPS_1", "5.17", 43, 2, "a remote node of the same socket"),
    source_value("PERF_MEM_HOPS_2", "5.17", 43, 3, "a remote socket of the same board"),
    source_value("PERF_MEM_HOPS_3", "5.17", 43, 4, "a remote board"),
    source_value("PERF_MEM_REGION_RSVD", "7.0", 46, 1, "reserved"),
    source_value("PERF_MEM_REGION_L_SHARE", "7.0", 46, 2,
                 "shared cache of the local caching agent"),
    source_value("PERF_MEM_REGION_L_NON_SHARE", "7.0", 46, 3,
                 "cache of the local caching agent that is not shared"),
    source_value("PERF_MEM_REGION_O_IO", "7.0", 46, 4, "I/O of another caching agent"),
    source_value("PERF_MEM_REGION_O_SHARE", "7.0", 46, 5, "shared cache of another caching agent"),
    source_value("PERF_MEM_REGION_O_NON_SHARE", "7.0", 46, 6,
                 "cache of another caching agent that is not shared"),
    source_value("PERF_MEM_REGION_MMIO", "7.0", 46, 7, "memory-mapped I/O"),
    source_value("PERF_MEM_REGION_MEM0", "7.0", 46, 8, "memory region 0"),
    source_value("PERF_MEM_REGION_MEM1", "7.0", 46, 9, "memory region 1"),
    source_value("PERF_MEM_REGION_MEM2", "7.0", 46, 10, "memory region 2"),
    source_value("PERF_MEM_REGION_MEM3", "7.0", 46, 11, "memory region 3"),
    source_value("PERF_MEM_REGION_MEM4", "7.0", 46, 12, "memory region 4"),
    source_value("PERF_MEM_REGION_MEM5", "7.0", 46, 13, "memory region 5"),
    source_value("PERF_MEM_REGION_MEM6", "7.0", 46, 14, "memory region 6"),
    source_value("PERF_MEM_REGION_MEM7", "7.0", 46, 15, "memory region 7"),
};

/// "PERF_MEM_LVLNUM_L2_MHB" -> "L2_MHB".
std::string_view short_name(const DataSourceValue& value) {
  constexpr std::string_view kPrefix = "PERF_MEM_";
  const std::string_view rest = value.abi.name.substr(kPrefix.size());
  return rest.substr(rest.find('_') + 1);
}

/// The names of the values of `field` that `bits` are, and what has no name as a number.
std::string names(const DataSourceField& field, std::uint64_t bits) {
  std::string text;
  std::uint64_t rest = bits;
  for (const DataSourceValue& value : kSourceValues) {
    if (value.shift != field.shift) continue;
    if (field.is_set ? (bits & value.value) == 0 : bits != value.value) continue;
    text.append(text.empty() ? "" : "|").append(short_name(value));
    rest &= ~value.value;
  }
  if (rest != 0) text.append(text.empty() ? "" : "|").append(std::to_string(rest));
  return text;
}

}  // namespace

std::span<const DataSourceField> data_source_fields() { return kSourceFields; }
std::span<const DataSourceValue> data_source_values() { return kSourceValues; }

std::string describe(DataSource source) {
  std::string text;
  for (const DataSourceField& field : kSourceFields) {
    const std::uint64_t bits = source.value >> field.shift & ((std::uint64_t{1} << field.bits) - 1);
    if (bits == 0) continue;
    if (!text.empty()) text += ", ";
    text.append(field.abi.name).append(" ").append(names(field, bits));
  }
  return text;
}

}  // namespace pex::perf
