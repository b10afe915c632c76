#include "abi/record/data_source.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace pex::perf {
namespace {

// PERF_MEM_OP_* and so on, without these beginnings, in the order of their bits, or of their
// numbers from 1 on.
constexpr std::string_view kOperations[] = {"NA", "LOAD", "STORE", "PFETCH", "EXEC"};
constexpr std::string_view kHierarchy[] = {
    "NA",      "HIT",      "MISS",     "L1",       "LFB",      "L2", "L3",
    "LOC_RAM", "REM_RAM1", "REM_RAM2", "REM_CCE1", "REM_CCE2", "IO", "UNC"};
constexpr std::string_view kSnoops[] = {"NA", "NONE", "HIT", "MISS", "HITM"};
constexpr std::string_view kLocks[] = {"NA", "LOCKED"};
constexpr std::string_view kTlbs[] = {"NA", "HIT", "MISS", "L1", "L2", "WK", "OS"};
constexpr std::string_view kLevels[] = {"L1",        "L2",  "L3",  "L4",   "L2_MHB",
                                        "MSC",       "L0",  "UNC", "CXL",  "IO",
                                        "ANY_CACHE", "LFB", "RAM", "PMEM", "NA"};
constexpr std::string_view kRemotes[] = {"REMOTE"};
constexpr std::string_view kMoreSnoops[] = {"FWD", "PEER"};
constexpr std::string_view kBlocks[] = {"NA", "DATA", "ADDR"};
constexpr std::string_view kHops[] = {"0", "1", "2", "3"};
constexpr std::string_view kRegions[] = {"RSVD",        "L_SHARE", "L_NON_SHARE", "O_IO", "O_SHARE",
                                         "O_NON_SHARE", "MMIO",    "MEM0",        "MEM1", "MEM2",
                                         "MEM3",        "MEM4",    "MEM5",        "MEM6", "MEM7"};

/// A field of perf_mem_data_src: so many bits from `shift` on.
struct DataSourceField {
  std::string_view name;
  std::uint8_t shift;
  std::uint8_t bits;
  bool is_set;  ///< each bit is a value, and several can be set; otherwise it is a number
  std::span<const std::string_view> values;
};
constexpr DataSourceField kSourceFields[] = {
    {"mem_op", 0, 5, true, kOperations},    {"mem_lvl", 5, 14, true, kHierarchy},
    {"mem_snoop", 19, 5, true, kSnoops},    {"mem_lock", 24, 2, true, kLocks},
    {"mem_dtlb", 26, 7, true, kTlbs},       {"mem_lvl_num", 33, 4, false, kLevels},
    {"mem_remote", 37, 1, true, kRemotes},  {"mem_snoopx", 38, 2, true, kMoreSnoops},
    {"mem_blk", 40, 3, true, kBlocks},      {"mem_hops", 43, 3, false, kHops},
    {"mem_region", 46, 5, false, kRegions},
};

/// The names of the values of `field` that `bits` are, and what has no name as a number.
std::string names(const DataSourceField& field, std::uint64_t bits) {
  std::string text;
  std::uint64_t rest = bits;
  for (std::size_t i = 0; i < field.values.size(); ++i) {
    const std::uint64_t value = field.is_set ? std::uint64_t{1} << i : i + 1;
    if (field.is_set ? (bits & value) == 0 : bits != value) continue;
    text.append(text.empty() ? "" : "|").append(field.values[i]);
    rest &= ~value;
  }
  if (rest != 0) text.append(text.empty() ? "" : "|").append(std::to_string(rest));
  return text;
}

}  // namespace

std::string describe(DataSource source) {
  std::string text;
  for (const DataSourceField& field : kSourceFields) {
    const std::uint64_t bits = source.value >> field.shift & ((std::uint64_t{1} << field.bits) - 1);
    if (bits == 0) continue;
    if (!text.empty()) text += ", ";
    text.append(field.name).append(" ").append(names(field, bits));
  }
  return text;
}

}  // namespace pex::perf
