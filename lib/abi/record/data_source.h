#pragma once

#include <cstdint>
#include <string>

namespace pex::perf {

/// PERF_MEM_LVLNUM_*: which level of the memory hierarchy served the access.
enum class MemoryLevel : std::uint8_t {
  kNone = 0,
  kL1 = 1,
  kL2 = 2,
  kL3 = 3,
  kL4 = 4,
  kL2MissHandlingBuffer = 5,
  kMemorySideCache = 6,
  kL0 = 7,
  kUncached = 8,
  kCxl = 9,
  kIo = 10,
  kAnyCache = 11,
  kLineFillBuffer = 12,
  kRam = 13,
  kPersistentMemory = 14,
  kNotAvailable = 15,
};

/// PERF_MEM_HOPS_*: how far away a remote access was served.
enum class MemoryHops : std::uint8_t {
  kNone = 0,
  kRemoteCore = 1,    ///< of the same node
  kRemoteNode = 2,    ///< of the same socket
  kRemoteSocket = 3,  ///< of the same board
  kRemoteBoard = 4,
};

/// PERF_MEM_REGION_*: which region of caches or memory served the access.
enum class MemoryRegion : std::uint8_t {
  kNotAvailable = 0,
  kReserved = 1,
  kLocalShared = 2,     ///< shared cache of the local caching agent
  kLocalNotShared = 3,  ///< cache of the local caching agent that is not shared
  kOtherIo = 4,         ///< I/O of another caching agent
  kOtherShared = 5,     ///< shared cache of another caching agent
  kOtherNotShared = 6,  ///< cache of another caching agent that is not shared
  kMmio = 7,
  kMemory0 = 8,  ///< kMemory0 + n: memory region n, up to 7
};

/// Where the data of a memory access came from: PERF_SAMPLE_DATA_SRC, union perf_mem_data_src.
/// Which fields are filled depends on the PMU. The fields that are sets have the PERF_MEM_* of
/// their field as bits.
///
/// Example:
///   const DataSource source{.value = PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVLNUM, L3)};
///   if (source.operation() & PERF_MEM_OP_LOAD) std::cout << describe(source) << '\n';
struct DataSource {
  std::uint64_t value = 0;  ///< as the kernel wrote it

  std::uint8_t operation() const { return bits<std::uint8_t>(0, 5); }     ///< PERF_MEM_OP_*
  std::uint16_t hierarchy() const { return bits<std::uint16_t>(5, 14); }  ///< PERF_MEM_LVL_*
  std::uint8_t snoop() const { return bits<std::uint8_t>(19, 5); }        ///< PERF_MEM_SNOOP_*
  std::uint8_t lock() const { return bits<std::uint8_t>(24, 2); }         ///< PERF_MEM_LOCK_*
  std::uint8_t tlb() const { return bits<std::uint8_t>(26, 7); }          ///< PERF_MEM_TLB_*
  MemoryLevel level() const { return bits<MemoryLevel>(33, 4); }
  bool remote() const { return bits<std::uint8_t>(37, 1) != 0; }
  std::uint8_t extended_snoop() const { return bits<std::uint8_t>(38, 2); }  ///< PERF_MEM_SNOOPX_*
  std::uint8_t blocked() const { return bits<std::uint8_t>(40, 3); }         ///< PERF_MEM_BLK_*
  MemoryHops hops() const { return bits<MemoryHops>(43, 3); }
  MemoryRegion region() const { return bits<MemoryRegion>(46, 5); }

  bool operator==(const DataSource&) const = default;

 private:
  template <typename T>
  T bits(unsigned shift, unsigned count) const {
    return static_cast<T>(value >> shift & ((std::uint64_t{1} << count) - 1));
  }
};

/// The fields that are not 0 with the names of their values: "mem_op LOAD, mem_lvl_num L3". A value
/// without a name as a number: "mem_hops 7".
std::string describe(DataSource source);

}  // namespace pex::perf
