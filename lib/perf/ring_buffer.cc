#include "perf/ring_buffer.h"

#include <bit>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/lookup.h"

namespace pex::perf {
namespace {

constexpr std::size_t kMaxRecord = 1 << 16;  // its size is of 16 bits

struct RingRemedy {
  int code;
  std::string_view cause;
  std::string_view remedy;
};
/// Source: perf_mmap() in kernel/events/core.c.
constexpr RingRemedy kRingRemedies[] = {
    {EPERM,
     "the rings of this user take more memory than kernel.perf_event_mlock_kb allows for each CPU, "
     "and those of this process more than RLIMIT_MEMLOCK allows beyond that",
     "raise kernel.perf_event_mlock_kb, or RLIMIT_MEMLOCK (LimitMEMLOCK= of a unit), or grant "
     "CAP_IPC_LOCK"},
    {EINVAL,
     "the event has a ring of another size or a ControlPage, or is inherited and open for any CPU, "
     "which allows no ring",
     "open an inherited event once for each CPU, and map an event once"},
    {ENOMEM, "the kernel is out of memory for rings", "open fewer or smaller rings"},
};

std::string mapping_of_ring(std::size_t bytes) {
  return "map a ring of " + std::to_string(bytes / 1024) + " KiB";
}

Error ring_error(int code, std::size_t bytes) {
  const RingRemedy* const entry = lookup(kRingRemedies, &RingRemedy::code, code);
  if (entry == nullptr) return {code, mapping_of_ring(bytes), {}};
  return {code, mapping_of_ring(bytes), entry->remedy, std::string(entry->cause)};
}

Error failure_of(std::string_view attempted, const Error& error) {
  return {error.code, std::string(attempted), {}};
}

}  // namespace

bool RingSize::is_valid() const {
  return std::has_single_bit(wanted) && std::has_single_bit(min) && page_size() <= min &&
         min <= wanted;
}

RingReport& RingReport::operator+=(const RingReport& other) {
  records += other.records;
  bytes += other.bytes;
  lost += other.lost;
  overwritten += other.overwritten;
  unreadable += other.unreadable;
  unreadable_bytes += other.unreadable_bytes;
  return *this;
}

Result<RingBuffer> RingBuffer::open(PerfKernel& kernel, int fd, RingSize size, RingMode mode) {
  if (!size.is_valid()) {
    return Error{EINVAL, mapping_of_ring(size.wanted),
                 "ask for powers of two, at least the page size", "it cannot have that size"};
  }
  const bool is_writable = mode == RingMode::kForward;
  for (std::size_t bytes = size.wanted;; bytes /= 2) {
    Result<Mapping> mapping = kernel.map(fd, page_size() + bytes, 0, is_writable);
    if (mapping) return RingBuffer{*std::move(mapping), bytes, fd, mode};
    const int code = mapping.error().code;
    const bool is_limit = code == EPERM || code == ENOMEM;
    if (!is_limit || bytes == size.min) return ring_error(code, bytes);
  }
}

RingBuffer::RingBuffer(Mapping mapping, std::size_t bytes, int fd, RingMode mode)
    : mapping_(std::move(mapping)),
      data_(mapping_.data() + page_size()),
      size_(bytes),
      fd_(fd),
      mode_(mode),
      scratch_(std::min(bytes, kMaxRecord)) {
  if (mode == RingMode::kForward) tail_ = page().data_tail;
}

std::size_t RingBuffer::unread() const {
  const std::uint64_t bytes = mode_ == RingMode::kForward ? head() - tail_ : tail_ - head();
  return std::min<std::uint64_t>(bytes, size_);
}

std::span<const std::byte> RingBuffer::joined(std::size_t at, std::size_t bytes) {
  const std::size_t first = size_ - at;
  std::memcpy(scratch_.data(), data_ + at, first);
  std::memcpy(scratch_.data() + first, data_, bytes - first);
  return {scratch_.data(), bytes};
}

/// Both kinds end with the number: PERF_RECORD_LOST has the id of the event before it.
std::uint64_t RingBuffer::lost_in(std::span<const std::byte> record) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  const std::size_t at = header.type == PERF_RECORD_LOST ? 2 * kUnit : kUnit;
  std::uint64_t lost = 0;
  if (record.size() >= at + sizeof lost) std::memcpy(&lost, record.data() + at, sizeof lost);
  return lost;
}

void RingBuffer::skip(std::uint64_t position, std::uint64_t end, RingReport& report) const {
  ++report.unreadable;
  report.unreadable_bytes += std::min<std::uint64_t>(end - position, size_);
}

/// Accounts for what is between the last record that was read and `oldest`: nothing, or the
/// beginning of a record whose end has been overwritten.
void RingBuffer::leave(std::uint64_t reached, std::uint64_t oldest, std::uint64_t written,
                       RingReport& report) const {
  report.overwritten = written > size_ ? written - size_ : 0;
  if (reached == oldest) return;
  const bool is_cut = written > size_ && reached % kUnit == 0 &&
                      fits(header_at(reached), kMaxRecord) &&
                      header_at(reached).size > oldest - reached;
  if (is_cut) {
    report.overwritten += oldest - reached;
  } else {
    skip(reached, oldest, report);
  }
}

Result<> RingBuffer::attach(PerfKernel& kernel, int fd) const {
  const auto ring = static_cast<std::uint64_t>(fd_);
  const Result<> attached = kernel.control(fd, EventControl::kSetOutput, ring);
  if (attached) return {};
  return Error{attached.error().code, "write the records of an event into the ring of another",
               "use events of the same CPU, or of the same thread on any CPU, with the same clock "
               "and write_backward, and map the ring of one of them only"};
}

Result<> RingBuffer::detach(PerfKernel& kernel, int fd) {
  const Result<> detached =
      kernel.control(fd, EventControl::kSetOutput, static_cast<std::uint64_t>(-1));
  if (detached) return {};
  return failure_of("take an event from the ring of another", detached.error());
}

Result<> RingBuffer::pause(PerfKernel& kernel, bool paused) const {
  const Result<> done = kernel.control(fd_, EventControl::kPauseOutput, paused ? 1 : 0);
  if (done) return {};
  return failure_of(paused ? "pause a ring" : "resume a ring", done.error());
}

}  // namespace pex::perf
