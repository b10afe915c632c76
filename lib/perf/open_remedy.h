#pragma once

#include <span>
#include <string_view>

#include "base/remedy.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// What an operator can change when opening `request` failed with `code`; empty when there is
/// nothing to advise. The same errno means different things for different requests: one table
/// (open_remedy.cc) holds them all.
const Remedy& open_remedy(int code, const CounterRequest& request);

/// Which requests an entry is about.
enum class RemedySubject {
  kAny,
  kUprobe,
  kBreakpoint,
  kTracepoint,
  kPmuEvent,
  kCgroupEvent,
  kFiltered,
  kConfig3
};

/// For the documents, in Markdown: "scope `cgroup`"; empty: all others.
std::string_view name_of(RemedySubject subject);

/// An entry of that table; the first one that fits is the answer.
struct OpenRemedy {
  int code;  ///< an errno
  RemedySubject subject;
  Remedy remedy;
};
std::span<const OpenRemedy> open_remedies();

}  // namespace pex::perf
