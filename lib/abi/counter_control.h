#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "perf/event_attr.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// The events that an operation applies to (PERF_IOC_FLAG_GROUP).
enum class Reach {
  kEvent,  ///< this one. A leader's state decides whether its members count
  kGroup,  ///< it, its leader and all other members
};

/// What can be done to one open event: the 12 ioctls of perf_event_open(2), "perf_event ioctl
/// calls". Borrows the kernel and the descriptor. Each error has the errno of ioctl(2); a
/// descriptor that is no event's gives ENOTTY. Errors that depend on the event are at each
/// function; those were seen on Linux 6.18.
///
/// Example:
///   const CounterControl control{kernel, event->fd.get()};
///   const bool is_on = control.reset() && control.enable();
///   if (is_on && control.disable()) std::cout << "event " << *control.id() << " has counted\n";
class CounterControl {
 public:
  CounterControl(PerfKernel& kernel, int fd) : kernel_(&kernel), fd_(fd) {}

  Result<> enable(Reach reach = Reach::kEvent) const;
  Result<> disable(Reach reach = Reach::kEvent) const;
  /// Counts become 0; time_enabled and time_running go on.
  Result<> reset(Reach reach = Reach::kEvent) const;

  /// Enables the event for `overflows` more overflows, at least 1, added to those that are left; it
  /// is disabled at the last one. EINVAL: no sampling event, or an inherited one.
  Result<> refresh(int overflows) const;

  /// Takes effect at once, since Linux 3.14. In events, or, of an event with the flag freq, in
  /// samples a second. EINVAL: no sampling event, 0, a period of 2^63 and more, or a frequency
  /// above kernel.perf_event_max_sample_rate.
  Result<> set_period(std::uint64_t period) const;

  /// Records go into the ring of `event_fd`, which must be mapped. EINVAL: it is not, or this event
  /// is; another CPU, thread, clock or write direction; or the event itself.
  Result<> redirect_output(int event_fd) const;
  /// Records go nowhere.
  Result<> discard_output() const;
  /// The kernel discards records as lost until resume_output(), so that the ring does not change
  /// while it is read. EINVAL: no ring is mapped.
  Result<> pause_output() const;
  Result<> resume_output() const;

  /// Of a tracepoint: a condition on its fields, "prev_prio < 100"
  /// (Documentation/trace/events.rst); of a PMU with address filters: ranges of code
  /// (perf-record(1), --filter). EINVAL: neither, or it cannot be parsed, or the file of a range
  /// does not exist; EEXIST: the tracepoint's event has a filter.
  Result<> set_filter(const std::string& filter) const;

  /// As samples and group reads contain it. Unique, never 0.
  Result<std::uint64_t> id() const;

  /// Runs a BPF program: at each hit of a tracepoint or probe, before its event counts; of other
  /// events at each overflow, instead of a record if it returns 0. EINVAL: a program of another
  /// type; EEXIST: the event has one; EBADF: no descriptor.
  Result<> attach_program(int program_fd) const;
  /// Ids of the programs of all events of the same tracepoint. EINVAL: no tracepoint; EPERM:
  /// CAP_PERFMON is missing.
  Result<std::vector<std::uint32_t>> attached_programs() const;

  /// Moves a breakpoint: address, length, access and the flag disabled are taken from `attr`; all
  /// else must be as the event was opened, or EINVAL. EOPNOTSUPP: no breakpoint.
  Result<> modify(const EventAttr& attr) const;

 private:
  Result<> run(EventControl operation, std::uint64_t argument) const;

  PerfKernel* kernel_;
  int fd_;
};

/// Stops and starts all events that the calling thread has opened, whichever task or CPU they
/// count, and groups with all members (prctl(2), PR_TASK_PERF_EVENTS_*). Enables also those that
/// were disabled otherwise. Events that others opened for this thread go on. Never fails, if the
/// kernel has perf.
Result<> disable_events_of_this_thread();
Result<> enable_events_of_this_thread();

// Overflows. An event overflows when it has counted a full sampling period, so only sampling events
// do.

/// What poll(2) reports of an event.
enum class OverflowWait {
  kOverflow,  ///< POLLIN: as many records were written as wakeup_events or wakeup_watermark says,
              ///< since the last such answer
  kTimeout,   ///< the time is over, or a signal handler ran
  kEnded,     ///< POLLHUP: its thread has ended, or no ring is mapped, without which poll(2)
              ///< reports nothing else
  kFailed,    ///< POLLERR: a pinned event lost its counter, or its PMU is gone; since Linux 6.15
};
/// Waits up to `timeout`; negative: without limit. The last overflow of refresh() is reported as
/// any other, and nothing after it. Fails as poll(2) does.
Result<OverflowWait> wait_for_overflow(int fd, std::chrono::milliseconds timeout);
/// The meaning of pollfd::revents, for those that wait for other descriptors as well; 0 is
/// kTimeout.
OverflowWait overflow_wait_of(short revents);

/// Sends `signal` to `thread` (gettid(2)) at each overflow; needs no ring. A realtime signal is
/// queued, so that each overflow arrives, unless RLIMIT_SIGPENDING is reached: then SIGIO comes
/// instead. EINVAL: no such signal, or 0; ESRCH: no such thread.
Result<> signal_overflows(int fd, int signal, pid_t thread);
Result<> stop_signals(int fd);

/// The reason for a signal of signal_overflows().
struct OverflowSignal {
  int fd = -1;              ///< of the event
  bool is_last = false;     ///< POLL_HUP: refresh() is over and the event disabled, or its thread
                            ///< ended
  bool has_failed = false;  ///< POLL_ERR, no overflow: a pinned event lost its counter; since Linux
                            ///< 6.15

  bool operator==(const OverflowSignal&) const = default;
};
/// Nothing if `info` is not of an event. Other descriptors with F_SETSIG send the same codes, so
/// compare fd. May be called in a signal handler.
std::optional<OverflowSignal> overflow_of(const siginfo_t& info);

/// An overflow of an event with SamplingRequest::sigtrap. Its thread gets the signal before it is
/// in user mode again: right after the access to a breakpoint, or at the end of the system call in
/// which the event happened. All overflows until then share one signal, which reports the first,
/// and so do all while SIGTRAP is blocked. Before Linux 5.19, an overflow while SIGTRAP is blocked
/// ends the process.
struct OverflowTrap {
  std::uint64_t data = 0;      ///< si_perf_data: sig_data; its lower half where a long has 32 bits
  std::uint32_t type = 0;      ///< si_perf_type: the type that the event was opened with
  std::uintptr_t address = 0;  ///< si_addr: what a breakpoint or a page fault accessed, or 0
  bool is_late = false;  ///< TRAP_PERF_FLAG_ASYNC: SIGTRAP was blocked, so the thread has gone on

  bool operator==(const OverflowTrap&) const = default;
};
/// Nothing if `info` is of another signal, or of another SIGTRAP, such as a debugger's. May be
/// called in a signal handler.
std::optional<OverflowTrap> trap_of(const siginfo_t& info) noexcept;

}  // namespace pex::perf
