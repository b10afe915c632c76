#pragma once

namespace pex::perf {

/// What is done to an open event: the ioctls of perf_event_open(2), "perf_event ioctl calls". The
/// argument that PerfKernel::control takes is in parentheses; none is 0.
///
/// Example:
///   const Result<> stopped = kernel.control(event->fd.get(), EventControl::kDisable, 0);
///   if (!stopped) std::cerr << describe(stopped.error()) << '\n';
enum class EventControl {
  kEnable,            ///< (0, or PERF_IOC_FLAG_GROUP)
  kDisable,           ///< (0, or PERF_IOC_FLAG_GROUP)
  kRefresh,           ///< (how many more overflows, until it is disabled)
  kReset,             ///< (0, or PERF_IOC_FLAG_GROUP); the count, not the times
  kPeriod,            ///< (address of a std::uint64_t: the new period, or frequency)
  kSetOutput,         ///< (descriptor of the event whose ring is shared, or -1 for none)
  kSetFilter,         ///< (address of the text)
  kId,                ///< (address of a std::uint64_t, which receives the id)
  kSetBpf,            ///< (descriptor of the program)
  kPauseOutput,       ///< (1: the kernel writes no records any more; 0: it does)
  kQueryBpf,          ///< (address of a perf_event_query_bpf)
  kModifyAttributes,  ///< (address of an EventAttr)
};

}  // namespace pex::perf
