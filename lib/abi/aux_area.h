#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "perf/mapping.h"
#include "perf/perf_kernel.h"
#include "perf/ring_buffer.h"

namespace pex::perf {

/// The second memory of an event, for PMUs that trace, such as intel_pt, arm_spe or cs_etm: the
/// hardware writes its data there, and PERF_RECORD_AUX in the ring says what is new. The data are
/// spans of bytes: their formats are those of the hardware, and not decoded.
///
/// For one thread at a time. The ring outlives it: both share a control page.
///
/// Example:
///   Result<AuxArea> area = AuxArea::open(kernel, *ring, {1024 * 1024, 64 * 1024});
///   const AuxArea::Data data = area->unread();
///   trace.insert(trace.end(), data.first.begin(), data.first.end());
///   trace.insert(trace.end(), data.second.begin(), data.second.end());
///   area->release(data);
class AuxArea {
 public:
  /// What is in the area: `first`, and `second` where the end of the area divides it.
  struct Data {
    std::span<const std::byte> first;
    std::span<const std::byte> second;
    std::uint64_t end = 0;      ///< the kernel's position after it
    std::uint64_t skipped = 0;  ///< bytes before it that are not there any more

    std::size_t size() const { return first.size() + second.size(); }
  };

  /// Maps the area behind the ring of an event, or half of the size and so on, as
  /// RingBuffer::open. kForward: the hardware stops at what was not released, also by an earlier
  /// area of the ring. kOverwrite: it goes on, and what is there is a snapshot.
  static Result<AuxArea> open(PerfKernel& kernel, const RingBuffer& ring, RingSize size,
                              RingMode mode = RingMode::kForward);

  /// kForward: what was not released. kOverwrite: all of the area, the oldest byte first; what
  /// was never written is 0. Disable the event first: the position is only known then.
  Data unread() const;

  /// The kernel can overwrite `data`, which must be what unread() returned. For kForward.
  void release(const Data& data);

  std::size_t size() const { return mapping_.size(); }

 private:
  AuxArea(Mapping mapping, perf_event_mmap_page& page, RingMode mode)
      : mapping_(std::move(mapping)), page_(&page), mode_(mode) {
    if (mode == RingMode::kForward) tail_ = page.aux_tail;
  }

  Mapping mapping_;
  perf_event_mmap_page* page_;
  RingMode mode_;
  std::uint64_t tail_ = 0;
};

}  // namespace pex::perf
