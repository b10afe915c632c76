#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "perf/group_reading.h"
#include "perf/perf_kernel.h"

namespace pex::test {

/// A kernel that says what it was told to say, behind real file descriptors: a leak is visible, and
/// so is a close. Groups are named by place and leader:
///   "cpu0 cycles"                     the group led by cycles on all of CPU 0
///   "cpu0 /system.slice/a.service cycles"   the same in a cgroup below `cgroup_root`
class ScriptedKernel final : public perf::PerfKernel {
 public:
  explicit ScriptedKernel(std::string cgroup_root = {}) : cgroup_root_(std::move(cgroup_root)) {}

  struct Answer {
    enum class Kind {
      kCounts,
      kEof,       ///< pinned, and off the PMU
      kBrokenUp,  ///< the CPU went offline: every event has become a group of its own
      kError,
    };
    Kind kind = Kind::kCounts;
    std::chrono::nanoseconds enabled{};
    std::chrono::nanoseconds running{};
    std::vector<std::uint64_t> counts;  ///< missing ones are 0
    int code = 0;                       ///< of kError
  };

  /// What a read of `group` says from now on, until it is told otherwise or the group is opened
  /// anew after having said it. Until told, counts are 0; the time of a whole CPU goes on with
  /// every read, as it does in a real kernel, and that of a cgroup stands still.
  void answer(const std::string& group, Answer answer);

  /// Refuses to open `event` anywhere ("cycles") or as part of one place ("cpu1 /a.service
  /// cycles"), until allowed again (code 0).
  void refuse(const std::string& event, int code);

  /// Refuses the member that would make a group larger than the PMU.
  void refuse_groups_larger_than(std::size_t events, int code);

  Result<perf::OpenCounter> open(const perf::CounterRequest& request) override;
  Result<> enable_group(int leader_fd) override;
  Result<std::size_t> read_group(int leader_fd, std::span<std::uint64_t> words) override;

  std::size_t still_open();                       ///< counters whose descriptors are not closed
  std::size_t opened() const { return opened_; }  ///< since the beginning
  std::size_t enabled(const std::string& group);  ///< how often it was enabled
  std::vector<std::string> open_groups();         ///< names of groups whose leader is open

 private:
  struct Counter {
    std::string place;  ///< "cpu0" or "cpu0 /path"
    std::string event;
    std::uint64_t id = 0;
    int leader_fd = -1;        ///< own number when it leads
    std::size_t position = 0;  ///< within its group
    UniqueFd other_end;        ///< of the pipe whose read end was handed out
  };

  struct Told {
    Answer answer;
    bool by_script = false;
    bool was_read = false;
  };

  void start_anew(const std::string& group);
  std::string place_of(const perf::CounterRequest& request) const;
  bool is_closed(const Counter& counter) const;
  void forget_closed();

  std::string cgroup_root_;
  std::mutex mutex_;
  std::map<int, Counter> counters_;  ///< by descriptor
  std::map<std::string, Told> answers_;
  std::map<std::string, int> refusals_;
  std::map<std::string, std::size_t> enables_;
  std::size_t largest_group_ = perf::kMaxGroupEvents;
  int too_large_ = 0;  ///< errno for a larger one
  std::size_t opened_ = 0;
};

}  // namespace pex::test
