#include "bench/poll/switching_kernel.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pex::bench {
namespace {

constexpr std::uint64_t kTurn = 1'000'000;  ///< ns
constexpr std::size_t kLeaderAt = 4;        ///< word of a record: the value of the leader

}  // namespace

Result<perf::OpenCounter> SwitchingKernel::open_event(perf::EventAttr& attr,
                                                      const perf::EventTarget& target) {
  perf::OpenCounter counter = add(target.group_fd, (attr.read_format & PERF_FORMAT_ID) != 0);
  const bool reports_cgroups = (attr.flags & perf::attr_flag(perf::AttrFlag::kCgroup)) != 0;
  if (!reports_cgroups) events_[counter.fd.get()] = {target.cpu, counter.id};
  return counter;
}

Result<> SwitchingKernel::control(int fd, perf::EventControl operation, std::uint64_t) {
  if (operation != perf::EventControl::kSetOutput) return {};
  const Event& event = events_.at(fd);
  rings_[event.cpu].leader = event.id;
  rings_[event.cpu].switches = 0;
  return {};
}

Result<perf::Mapping> SwitchingKernel::map(int fd, std::size_t bytes, std::size_t, bool) {
  void* const start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return Error{errno, {}, {}};
  auto* const page = static_cast<perf_event_mmap_page*>(start);
  page->data_offset = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  page->data_size = bytes - page->data_offset;
  if (const auto event = events_.find(fd); event != events_.end()) {
    Ring& ring = rings_[event->second.cpu];
    ring.page = static_cast<std::byte*>(start);
    ring.head = 0;
  }
  return perf::Mapping{start, bytes};
}

/// In the layout that switch_ring.h describes, without ids: a header, the number of values, the
/// times, the values, and the cgroup.
bool SwitchingKernel::leave(int cpu, std::uint64_t cgroup) {
  Ring& ring = rings_.at(cpu);
  const std::uint64_t switches = ring.switches + 1;
  record_.assign(kLeaderAt, switches * kTurn);
  const std::size_t members = members_of(ring.leader);
  record_[1] = members;
  record_.insert(record_.end(), members, switches);
  record_.push_back(cgroup);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(record_));
  const perf_event_header header{PERF_RECORD_SAMPLE, 0, static_cast<std::uint16_t>(bytes.size())};
  std::memcpy(record_.data(), &header, sizeof header);

  auto* const page = reinterpret_cast<perf_event_mmap_page*>(ring.page);
  const std::uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
  if (ring.head - tail + bytes.size() >= page->data_size) return false;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t at = (ring.head + done) & (page->data_size - 1);
    const std::size_t part = std::min<std::size_t>(bytes.size() - done, page->data_size - at);
    std::memcpy(ring.page + page->data_offset + at, bytes.data() + done, part);
    done += part;
  }
  ring.head += bytes.size();
  ring.switches = switches;
  __atomic_store_n(&page->data_head, ring.head, __ATOMIC_RELEASE);
  return true;
}

}  // namespace pex::bench
