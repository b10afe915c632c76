#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// The error of opening `request`, with its cause and with what an operator can change; both are
/// empty for codes that the table in open_remedy.cc does not have. The same errno has different
/// causes for different requests.
Error open_error(int code, std::string attempted, const CounterRequest& request);

/// Whether somebody can change what `code`, an errno, reports: rights, limits, other programs, the
/// configuration. False: the hardware or the kernel lacks the event. 0, for a reason without an
/// errno, can be changed.
bool can_be_remedied(int code);

/// The requests that an entry applies to.
enum class RemedySubject {
  kAny,
  kUprobe,
  kProbe,  ///< uprobes included
  kBreakpoint,
  kKernelBreakpoint,        ///< at an address of the kernel
  kKernelBreakpointOfUser,  ///< the same, in user mode only
  kTracepoint,
  kPmuEvent,
  kGuestEvent,  ///< of hardware, and not only outside of virtual machines
  kCgroupEvent,
  kOthersTask,  ///< of a process that host::is_of_this_user() does not know as the user's own
  kTaskEvent,
  kTaskPmuEvent,
  kFiltered,
  kConfig3
};

/// For the documents, in Markdown: "scope `cgroup`"; empty: all others.
std::string_view name_of(RemedySubject subject);

/// An entry of that table; the first applicable one is used.
struct OpenRemedy {
  int code;  ///< an errno
  RemedySubject subject;
  std::string_view cause;
  Remedy remedy;
};
std::span<const OpenRemedy> open_remedies();

}  // namespace pex::perf
