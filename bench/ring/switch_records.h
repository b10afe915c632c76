#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "perf/linux_perf_kernel.h"
#include "perf/record/sample_layout.h"
#include "perf/ring_buffer.h"

namespace pex::bench {

/// A group of software events of one CPU that writes a record of 104 bytes at each switch between
/// cgroups: the time, all values of the group, and the cgroup that leaves.
class SwitchRecords {
 public:
  /// `watermark`: bytes in the ring that wake up who waits for it.
  static Result<SwitchRecords> open(int cpu, std::size_t ring_bytes, std::size_t watermark);

  static constexpr std::size_t kRecordBytes = 104;

  perf::RingBuffer& ring() { return ring_; }
  const perf::SampleLayout& layout() const { return layout_; }

 private:
  SwitchRecords(std::vector<perf::OpenCounter> events, perf::RingBuffer ring,
                perf::SampleLayout layout)
      : events_(std::move(events)), ring_(std::move(ring)), layout_(layout) {}

  std::vector<perf::OpenCounter> events_;  ///< the leader first
  perf::RingBuffer ring_;
  perf::SampleLayout layout_;
};

}  // namespace pex::bench
