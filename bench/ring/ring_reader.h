#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/ring/switch_records.h"

namespace pex::bench {

/// What is done with all records that a wake-up finds. The first two are floors: they need no ring
/// class, and check nothing.
enum class Way {
  kWalk,    ///< goes from header to header
  kCopy,    ///< memcpy of the bytes
  kDrain,   ///< RingBuffer::drain, which looks at the last word of each record
  kDecode,  ///< RingBuffer::drain and decode_record, which adds up the values of each cgroup
};
inline constexpr std::array kWays = {Way::kWalk, Way::kCopy, Way::kDrain, Way::kDecode};
const char* name_of(Way way);

/// What one way took at one wake-up.
struct Reading {
  Way way{};
  std::size_t records = 0;
  double ns = 0;  ///< CPU time, for each of them
};

/// A thread that is bound to the CPU of the ring, and that the watermark wakes up.
class RingReader {
 public:
  /// With `ways` one after the other, a wake-up each. A floor frees nothing, so a drain that is not
  /// measured follows it: each way finds the records as the kernel has just written them.
  RingReader(SwitchRecords& records, int cpu, std::vector<Way> ways);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  /// Ends the thread; what follows is valid from then on.
  void stop();

  const std::vector<Reading>& readings() const { return readings_; }
  std::uint64_t records() const { return report_.records; }
  std::uint64_t lost() const { return report_.lost; }
  std::uint64_t unreadable() const { return report_.unreadable; }
  std::size_t cgroups() const;
  double cpu_ns() const { return cpu_ns_; }    ///< of the thread, wake-ups included
  double seconds() const { return seconds_; }  ///< that it lived
  bool is_bound() const { return is_bound_; }

 private:
  static constexpr std::size_t kEvents = 7;
  struct Totals {
    std::uint64_t cgroup = 0;
    std::array<std::uint64_t, kEvents> counts{};
  };

  void run(int cpu);
  void read(Way way);
  void walk();
  void copy();
  void drain();
  void decode();
  void account(std::uint64_t cgroup, const perf::CounterValues& counters);
  Totals& totals_of(std::uint64_t cgroup);

  SwitchRecords& records_;
  std::vector<Way> ways_;
  std::vector<Reading> readings_;
  std::vector<std::byte> copy_;
  std::array<Totals, 64> totals_{};
  std::array<std::uint64_t, kEvents> before_{};
  perf::RingReport report_;
  std::uint64_t checksum_ = 0;  ///< so that nothing is left out
  double cpu_ns_ = 0;
  double seconds_ = 0;
  bool is_bound_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace pex::bench
