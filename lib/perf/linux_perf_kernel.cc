#include "perf/linux_perf_kernel.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <utility>

namespace pex::perf {
namespace {

/// The layout that decode_group (group_reading.h) expects.
constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                      PERF_FORMAT_TOTAL_TIME_RUNNING;

static_assert(offsetof(EventAttr, flags) == offsetof(perf_event_attr, read_format) + 8 &&
              offsetof(EventAttr, clockid) == offsetof(perf_event_attr, clockid) &&
              offsetof(EventAttr, sample_max_stack) ==
                  offsetof(perf_event_attr, sample_max_stack) &&
              offsetof(EventAttr, sig_data) == offsetof(perf_event_attr, sig_data) &&
              sizeof(perf_event_attr) >= kAttrSizeVer7);

std::uint64_t flags_of(const CounterRequest& request) {
  const std::pair<AttrFlag, bool> flags[] = {
      {AttrFlag::kDisabled, request.leader_fd < 0 && !request.running},
      {AttrFlag::kInherit, request.inherit},
      {AttrFlag::kPinned, request.pinned},
      {AttrFlag::kExclusive, request.exclusive},
      {AttrFlag::kEnableOnExec, request.enable_on_exec},
  };
  std::uint64_t word = 0;
  for (const auto& [flag, is_set] : flags) word |= is_set ? attr_flag(flag) : 0;
  return word;
}

/// Borrows the text of a probe from `request`.
EventAttr attributes_of(const CounterRequest& request) {
  EventAttr attr = attr_of(request.event);
  attr.size = attr.config3 == 0 ? kAttrSizeVer7 : kAttrSizeVer8;
  attr.read_format = kReadFormat;
  attr.flags |= flags_of(request);
  return attr;
}

EventTarget target_of(const CounterRequest& request) {
  const bool in_cgroup = request.cgroup_fd >= 0;
  return {in_cgroup ? request.cgroup_fd : request.pid, request.cpu, request.leader_fd,
          in_cgroup ? PERF_FLAG_PID_CGROUP : 0};
}

/// In the order of EventControl.
constexpr unsigned long kControls[] = {
    PERF_EVENT_IOC_ENABLE,       PERF_EVENT_IOC_DISABLE,   PERF_EVENT_IOC_REFRESH,
    PERF_EVENT_IOC_RESET,        PERF_EVENT_IOC_PERIOD,    PERF_EVENT_IOC_SET_OUTPUT,
    PERF_EVENT_IOC_SET_FILTER,   PERF_EVENT_IOC_ID,        PERF_EVENT_IOC_SET_BPF,
    PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF, PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
};

Error last_error() { return Error{errno, {}, {}}; }

/// For parentheses and quotes without their other half the kernel returns -1, -2 or -3, which are
/// no errno (calc_stack() in kernel/trace/trace_events_filter.c).
Error error_of_filter(Error error) {
  if (error.code == EPERM || error.code == ENOENT || error.code == ESRCH) error.code = EINVAL;
  return error;
}

}  // namespace

Result<OpenCounter> LinuxPerfKernel::open(const CounterRequest& request) {
  EventAttr attr = attributes_of(request);
  Result<OpenCounter> counter = open_event(attr, target_of(request));
  if (!counter || request.event.filter.empty()) return counter;
  const auto filter = reinterpret_cast<std::uintptr_t>(request.event.filter.c_str());
  const Result<> filtered = control(counter->fd.get(), EventControl::kSetFilter, filter);
  if (!filtered) return filtered.error();
  return counter;
}

Result<OpenCounter> LinuxPerfKernel::open_event(EventAttr& attr, const EventTarget& target) {
  OpenCounter counter{
      UniqueFd{static_cast<int>(::syscall(SYS_perf_event_open, &attr, target.pid, target.cpu,
                                          target.group_fd, target.flags | PERF_FLAG_FD_CLOEXEC))}};
  if (!counter.fd) return last_error();
  if (::ioctl(counter.fd.get(), PERF_EVENT_IOC_ID, &counter.id) != 0) return last_error();
  return counter;
}

Result<> LinuxPerfKernel::control(int fd, EventControl operation, std::uint64_t argument) {
  const unsigned long request = kControls[static_cast<std::size_t>(operation)];
  if (::ioctl(fd, request, static_cast<unsigned long>(argument)) >= 0) return {};
  return operation == EventControl::kSetFilter ? error_of_filter(last_error()) : last_error();
}

Result<Mapping> LinuxPerfKernel::map(int fd, std::size_t bytes, std::size_t offset, bool writable) {
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* const start =
      ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return last_error();
  return Mapping{start, bytes};
}

Result<std::size_t> LinuxPerfKernel::read_group(int leader_fd, std::span<std::uint64_t> words) {
  const ssize_t bytes = ::read(leader_fd, words.data(), words.size_bytes());
  if (bytes < 0) return last_error();
  return static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
}

std::chrono::nanoseconds LinuxPerfKernel::now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace pex::perf
