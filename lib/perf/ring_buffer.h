#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/result.h"
#include "perf/mapping.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// What happens when a ring is full.
enum class RingMode {
  kForward,    ///< new records are lost, and counted; the reader frees room
  kOverwrite,  ///< the oldest records are overwritten; for events with write_backward
};

/// Bytes of a ring, without its control page: powers of two, at least the page size.
struct RingSize {
  std::size_t wanted = 0;
  std::size_t min = 0;  ///< what is acceptable where the kernel refuses to lock more memory

  bool is_valid() const;
};

/// What was read from a ring, by one call or since it was opened.
struct RingReport {
  std::uint64_t records = 0;  ///< given to the visitor
  std::uint64_t bytes = 0;    ///< of those
  /// Records that the kernel had no room for, by the PERF_RECORD_LOST among them, and samples that
  /// the hardware lost, by the PERF_RECORD_LOST_SAMPLES. The kernel writes the former before the
  /// next record that it has room for: until then the number is not known.
  std::uint64_t lost = 0;
  std::uint64_t overwritten = 0;  ///< bytes of records that were never read (kOverwrite)
  std::uint64_t unreadable = 0;   ///< times that the rest of the ring made no sense and was skipped
  std::uint64_t unreadable_bytes = 0;  ///< skipped then

  RingReport& operator+=(const RingReport& other);
  bool operator==(const RingReport&) const = default;
};

/// The memory that the kernel writes the records of one or more events to (perf_event_open(2),
/// "MMAP layout"): a control page, and the ring itself. Records are whole for the visitor, header
/// included, and aligned to 8 bytes; those that the end of the ring divides are copied. What is in
/// the ring is not trusted: an invalid size makes the reader skip the rest of the ring and count it
/// as `unreadable`.
///
/// For one thread at a time. The event's descriptor is borrowed. The event goes on, and writes,
/// until both its descriptor and the ring are gone: disable it before, if it is to end. A forked
/// child does not inherit the mapping: using the ring there is a fault (VM_DONTCOPY, perf_mmap() in
/// kernel/events/core.c).
///
/// Example:
///   Result<RingBuffer> ring = RingBuffer::open(kernel, event->fd.get(), {256 * 1024, 16 * 1024});
///   work();
///   const RingReport report = ring->drain([&](std::span<const std::byte> record) {
///     const auto decoded = decode_record(*layout, record);
///     if (decoded && std::holds_alternative<Sample>(*decoded)) ++samples;
///   });
class RingBuffer {
 public:
  static constexpr std::size_t kNoBudget = std::numeric_limits<std::size_t>::max();

  /// Maps the ring of an event: of `size.wanted` bytes, or, where the kernel allows less, of half
  /// of that and so on, but not of less than `size.min`: see size(). EINVAL if the event has a
  /// ControlPage: it has one mapping, of one size.
  static Result<RingBuffer> open(PerfKernel& kernel, int fd, RingSize size,
                                 RingMode mode = RingMode::kForward);

  /// Gives each record to `visit`, oldest first, and its room back to the kernel. The span is valid
  /// until `visit` returns. Ends after `budget` records. If `visit` throws, the next call can begin
  /// with records that were visited before. For kForward.
  template <typename Visitor>
  RingReport drain(Visitor&& visit, std::size_t budget = kNoBudget);

  /// Gives each record since the last call to `visit`, newest first, as far as the ring still has
  /// them. The kernel writes nothing meanwhile, and counts what happens as lost; only a record that
  /// another CPU is writing when the call begins can still overwrite the oldest one. A pause() of
  /// the caller ends as well. If the kernel does not resume writing, the result is that error, and
  /// what was read is in totals() only. For kOverwrite.
  template <typename Visitor>
  Result<RingReport> snapshot(PerfKernel& kernel, Visitor&& visit);

  /// Bytes that are there to be read.
  std::size_t unread() const;

  /// Another event writes its records here as well (PERF_EVENT_IOC_SET_OUTPUT). It must be of the
  /// same CPU, or of the same thread on any CPU, and have the same clock and write_backward.
  Result<> attach(PerfKernel& kernel, int fd) const;
  /// Ends that for an event: its records are written nowhere.
  static Result<> detach(PerfKernel& kernel, int fd);

  /// While paused, the kernel writes no records, and counts what happens as lost. snapshot() ends
  /// it.
  Result<> pause(PerfKernel& kernel, bool paused) const;

  /// Of the event: readable for poll(2), epoll(7) and the like at its wake-ups. Each wake-up is
  /// reported once, so look at unread() before waiting.
  int fd() const { return fd_; }
  RingMode mode() const { return mode_; }
  std::size_t size() const { return size_; }
  const RingReport& totals() const { return totals_; }

  /// Written by the kernel; the ring writes only data_tail. An event with a ring cannot have a
  /// ControlPage as well: read_clock() and conversion_of() (control_page.h) read this one.
  perf_event_mmap_page& page() const {
    return *reinterpret_cast<perf_event_mmap_page*>(mapping_.data());
  }

 private:
  static constexpr std::uint64_t kUnit = sizeof(perf_event_header);  ///< what all sizes are made of

  RingBuffer(Mapping mapping, std::size_t bytes, int fd, RingMode mode);

  /// Acquire: what the kernel wrote before it moved its head is visible.
  std::uint64_t head() const { return __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE); }
  /// Release: what is before `tail` has been read, and the kernel can overwrite it.
  void free_to(std::uint64_t tail) {
    tail_ = tail;
    __atomic_store_n(&page().data_tail, tail, __ATOMIC_RELEASE);
  }

  /// At a multiple of kUnit, a header is never divided.
  perf_event_header header_at(std::uint64_t position) const {
    perf_event_header header;
    std::memcpy(&header, data_ + (position & (size_ - 1)), sizeof header);
    return header;
  }
  /// What the kernel wrote a while ago is no longer in the nearest caches.
  void fetch_ahead(std::uint64_t position) const {
    constexpr std::size_t kAhead = 1024, kCacheLine = 64;
    for (const std::size_t ahead : {kAhead, kAhead + kCacheLine}) {
      __builtin_prefetch(data_ + ((position + ahead) & (size_ - 1)));
    }
  }
  static bool fits(const perf_event_header& header, std::uint64_t rest) {
    return header.size >= kUnit && header.size % kUnit == 0 && header.size <= rest;
  }
  std::span<const std::byte> record_at(std::uint64_t position, std::size_t bytes) {
    const std::size_t at = position & (size_ - 1);
    if (at + bytes <= size_) [[likely]]
      return {data_ + at, bytes};
    return joined(at, bytes);
  }
  std::span<const std::byte> joined(std::size_t at, std::size_t bytes);
  static std::uint64_t lost_in(std::span<const std::byte> record);

  template <typename Visitor>
  std::uint64_t walk(std::uint64_t position, std::uint64_t end, std::size_t budget, Visitor& visit,
                     RingReport& report);
  bool is_walkable(std::uint64_t position, std::uint64_t end) const {
    return (position | end) % kUnit == 0 && end - position <= size_;
  }
  void skip(std::uint64_t position, std::uint64_t end, RingReport& report) const;
  void leave(std::uint64_t reached, std::uint64_t oldest, std::uint64_t written,
             RingReport& report) const;

  Mapping mapping_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t tail_ = 0;  ///< up to where it was read; kOverwrite: the newest record that was
  int fd_ = -1;
  RingMode mode_ = RingMode::kForward;
  RingReport totals_;
  std::vector<std::byte> scratch_;  ///< for a record that the end of the ring divides
};

/// Returns where it stopped: at the end, at the budget, or at what is no record.
template <typename Visitor>
std::uint64_t RingBuffer::walk(std::uint64_t position, std::uint64_t end, std::size_t budget,
                               Visitor& visit, RingReport& report) {
  const std::uint64_t start = position;
  for (; position != end && report.records < budget; ++report.records) {
    const perf_event_header header = header_at(position);
    if (!fits(header, end - position)) [[unlikely]]
      break;
    fetch_ahead(position);
    const std::span<const std::byte> record = record_at(position, header.size);
    const bool is_loss = header.type == PERF_RECORD_LOST || header.type == PERF_RECORD_LOST_SAMPLES;
    if (is_loss) [[unlikely]]
      report.lost += lost_in(record);
    visit(record);
    position += header.size;
    // Not for each record: the kernel writes its head into the same cache line.
    const bool is_much = position - tail_ >= size_ / 4;
    if (is_much && mode_ == RingMode::kForward) [[unlikely]]
      free_to(position);
  }
  report.bytes = position - start;
  return position;
}

template <typename Visitor>
RingReport RingBuffer::drain(Visitor&& visit, std::size_t budget) {
  assert(mode_ == RingMode::kForward);
  RingReport report;
  const std::uint64_t end = head();
  std::uint64_t position = tail_;
  if (is_walkable(position, end)) position = walk(position, end, budget, visit, report);
  if (position != end && report.records < budget) {
    skip(position, end, report);
    position = end;
  }
  if (position != tail_) free_to(position);
  totals_ += report;
  return report;
}

template <typename Visitor>
Result<RingReport> RingBuffer::snapshot(PerfKernel& kernel, Visitor&& visit) {
  assert(mode_ == RingMode::kOverwrite);
  struct Pause {
    PerfKernel& kernel;
    const RingBuffer& ring;
    bool is_over = false;
    Result<> end() {
      is_over = true;
      return ring.pause(kernel, false);
    }
    ~Pause() {
      if (!is_over) (void)end();
    }
  };
  if (const Result<> paused = pause(kernel, true); !paused) return paused.error();
  Pause pause{kernel, *this};

  RingReport report;
  const std::uint64_t newest = head();
  const std::uint64_t written = tail_ - newest;
  const std::uint64_t oldest = newest + std::min<std::uint64_t>(written, size_);
  std::uint64_t reached = newest;
  if (is_walkable(newest, oldest)) reached = walk(newest, oldest, kNoBudget, visit, report);
  leave(reached, oldest, written, report);
  tail_ = newest;
  totals_ += report;
  if (const Result<> resumed = pause.end(); !resumed) return resumed.error();
  return report;
}

}  // namespace pex::perf
