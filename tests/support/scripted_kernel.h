#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "perf/group_reading.h"
#include "perf/perf_kernel.h"
#include "support/scripted_events.h"

namespace pex::test {

/// A kernel that says what it was told to say, behind real file descriptors: a leak is visible, and
/// so is a close. Groups are named by place and leader:
///   "cpu0 cycles"                     the group led by cycles on all of CPU 0
///   "cpu0 /system.slice/a.service cycles"   the same in a cgroup below `cgroup_root`
///   "cpu0 / cycles"                   the same in the root of the cgroups
///   "pid17 cycles"                    the same in one thread, wherever it runs; pid0: in the
///                                     calling one
/// Events of the generic tables by their name, others by what the kernel is told: "type8:0x2".
/// Refuses what the real kernel refuses of Intel's top-down events (intel_pmu_hw_config): a share
/// of the slots (type4:0x8000 to 0x8700) whose leader is not slots (type4:0x400). The shares are
/// read of one register, so they take no place of the PMU.
class ScriptedKernel final : public perf::PerfKernel {
 public:
  explicit ScriptedKernel(std::string cgroup_root = {}) : cgroup_root_(std::move(cgroup_root)) {}

  struct Answer {
    enum class Kind {
      kCounts,
      kEof,       ///< pinned, and off the PMU: its members still tell its numbers; of none, those
                  ///< of the answer before
      kBrokenUp,  ///< the CPU went offline: every event has become a group of its own
      kError,
    };
    Kind kind = Kind::kCounts;
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    std::vector<std::uint64_t> counts;  ///< missing ones are 0, and those of cpu-clock `running`
    int code = 0;                       ///< of kError
    std::set<std::size_t> silent = {};  ///< of kBrokenUp: members that answer nothing
    /// Of kBrokenUp: members that answer for their former leader, and only into room for the whole
    /// group, as before the last fix of perf_group_detach() (5.10, 6.16 to 7.0).
    std::set<std::size_t> detached_badly = {};
  };

  /// What a read of `group` says from now on, until it is told otherwise or the group is opened
  /// again after having said it. Until told, counts are 0; the time of a whole CPU or of the
  /// calling thread goes on with every read, as it does in a real kernel, and that of others stands
  /// still.
  void answer(const std::string& group, Answer answer);

  /// Refuses to open `event` anywhere ("cycles") or as part of one place ("cpu1 /a.service
  /// cycles"), until allowed again (code 0).
  void refuse(const std::string& event, int code);

  /// Refuses `event` in cgroups: its PMU counts whole CPUs only.
  void refuse_in_cgroups(const std::string& event, int code);

  /// Refuses `event` with `code` where `leader` is not in front of it in its group.
  void refuse_unless_behind(const std::string& event, const std::string& leader, int code);

  /// Refuses the generic hardware events without exclude_guest, as Linux 7.0 where KVM gives the
  /// PMU to virtual machines while they run.
  void refuse_with_guests(int code) { with_guests_ = code; }

  /// Whether a virtual machine could have got the PMU there at any moment since the last call: no
  /// generic hardware event without exclude_guest was open.
  bool could_give_guests_the_pmu();

  /// Refuses the member that would make a group larger than the PMU.
  void refuse_groups_larger_than(std::size_t events, int code);

  /// Groups of more events open, and never get a turn on the PMU; pinned groups of the same CPU
  /// take from what there is for the others, and those opened earlier from each other.
  void starve_groups_larger_than(std::size_t events) { largest_running_ = events; }

  /// The groups of a CPU share so many hardware counters: pinned ones have theirs, and of what is
  /// left the others get the same share each, as rotation gives it, when they fit at all.
  void share_counters(std::size_t counters) { shared_counters_ = counters; }

  /// Another program's event of a cgroup that is not running is the first one on `cpu`, so the
  /// kernel's context there is not active, and enabling a group does not activate it: its time
  /// stands still for as long as it is open, as on Linux 6.12 and 6.18. Only an event that is
  /// enabled at its opening activates the context. Hardware has one of its own, as before 6.2.
  void deactivate_contexts(int cpu);

  /// So much time passes: for now(), and for groups of whole CPUs that were not told what to say
  /// and are not disabled.
  void pass(std::chrono::nanoseconds time);
  /// The same, but the times of those groups stand still meanwhile, as they do while the real
  /// kernel switches between cgroups.
  void pass_in_switches(std::chrono::nanoseconds time);

  /// While groups are only tried, the answers are kept for the polls: each counts a little.
  void only_tried(bool trying);

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override;
  Result<> enable_group(int leader_fd) override;
  Result<> disable_group(int leader_fd) override;
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override;
  Result<perf::OpenCounter> open_event(perf::EventAttr& attr,
                                       const perf::EventTarget& target) override;
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument) override;
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable) override {
    return opened_events.map(fd, bytes, offset, writable);
  }
  std::chrono::nanoseconds now() override;

  /// What open_event opened, with their rings. One of them can lead a group that open_event() and,
  /// after that, open() add members to. Read as a whole, its counts are 0, and its time goes on by
  /// 1 ms with every read, unless change_reading changes that.
  ScriptedEvents opened_events;

  std::size_t still_open();                       ///< counters whose descriptors are not closed
  std::size_t opened() const { return opened_; }  ///< since the beginning
  std::size_t enabled(const std::string& group);  ///< how often it was enabled
  bool runs(const std::string& group);            ///< was enabled last, and not disabled
  std::vector<std::string> open_groups();         ///< names of groups whose leader is open
  std::vector<std::string> opened_groups();       ///< in their order, since the beginning

 private:
  struct Counter {
    std::string group;  ///< its name: place and leading event
    std::uint64_t id = 0;
    std::uint64_t leader_id = 0;  ///< own id when it leads; numbers of descriptors are used again
    bool pinned = false;          ///< its group is
    bool whole_cpu = false;
    bool runs_now = false;     ///< its target does: a whole CPU, or the calling thread
    bool is_clock = false;     ///< counts ns while its group is on the PMU
    bool is_hardware = false;  ///< takes a counter of the PMU
    bool counts_guests = false;
    bool is_share = false;  ///< of the slots: in a register of its own
    std::string event;      ///< its name
    bool is_dead = false;   ///< was enabled in a context that was not active
    int cpu = 0;
    std::size_t position = 0;  ///< within its group
    UniqueFd other_end;        ///< of the pipe whose read end was handed out
  };

  struct Told {
    Answer answer;
    bool by_script = false;
    bool was_read = false;
    std::chrono::nanoseconds read_at{};  ///< or opened
    bool is_checked_next = false;  ///< the next reading only ends the opening, and changes nothing
  };

  void start_anew(const std::string& group, bool is_checked);
  void go_on(const Counter& asked, Told& told, std::chrono::nanoseconds more) const;
  std::size_t taken_from(const Counter& asked) const;
  double share_of(const Counter& asked) const;
  void join_group_of(int leader_fd, Counter& member);
  void join(const Counter& leader, Counter& member) const;
  std::optional<std::size_t> opened_leader(int leader_fd);
  std::vector<const Counter*> members_of(std::uint64_t leader_id) const;
  Result<std::size_t> read_opened(std::size_t leader, std::span<std::uint64_t> words);
  std::size_t places_taken(const Counter& member) const;
  int refusal_of(const perf::CounterRequest& request, const std::string& event) const;
  std::vector<std::string> in_front(int leader_fd) const;
  std::vector<const Counter*> read_together(const Counter& asked, const Answer& answer) const;
  Result<std::size_t> read_former_leader(const Counter& asked, const Answer& answer,
                                         std::span<std::uint64_t> words) const;
  std::string place_of(const perf::CounterRequest& request) const;
  bool is_closed(const Counter& counter) const;
  void forget_closed();

  std::string cgroup_root_;
  std::mutex mutex_;
  std::map<int, Counter> counters_;  ///< by descriptor
  std::map<std::string, Told> answers_;
  std::map<std::string, int> refusals_;
  std::map<std::string, int> refusals_in_cgroups_;
  int with_guests_ = 0;
  bool has_counted_guests_ = false;
  std::map<std::string, std::pair<std::string, int>> behind_;  ///< what must be in front of it
  std::map<std::string, std::size_t> enables_;
  std::map<std::string, bool> runs_;
  std::set<std::string> stopped_;  ///< groups that were disabled: their times stand still
  std::vector<std::string> opened_groups_;
  std::size_t largest_group_ = perf::kMaxGroupMembers;
  int too_large_ = 0;  ///< errno for a larger one
  std::size_t largest_running_ = perf::kMaxGroupMembers;
  std::optional<std::size_t> shared_counters_;
  std::set<std::pair<int, bool>> inactive_;  ///< contexts: CPU, and whether it is that of hardware
  std::chrono::nanoseconds now_{};
  bool only_tried_ = false;
  Answer trial_{Answer::Kind::kCounts,
                {},
                {},
                std::vector<std::uint64_t>(perf::kMaxGroupMembers, 1),
                0};  ///< of any group that is only tried
  std::size_t opened_ = 0;
};

}  // namespace pex::test
