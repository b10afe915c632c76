#pragma once

#include <cstddef>
#include <cstdint>

namespace pex::bench {

/// What came of the records of switches.
struct RecordsRead {
  std::uint64_t read = 0;
  std::uint64_t lost = 0;     ///< the ring had no room for them
  std::uint64_t skipped = 0;  ///< the kernel did not write them

  RecordsRead& operator+=(const RecordsRead& more) {
    read += more.read;
    lost += more.lost;
    skipped += more.skipped;
    return *this;
  }
};

/// Counters that are open for as long as this is kept.
class OpenCounters {
 public:
  OpenCounters() = default;
  virtual ~OpenCounters() = default;
  OpenCounters(const OpenCounters&) = delete;
  OpenCounters& operator=(const OpenCounters&) = delete;

  /// That are open for it.
  virtual std::size_t descriptors() const { return 0; }
  /// Of all CPUs, since the counters were opened or this was last called.
  virtual RecordsRead records() { return {}; }
};

}  // namespace pex::bench
