#include "abi/counter_control.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>

#include "base/lookup.h"

namespace pex::perf {
namespace {

struct AttemptEntry {
  EventControl operation;
  const char* words;
};
constexpr AttemptEntry kAttempts[] = {
    {EventControl::kEnable, "enable an event"},
    {EventControl::kDisable, "disable an event"},
    {EventControl::kRefresh, "enable an event for some overflows"},
    {EventControl::kReset, "reset an event"},
    {EventControl::kPeriod, "set the period of an event"},
    {EventControl::kSetOutput, "redirect the records of an event"},
    {EventControl::kSetFilter, "set the filter of an event"},
    {EventControl::kId, "read the id of an event"},
    {EventControl::kSetBpf, "attach a BPF program to an event"},
    {EventControl::kPauseOutput, "pause or resume the records of an event"},
    {EventControl::kQueryBpf, "read the BPF programs of an event"},
    {EventControl::kModifyAttributes, "modify the breakpoint of an event"},
};

std::uint64_t address_of(const void* argument) {
  return reinterpret_cast<std::uintptr_t>(argument);
}

std::uint64_t flags_of(Reach reach) { return reach == Reach::kGroup ? PERF_IOC_FLAG_GROUP : 0; }

/// perf_event_query_bpf, with room for as many programs as a tracepoint can have
/// (BPF_TRACE_MAX_PROGS, kernel/trace/bpf_trace.c). The kernel refuses more room with E2BIG.
constexpr std::uint32_t kMaxPrograms = 64;
struct ProgramQuery {
  std::uint32_t room = kMaxPrograms;
  std::uint32_t programs = 0;
  std::uint32_t ids[kMaxPrograms] = {};
};
static_assert(offsetof(ProgramQuery, ids) == sizeof(perf_event_query_bpf));

Result<> control_own_events(int option, const char* attempted) {
  if (::prctl(option, 0, 0, 0, 0) != 0) return Error{errno, attempted, {}};
  return {};
}

/// The first that applies: a hang-up may come with overflows before it.
struct PollEntry {
  short bits;
  OverflowWait meaning;
};
constexpr PollEntry kPollMeanings[] = {
    {POLLIN, OverflowWait::kOverflow},
    {POLLERR | POLLNVAL, OverflowWait::kFailed},
    {POLLHUP, OverflowWait::kEnded},
};

/// Signals of the kernel whose si_code has meanings of its own (sigaction(2)), with the numbers of
/// POLL_*: TRAP_PERF is POLL_HUP.
constexpr int kSignalsWithCodes[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGCHLD, SIGSYS};

/// The parts of siginfo_t that glibc has no names for, and TRAP_PERF (asm-generic/siginfo.h).
constexpr int kTrapPerf = 6;
constexpr std::uint32_t kTrapPerfFlagAsync = 1;
struct TrapFields {
  unsigned long data;
  std::uint32_t type;
  std::uint32_t flags;
};
constexpr std::size_t kTrapFieldsOffset = offsetof(siginfo_t, si_addr) + sizeof(void*);
static_assert(kTrapFieldsOffset + sizeof(TrapFields) <= sizeof(siginfo_t));

constexpr const char* kSignalAttempt = "have a signal sent at overflows of an event";

Result<> set_async(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC) != 0) {
    return Error{errno, kSignalAttempt, {}};
  }
  return {};
}

}  // namespace

Result<> CounterControl::run(EventControl operation, std::uint64_t argument) const {
  Result<> done = kernel_->control(fd_, operation, argument);
  if (!done) done.error().attempted = lookup(kAttempts, &AttemptEntry::operation, operation)->words;
  return done;
}

Result<> CounterControl::enable(Reach reach) const {
  return run(EventControl::kEnable, flags_of(reach));
}

Result<> CounterControl::disable(Reach reach) const {
  return run(EventControl::kDisable, flags_of(reach));
}

Result<> CounterControl::reset(Reach reach) const {
  return run(EventControl::kReset, flags_of(reach));
}

Result<> CounterControl::refresh(int overflows) const {
  // 0 enables it for ever on today's kernels; the manual calls that undefined.
  if (overflows < 1) return Error{EINVAL, "enable an event for fewer than 1 overflow", {}};
  return run(EventControl::kRefresh, static_cast<std::uint64_t>(overflows));
}

Result<> CounterControl::set_period(std::uint64_t period) const {
  return run(EventControl::kPeriod, address_of(&period));
}

Result<> CounterControl::redirect_output(int event_fd) const {
  if (event_fd < 0) return Error{EBADF, "redirect the records of an event", {}};
  return run(EventControl::kSetOutput, static_cast<std::uint64_t>(event_fd));
}

Result<> CounterControl::discard_output() const {
  return run(EventControl::kSetOutput, static_cast<std::uint64_t>(-1));
}

Result<> CounterControl::pause_output() const { return run(EventControl::kPauseOutput, 1); }

Result<> CounterControl::resume_output() const { return run(EventControl::kPauseOutput, 0); }

Result<> CounterControl::set_filter(const std::string& filter) const {
  return run(EventControl::kSetFilter, address_of(filter.c_str()));
}

Result<std::uint64_t> CounterControl::id() const {
  std::uint64_t id = 0;
  const Result<> done = run(EventControl::kId, address_of(&id));
  if (!done) return done.error();
  return id;
}

Result<> CounterControl::attach_program(int program_fd) const {
  return run(EventControl::kSetBpf, static_cast<std::uint32_t>(program_fd));
}

Result<std::vector<std::uint32_t>> CounterControl::attached_programs() const {
  ProgramQuery query;
  const Result<> done = run(EventControl::kQueryBpf, address_of(&query));
  if (!done) return done.error();
  return std::vector(query.ids, query.ids + std::min(query.programs, kMaxPrograms));
}

Result<> CounterControl::modify(const EventAttr& attr) const {
  return run(EventControl::kModifyAttributes, address_of(&attr));
}

Result<> disable_events_of_this_thread() {
  return control_own_events(PR_TASK_PERF_EVENTS_DISABLE, "disable the events of this thread");
}

Result<> enable_events_of_this_thread() {
  return control_own_events(PR_TASK_PERF_EVENTS_ENABLE, "enable the events of this thread");
}

Result<OverflowWait> wait_for_overflow(int fd, std::chrono::milliseconds timeout) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  pollfd polled{fd, POLLIN, 0};
  const int milliseconds = static_cast<int>(std::clamp<std::int64_t>(timeout.count(), -1, kMax));
  const int ready = ::poll(&polled, 1, milliseconds);
  if (ready < 0 && errno != EINTR) return Error{errno, "wait for an overflow of an event", {}};
  if (ready <= 0) return OverflowWait::kTimeout;
  return overflow_wait_of(polled.revents);
}

OverflowWait overflow_wait_of(short revents) {
  const auto applies = [&](const PollEntry& entry) { return (revents & entry.bits) != 0; };
  const PollEntry* const entry = lookup(kPollMeanings, applies, true);
  return entry == nullptr ? OverflowWait::kTimeout : entry->meaning;
}

Result<> signal_overflows(int fd, int signal, pid_t thread) {
  // F_SETSIG takes 0 for SIGIO without si_fd.
  if (signal < 1) return Error{EINVAL, kSignalAttempt, {}};
  const f_owner_ex owner{F_OWNER_TID, thread};
  if (::fcntl(fd, F_SETOWN_EX, &owner) != 0 || ::fcntl(fd, F_SETSIG, signal) != 0) {
    return Error{errno, kSignalAttempt, {}};
  }
  return set_async(fd, true);
}

Result<> stop_signals(int fd) { return set_async(fd, false); }

std::optional<OverflowSignal> overflow_of(const siginfo_t& info) {
  const bool has_own_codes =
      std::ranges::find(kSignalsWithCodes, info.si_signo) != std::end(kSignalsWithCodes);
  if (has_own_codes) return {};
  switch (info.si_code) {
    case POLL_IN:
      return OverflowSignal{.fd = info.si_fd};
    case POLL_HUP:
      return OverflowSignal{.fd = info.si_fd, .is_last = true};
    case POLL_ERR:
      return OverflowSignal{.fd = info.si_fd, .has_failed = true};
    default:
      return {};
  }
}

std::optional<OverflowTrap> trap_of(const siginfo_t& info) noexcept {
  if (info.si_signo != SIGTRAP || info.si_code != kTrapPerf) return {};
  TrapFields fields;
  std::memcpy(&fields, reinterpret_cast<const char*>(&info) + kTrapFieldsOffset, sizeof fields);
  return OverflowTrap{.data = fields.data,
                      .type = fields.type,
                      .address = reinterpret_cast<std::uintptr_t>(info.si_addr),
                      .is_late = (fields.flags & kTrapPerfFlagAsync) != 0};
}

}  // namespace pex::perf
