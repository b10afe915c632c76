#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "perf/perf_kernel.h"

namespace pex::test {

/// Events that open, that are told what to do and whose rings are mapped, without a kernel: their
/// descriptors are pipes, and their rings files in memory, which the test writes to as the kernel
/// would. All that is opened counts nothing.
class ScriptedEvents {
 public:
  /// An open event, and what was asked for when it was opened.
  struct Event {
    perf::EventAttr attr;
    perf::EventTarget target;
    std::uint64_t id = 0;
    std::optional<std::size_t> leader;  ///< the number of the event whose group it is a member of
    /// The whole mapping: control page, ring and what follows; empty until it is mapped.
    perf::Mapping memory;
    bool is_writable = false;  ///< was mapped so
    bool is_paused = false;    ///< by kPauseOutput
    bool is_dead = false;      ///< was enabled in a context that was not active (ScriptedKernel)
    bool is_stopped = false;   ///< the group that it leads was disabled (ScriptedKernel)
    std::uint64_t reads = 0;   ///< of that group, while it was not
    UniqueFd file;             ///< of the memory
    UniqueFd other_end;        ///< of the pipe whose read end was handed out

    perf_event_mmap_page* page() const;
  };

  /// One call of control, in the order of the calls.
  struct Control {
    std::size_t event;  ///< its number
    perf::EventControl operation;
    std::uint64_t argument;

    bool operator==(const Control&) const = default;
  };

  /// Called before an event opens, may change what it says (its size, with E2BIG); not 0: an errno
  /// to fail with.
  std::function<int(perf::EventAttr&, const perf::EventTarget&)> refuse_open;
  std::function<int(const Control&)> refuse_control;
  std::function<int(std::size_t bytes, std::size_t offset)> refuse_map;
  /// Called when the group that an event leads is read, with the words that are returned otherwise
  /// (ScriptedKernel::read_group), and may change them; not 0: an errno to fail with.
  std::function<int(std::size_t event, std::vector<std::uint64_t>& words)> change_reading;

  Result<perf::OpenCounter> open(perf::EventAttr& attr, const perf::EventTarget& target);
  Result<> control(int fd, perf::EventControl operation, std::uint64_t argument);
  Result<perf::Mapping> map(int fd, std::size_t bytes, std::size_t offset, bool writable);

  Event& at(std::size_t number);  ///< in the order of opening
  /// The number of the event that has this descriptor; nothing if none had.
  std::optional<std::size_t> number_of(int fd);
  /// The ids of those in the group that it leads, in the order of opening; closed ones as well.
  std::vector<std::uint64_t> member_ids(std::size_t leader);
  /// All of them whose descriptors are not closed.
  std::vector<std::size_t> still_open();
  std::size_t opened();
  std::vector<Control> controls();

 private:
  Event* find(int fd, std::size_t& number);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Event>> events_;
  std::map<int, std::size_t> by_fd_;  ///< the last one of each descriptor: they are used again
  std::vector<Control> controls_;
};

}  // namespace pex::test
