#include "perf/linux_perf_kernel.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace pex::perf {
namespace {

/// The layout that decode_group (group_reading.h) expects.
constexpr std::uint64_t kReadFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                      PERF_FORMAT_TOTAL_TIME_RUNNING;

/// perf_event_attr of Linux 6.3, independent of the headers at build time.
struct Attributes {
  perf_event_attr attr{};
#ifndef PERF_ATTR_SIZE_VER8
  std::uint64_t config3 = 0;
#endif
};
constexpr std::uint32_t kSizeWithConfig3 = 136;
static_assert(sizeof(Attributes) >= kSizeWithConfig3);

void set_config3(Attributes& attributes, std::uint64_t config3) {
#ifdef PERF_ATTR_SIZE_VER8
  attributes.attr.config3 = config3;
#else
  attributes.config3 = config3;
#endif
  attributes.attr.size = kSizeWithConfig3;
}

/// Borrows the text of a probe from `request`.
Attributes attributes_of(const CounterRequest& request) {
  Attributes attributes;
  perf_event_attr& attr = attributes.attr;
  attr.size = PERF_ATTR_SIZE_VER7;
  attr.type = request.event.type;
  attr.config = request.event.config;
  attr.read_format = kReadFormat;
  attr.disabled = request.leader_fd < 0 && !request.running;
  attr.pinned = request.pinned;
  attr.exclusive = request.exclusive;
  attr.config1 = request.event.config1;
  attr.config2 = request.event.config2;
  attr.bp_type = request.event.breakpoint;
  if (!request.event.probe.empty()) {
    attr.config1 = reinterpret_cast<std::uintptr_t>(request.event.probe.c_str());
  }
  attr.exclude_user = request.event.exclude_user;
  attr.exclude_kernel = request.event.exclude_kernel;
  attr.exclude_hv = request.event.exclude_hypervisor;
  attr.exclude_idle = request.event.exclude_idle;
  attr.exclude_host = request.event.exclude_host;
  attr.exclude_guest = request.event.exclude_guest;
  if (request.event.config3 != 0) set_config3(attributes, request.event.config3);
  return attributes;
}

Error last_error() { return Error{errno, {}, {}}; }

}  // namespace

Result<OpenCounter> LinuxPerfKernel::open(const CounterRequest& request) {
  Attributes attributes = attributes_of(request);
  const bool in_cgroup = request.cgroup_fd >= 0;
  const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (in_cgroup ? PERF_FLAG_PID_CGROUP : 0);
  const int pid = in_cgroup ? request.cgroup_fd : -1;

  OpenCounter counter{UniqueFd{static_cast<int>(::syscall(
      SYS_perf_event_open, &attributes.attr, pid, request.cpu, request.leader_fd, flags))}};
  if (!counter.fd) return last_error();
  if (::ioctl(counter.fd.get(), PERF_EVENT_IOC_ID, &counter.id) != 0) return last_error();
  if (!request.event.filter.empty() &&
      ::ioctl(counter.fd.get(), PERF_EVENT_IOC_SET_FILTER, request.event.filter.c_str()) != 0) {
    return last_error();
  }
  return counter;
}

Result<> LinuxPerfKernel::enable_group(int leader_fd) {
  if (::ioctl(leader_fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) return last_error();
  return {};
}

Result<> LinuxPerfKernel::disable_group(int leader_fd) {
  if (::ioctl(leader_fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) != 0) return last_error();
  return {};
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
