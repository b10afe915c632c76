#pragma once

#include <linux/perf_event.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "abi/record/record.h"
#include "abi/record/sample_layout.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "perf/counter_group.h"
#include "perf/group_reading.h"
#include "perf/perf_kernel.h"
#include "perf/ring_buffer.h"

namespace pex::perf {

/// The event that leads the groups of a SwitchRing, and writes a record each time it happens.
struct SwitchLeader {
  std::string_view name;
  std::uint64_t config = 0;  ///< of a software event
};
/// Since Linux 5.13: a task leaves the CPU to one of another cgroup.
inline constexpr SwitchLeader kCgroupSwitches{"cgroup-switches", PERF_COUNT_SW_CGROUP_SWITCHES};
/// Before: a task leaves the CPU to any other; as exact, and more records.
inline constexpr SwitchLeader kContextSwitches{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES};

/// How often the events that write the records of a group happened since it was opened.
struct SwitchCounts {
  /// The value of the leader, which counts while the group has the PMU.
  std::uint64_t switches = 0;
  /// A task on this CPU has moved itself, or another one, to another cgroup; 0: they are not noted.
  std::uint64_t moves = 0;

  bool operator==(const SwitchCounts&) const = default;
};

/// The values of a group when a task left the CPU, with its last event and time included: the
/// kernel writes the record while that task is still the current one (perf_event_task_sched_out()
/// in include/linux/perf_event.h). All numbers but the ids are totals since the group was opened,
/// and none ever decreases. So the difference to the record before is what the cgroup that leaves
/// did on this CPU, if `switches` grew by exactly 1, `moves` did not grow, and the group had the
/// PMU all the time.
///
/// A group that notes moves also writes one when the current task has moved itself, or another
/// task, to another cgroup: `moves` has grown by 1 then, and `cgroup` is where the current task is
/// now. Up to there, a task that moved itself was in another one.
struct SwitchRecord {
  std::size_t group = 0;               ///< its number in the SwitchRing
  std::uint64_t cgroup = 0;            ///< id of the current task's cgroup, as in NewCgroup
  std::chrono::nanoseconds enabled{};  ///< since the group was opened, also while the CPU is idle
  std::chrono::nanoseconds running{};  ///< it had the PMU; never more than `enabled`
  SwitchCounts happened;
  /// Raw, in the order in which the events were opened, without those of `happened`. Valid until
  /// the visitor returns.
  std::span<const std::uint64_t> counts;
};

/// A cgroup was made on this CPU, in the hierarchy that has perf_event. The ring of another CPU
/// does not have this record.
struct NewCgroup {
  std::uint64_t id = 0;  ///< the inode number of its directory; never used again for another one
  /// From the root of the hierarchy on, which a container need not see: "/system.slice/a.service";
  /// "//enomem" if the kernel had no memory for it. Bytes of any kind: a view of the ring, valid
  /// until the visitor returns.
  std::string_view path;
};

/// The ring had no room for so many records, of any group or kind, at this place. The kernel writes
/// it before the next record for which there is room.
struct Loss {
  std::uint64_t records = 0;
};

/// Groups of counters of one whole CPU, which write what they have counted into one ring at each
/// switch between two cgroups: exact counts of all cgroups, with descriptors for none of them.
///
/// The ring belongs to an event of its own, which always runs (so that the kernel's context of the
/// CPU is active, see CounterGroup::open). It reports new cgroups, or not: as their records have a
/// path of up to 4 KiB, many of them would leave no room for others. The groups run from
/// add_group() to remove_group(), and are never pinned or exclusive.
///
/// For one thread at a time, best on its CPU. Once the CPU has been offline, the kernel writes
/// nothing any more, and read() fails: the ring is to be closed as a whole and opened again.
///
/// Example:
///   Result<SwitchRing> ring = SwitchRing::open(kernel, cpu, {256 * 1024, 16 * 1024}, true);
///   const auto group = ring->add_group(kernel, events);
///   work();
///   struct Visitor {
///     void operator()(const SwitchRecord& record) { last[record.cgroup] = record.enabled; }
///     void operator()(const NewCgroup& cgroup) { paths[cgroup.id] = cgroup.path; }
///     void operator()(const Loss& loss) { lost += loss.records; }
///     ...
///   } visitor;
///   const RingReport report = ring->drain(visitor);
class SwitchRing {
 public:
  /// A ring of `size.wanted` bytes, or less, as RingBuffer::open says; its errors include EPERM
  /// where no more memory can be locked. Also finds the event that leads: EINVAL before Linux 5.7.
  static Result<SwitchRing> open(PerfKernel& kernel, int cpu, RingSize size, bool reports_cgroups);

  SwitchRing(SwitchRing&&) = default;
  /// The groups are closed before the ring, and the ring before its event, so that the kernel never
  /// has to find who else writes to it.
  SwitchRing& operator=(SwitchRing&&) = delete;

  /// Opens a group of the leader and `events`, all or nothing, and starts it; E2BIG for more than
  /// kMaxGroupMembers. Returns its number, which is used again after remove_group(). If the leader
  /// is refused, or the group as a whole, OpenFailure::event is 0 and the error says so.
  ///
  /// The group is read once to check that its time advances. If it does not, it is opened again, as
  /// CounterGroup::open does; if that did not help, the error is ENODATA.
  ///
  /// `moves`: the tracepoint cgroup:cgroup_attach_task, which the kernel reaches on the CPU of the
  /// task that moves one, after the move. It becomes a member that writes records as the leader
  /// does. They lack the data of the tracepoint, so it needs no other right than counting. Such a
  /// group stays until the ring is closed: the member would go on writing without its leader.
  Result<std::size_t, OpenFailure> add_group(PerfKernel& kernel,
                                             std::span<const CounterSpec> events,
                                             const EventAttributes* moves = nullptr);

  /// Stops the group and starts it again. The interval up to the first record after that includes
  /// what was counted between the last record and the stop, by whichever cgroup.
  Result<> disable(PerfKernel& kernel, std::size_t group) const;
  Result<> enable(PerfKernel& kernel, std::size_t group) const;

  /// Closes its events. Records of it that are still in the ring are not given to a visitor.
  void remove_group(std::size_t group);

  /// What the group has counted up to now, by one read(2), as a record has it. ENODEV after the CPU
  /// was offline; both are unchanged then.
  Result<> read(PerfKernel& kernel, std::size_t group, GroupReading& reading,
                SwitchCounts& happened) const;

  /// After ENODEV: what it had counted when the CPU went offline, event by event, as the kernel has
  /// broken the group up. An event that returns nothing alone is in `reading.unreadable`; the
  /// number of moves is unchanged.
  Result<> read_last(PerfKernel& kernel, std::size_t group, GroupReading& reading,
                     SwitchCounts& happened) const;

  /// Gives what is in the ring to `visit`, oldest first, as SwitchRecord, NewCgroup or Loss: a
  /// function object that accepts each of them. It must not call the ring. A record that does not
  /// have what its group writes is `unreadable`, with its bytes, and is not visited; `records` and
  /// `bytes` are of all records in the ring.
  template <typename Visitor>
  RingReport drain(Visitor&& visit);

  /// Of all calls of drain().
  const RingReport& totals() const { return totals_; }

  /// Readable for poll(2) when half of the ring is full, once: look at unread() before waiting.
  int fd() const { return ring_.fd(); }
  std::size_t unread() const { return ring_.unread(); }  ///< bytes
  std::size_t size() const { return ring_.size(); }      ///< bytes
  int cpu() const { return cpu_; }
  SwitchLeader leader() const { return leader_; }

  bool notes_moves(std::size_t group) const { return groups_[group].notes_moves; }
  /// Open counters, each a descriptor: of a group, the leader included, and the ring's own.
  std::size_t events(std::size_t group) const { return groups_[group].events.size(); }
  static constexpr std::size_t own_events() { return 1; }

 private:
  static constexpr std::uint64_t kNoId = 0;  ///< the kernel's begin at 1
  static constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

  /// What distinguishes the records of a group from those of others: how many values they have or,
  /// if another group has as many, the ids of its events. Records without ids are shorter.
  struct Mark {
    std::size_t values = 0;        ///< the leader's included; 0: of no group
    std::uint64_t leader = kNoId;  ///< its id, if records have ids

    bool has_ids() const { return leader != kNoId; }
    bool operator==(const Mark&) const = default;
  };
  /// A number that is free has no mark and no events.
  struct Group {
    Mark mark;
    std::vector<UniqueFd> events;           ///< the leader first, then the one that notes moves
    std::vector<std::uint64_t> member_ids;  ///< of those behind the leader
    bool notes_moves = false;

    std::size_t first_count() const { return notes_moves ? 2 : 1; }  ///< of events
  };
  /// Words of a SwitchRecord in the ring (perf_output_sample() in kernel/events/core.c), from the
  /// number of its values on, and after them the id of the cgroup:
  ///
  ///   header    n enabled running {value} * n     cgroup    without ids
  ///   header 0  n enabled running {value id} * n  cgroup    with ids
  ///
  /// The 0 is an address (PERF_SAMPLE_ADDR), which a switch does not have. It shows which of the
  /// two a record is.
  enum Word : std::size_t { kValues, kEnabled, kRunning, kLeader };

  SwitchRing(int cpu, SwitchLeader leader, SampleLayout layout, ReadLayout layout_with_ids,
             OpenCounter owner, RingBuffer ring)
      : cpu_(cpu),
        leader_(leader),
        layout_(layout),
        layout_with_ids_(layout_with_ids),
        owner_(std::move(owner)),
        ring_(std::move(ring)) {}

  Result<Group, OpenFailure> open_group(PerfKernel& kernel, std::span<const CounterSpec> events,
                                        const EventAttributes* moves) const;
  Result<Group, OpenFailure> open_leader(PerfKernel& kernel, std::size_t values) const;
  Result<> open_moves(PerfKernel& kernel, const EventAttributes& tracepoint, Group& group) const;
  const ReadLayout& layout_of(const Group& group) const {
    return group.mark.has_ids() ? layout_with_ids_ : layout_.read_layout();
  }
  Result<> read_values(PerfKernel& kernel, const Group& group, GroupReading& reading,
                       SwitchCounts& happened) const;
  bool stands_still(PerfKernel& kernel, const Group& group) const;
  std::size_t keep(Group group);
  void retire(Group group);

  std::size_t group_of(const Mark& mark) const;
  bool is_retired(const Mark& mark) const;
  template <typename Visitor>
  bool visit_sample(std::span<const std::byte> record, Visitor& visit) const;
  template <std::size_t kWordsOfValue, typename Visitor>
  bool visit_values(std::span<const std::uint64_t> words, Visitor& visit) const;
  template <typename Visitor>
  bool visit_other(std::span<const std::byte> record, Visitor& visit) const;

  int cpu_;
  SwitchLeader leader_;
  SampleLayout layout_;  ///< of records without ids; other records are the same for all groups
  ReadLayout layout_with_ids_;
  OpenCounter owner_;
  RingBuffer ring_;
  std::vector<Group> groups_;  ///< by their numbers
  std::vector<Mark> retired_;  ///< of groups whose records may still be in the ring
  RingReport totals_;
};

/// A CPU has few groups.
inline std::size_t SwitchRing::group_of(const Mark& mark) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].mark == mark) return group;
  }
  return kNoGroup;
}

/// False: it is not what a group writes.
///
/// Since Linux 6.3 all events of a CPU that count the same software event, those of other programs
/// included, share the data of a sample (do_perf_sw_event() in kernel/events/core.c). What one of
/// them has filled in stays for the next. So its PERF_SAMPLE_IDENTIFIER is that of another event,
/// and its record is longer if the other one has a callchain. But values are always its own, with
/// their number and their ids.
template <typename Visitor>
bool SwitchRing::visit_sample(std::span<const std::byte> record, Visitor& visit) const {
  // Aligned, see RingBuffer; and of a size that is a multiple of 8.
  const std::span words{reinterpret_cast<const std::uint64_t*>(record.data()),
                        record.size() / sizeof(std::uint64_t)};
  if (words.size() < 2) [[unlikely]]
    return false;
  const bool has_ids = words[1] == 0;
  return has_ids ? visit_values<2>(words.subspan(2), visit)
                 : visit_values<1>(words.subspan(1), visit);
}

template <std::size_t kWordsOfValue, typename Visitor>
bool SwitchRing::visit_values(std::span<const std::uint64_t> words, Visitor& visit) const {
  constexpr bool kHasIds = kWordsOfValue > 1;
  if (words.size() <= kLeader + kWordsOfValue || words[kValues] == 0) [[unlikely]]
    return false;
  const Mark mark{words[kValues], kHasIds ? words[kLeader + 1] : kNoId};
  if (mark.has_ids() != kHasIds) [[unlikely]]
    return false;
  const std::size_t group = group_of(mark);
  if (group == kNoGroup) [[unlikely]]
    return is_retired(mark);
  const std::size_t cgroup = kLeader + kWordsOfValue * mark.values;
  if (words.size() <= cgroup) [[unlikely]]
    return false;
  const std::size_t counted_from = groups_[group].first_count();
  const std::size_t first_count = kLeader + kWordsOfValue * counted_from;
  std::span<const std::uint64_t> counts = words.subspan(first_count, mark.values - counted_from);
  std::array<std::uint64_t, kMaxGroupMembers> without_ids;  // those that there are are set
  if constexpr (kHasIds) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      without_ids[i] = words[first_count + kWordsOfValue * i];
    }
    counts = std::span(without_ids).first(counts.size());
  }
  visit(SwitchRecord{.group = group,
                     .cgroup = words[cgroup],
                     .enabled = std::chrono::nanoseconds{words[kEnabled]},
                     .running = std::chrono::nanoseconds{words[kRunning]},
                     .happened = {.switches = words[kLeader],
                                  .moves = counted_from > 1 ? words[kLeader + kWordsOfValue] : 0},
                     .counts = counts});
  return true;
}

/// False: it cannot be decoded. Other types of records are ignored.
template <typename Visitor>
bool SwitchRing::visit_other(std::span<const std::byte> record, Visitor& visit) const {
  const auto decoded = decode_record(layout_, record);
  if (!decoded) return false;
  if (const auto* const cgroup = std::get_if<Cgroup>(&*decoded)) {
    visit(NewCgroup{cgroup->id, cgroup->path});
  } else if (const auto* const lost = std::get_if<Lost>(&*decoded)) {
    visit(Loss{lost->lost});
  }
  return true;
}

template <typename Visitor>
RingReport SwitchRing::drain(Visitor&& visit) {
  RingReport refused;
  RingReport report = ring_.drain([&](std::span<const std::byte> record) {
    perf_event_header header;
    std::memcpy(&header, record.data(), sizeof header);
    const bool is_sample = header.type == PERF_RECORD_SAMPLE;
    if (is_sample ? visit_sample(record, visit) : visit_other(record, visit)) [[likely]]
      return;
    ++refused.unreadable;
    refused.unreadable_bytes += record.size();
  });
  report += refused;
  totals_ += report;
  retired_.clear();  // their events are closed, and all that was in the ring has been read
  return report;
}

}  // namespace pex::perf
