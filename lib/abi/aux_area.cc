#include "abi/aux_area.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace pex::perf {
namespace {

Error area_error(int code, std::size_t bytes) {
  const std::string attempted = "map an AUX area of " + std::to_string(bytes / 1024) + " KiB";
  switch (code) {
    case EPERM:
      return {code, attempted,
              "raise kernel.perf_event_mlock_kb, or RLIMIT_MEMLOCK (LimitMEMLOCK= of a unit), or "
              "grant CAP_IPC_LOCK",
              "it needs more locked memory than this user and this process are allowed"};
    case EOPNOTSUPP:
      return {code, attempted, "open an event of a PMU that traces",
              "the PMU of this event has no AUX area"};
    case EINVAL:
      return {code, attempted, "map the ring writable, and one AUX area for it",
              "the event has an AUX area of another size, or its ring is mapped read-only"};
    default:
      return {code, attempted, {}};
  }
}

}  // namespace

Result<AuxArea> AuxArea::open(PerfKernel& kernel, const RingBuffer& ring, RingSize size,
                              RingMode mode) {
  if (!size.is_valid() || ring.mode() != RingMode::kForward) {
    return area_error(EINVAL, size.wanted);
  }
  perf_event_mmap_page& page = ring.page();
  page.aux_offset = page_size() + ring.size();
  for (std::size_t bytes = size.wanted;; bytes /= 2) {
    page.aux_size = bytes;
    Result<Mapping> mapping =
        kernel.map(ring.fd(), bytes, page.aux_offset, mode == RingMode::kForward);
    if (mapping) return AuxArea{*std::move(mapping), page, mode};
    const int code = mapping.error().code;
    const bool is_limit = code == EPERM || code == ENOMEM;
    if (!is_limit || bytes == size.min) return area_error(code, bytes);
  }
}

AuxArea::Data AuxArea::unread() const {
  Data data;
  data.end = __atomic_load_n(&page_->aux_head, __ATOMIC_ACQUIRE);
  const std::uint64_t written = mode_ == RingMode::kForward ? data.end - tail_ : size();
  const std::size_t bytes = std::min<std::uint64_t>(written, size());
  data.skipped = written - bytes;
  const std::size_t at = (data.end - bytes) & (size() - 1);
  const std::span<const std::byte> area = mapping_.bytes();
  data.first = area.subspan(at, std::min(bytes, size() - at));
  data.second = area.first(bytes - data.first.size());
  return data;
}

void AuxArea::release(const Data& data) {
  tail_ = data.end;
  __atomic_store_n(&page_->aux_tail, tail_, __ATOMIC_RELEASE);
}

}  // namespace pex::perf
