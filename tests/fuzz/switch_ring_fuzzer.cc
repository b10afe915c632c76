#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cgroup/cgroup.h"
#include "fuzz/fuzzing.h"
#include "records/cgroup_sums.h"
#include "records/switch_attribution.h"
#include "records/switch_ring.h"
#include "support/scripted_kernel.h"
#include "support/scripted_ring.h"

namespace {

using pex::collect::CgroupSums;
using pex::collect::SwitchAttribution;
using pex::fuzz::require;
using pex::perf::SwitchRing;

constexpr std::size_t kOwner = 0;  // the first event that a ring opens
constexpr std::size_t kValues = 3;
constexpr std::uint64_t kIdOfTarget = 7;
constexpr std::size_t kSlot = 2;

/// A ring with one group, and the sums of one cgroup that its records are added to. One of the
/// values of a group that notes moves is their number.
class Recording {
 public:
  explicit Recording(bool notes_moves)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        events_(notes_moves ? kValues - 2 : kValues - 1) {
    auto ring = SwitchRing::open(kernel_, 3, {page_, page_}, true);
    require(ring.has_value());
    ring_.emplace(*std::move(ring));
    const pex::perf::CounterSpec event{
        "page-faults", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}};
    const std::vector<pex::perf::CounterSpec> events(events_, event);
    const pex::perf::EventAttributes moves{.type = PERF_TYPE_TRACEPOINT, .config = 1};
    const auto added = ring_->add_group(kernel_, events, notes_moves ? &moves : nullptr);
    require(added && *added == group_);
    writer_.emplace(kernel_.opened_events.at(kOwner));
    sums_.add_group(group_, events_);
    attribution_.add_group(group_, events_, true);
    sums_.set_names([](std::uint64_t) -> const std::string* { return nullptr; });
    sums_.open(kSlot,
               std::make_shared<const pex::cgroup::Cgroup>(
                   pex::cgroup::Cgroup{"/a.service", kIdOfTarget, {}}),
               group_);
  }

  pex::test::ScriptedRing& writer() { return *writer_; }
  std::size_t size() const { return page_; }

  void operator()(const pex::perf::SwitchRecord& record) {
    require(record.group == group_ && record.counts.size() == events_);
    attribution_.record(record);
  }
  void operator()(const pex::perf::NewCgroup& cgroup) {
    for (const char byte : cgroup.path) sum_of_bytes_ += static_cast<unsigned char>(byte);
  }
  void operator()(const pex::perf::Loss& loss) { attribution_.loss(loss.records); }

  /// No time is negative, and nothing is taken twice.
  void poll() {
    const pex::perf::RingReport report = ring_->drain(*this);
    require(report.bytes + report.unreadable_bytes <= 2 * size());
    require(ring_->unread() == 0);
    attribution_.end_poll({});
    pex::perf::GroupInterval since;
    (void)sums_.take(kSlot, group_, since);
    require(since.enabled.count() >= 0 && since.running.count() >= 0 && since.lost.count() >= 0);
    require(since.counts.size() == events_);
    (void)sums_.take(kSlot, group_, since);
    require(since.enabled.count() == 0 && since.running.count() == 0);
    for (const std::uint64_t count : since.counts) require(count == 0);
  }

 private:
  std::size_t page_;
  std::size_t events_;  ///< in the group
  pex::test::ScriptedKernel kernel_;
  std::optional<SwitchRing> ring_;
  std::optional<pex::test::ScriptedRing> writer_;
  std::size_t group_ = 0;
  CgroupSums sums_;
  SwitchAttribution attribution_{sums_};
  std::uint64_t sum_of_bytes_ = 0;
};

/// Records of a kernel that is right about their sizes: one byte is how many words follow the
/// header's type. So many of them are in each poll.
void write_records(Recording& recording, std::span<const std::byte> bytes, std::size_t in_poll) {
  for (std::size_t records = 1; bytes.size() > 2; ++records) {
    const std::size_t wanted = std::to_integer<std::size_t>(bytes[0]) % 64 * 8;
    const auto type = std::to_integer<std::uint32_t>(bytes[1]);
    const auto body = bytes.subspan(2, std::min(wanted, bytes.size() - 2));
    std::vector<std::uint64_t> words((body.size() + 7) / 8);
    if (!body.empty()) std::memcpy(words.data(), body.data(), body.size());
    (void)recording.writer().write(pex::test::record_of(type, words));
    bytes = bytes.subspan(2 + body.size());
    if (records % in_poll == 0) recording.poll();
  }
}

/// Memory that is not what the kernel documents.
void write_memory(Recording& recording, std::span<const std::byte> bytes) {
  const std::size_t size = std::min(bytes.size(), recording.size());
  recording.writer().put(0, bytes.first(size));
  recording.writer().set_head(size);
}

}  // namespace

/// Any ring gives records that are whole, and sums that never fall. The lowest bit of the first
/// byte decides whether the rest is the memory of the ring, or records, of which the next two say
/// how many there are in a poll. The fourth decides whether moves are noted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  Recording recording{data[0] / 8 % 2 != 0};

  if (data[0] % 2 == 0) {
    write_records(recording, bytes, data[0] / 2 % 4 + std::size_t{1});
  } else {
    write_memory(recording, bytes);
  }

  recording.poll();
  recording.poll();
  return 0;
}
