#include "perf/linux_perf_kernel.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace pex::perf {
namespace {

/// The layout that decode_group (group_reading.h) expects.
constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                      PERF_FORMAT_TOTAL_TIME_RUNNING;

perf_event_attr attributes_of(const CounterRequest& request) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = request.event.type;
  attr.config = request.event.config;
  attr.read_format = kReadFormat;
  attr.disabled = request.leader_fd < 0;
  attr.pinned = request.pinned;
  attr.exclude_user = request.event.exclude_user;
  attr.exclude_kernel = request.event.exclude_kernel;
  attr.exclude_hv = request.event.exclude_hypervisor;
  return attr;
}

Error last_error() { return Error{errno, {}, {}}; }

}  // namespace

Result<OpenCounter> LinuxPerfKernel::open(const CounterRequest& request) {
  perf_event_attr attr = attributes_of(request);
  const bool in_cgroup = request.cgroup_fd >= 0;
  const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (in_cgroup ? PERF_FLAG_PID_CGROUP : 0);
  const int pid = in_cgroup ? request.cgroup_fd : -1;

  OpenCounter counter{UniqueFd{static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, pid, request.cpu, request.leader_fd, flags))}};
  if (!counter.fd) return last_error();
  if (::ioctl(counter.fd.get(), PERF_EVENT_IOC_ID, &counter.id) != 0) return last_error();
  return counter;
}

Result<> LinuxPerfKernel::enable_group(int leader_fd) {
  if (::ioctl(leader_fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) return last_error();
  return {};
}

Result<std::size_t> LinuxPerfKernel::read_group(int leader_fd, std::span<std::uint64_t> words) {
  const ssize_t bytes = ::read(leader_fd, words.data(), words.size_bytes());
  if (bytes < 0) return last_error();
  return static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
}

}  // namespace pex::perf
