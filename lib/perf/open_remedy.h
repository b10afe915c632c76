#pragma once

#include <span>
#include <string_view>

#include "base/remedy.h"
#include "perf/perf_kernel.h"

namespace pex::perf {

/// What an operator can change if opening `request` failed with `code`; empty if there is nothing
/// to advise. The same errno has different causes for different requests; open_remedy.cc has a
/// table of them.
const Remedy& open_remedy(int code, const CounterRequest& request);

/// The requests that an entry applies to.
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

/// An entry of that table; the first applicable one is used.
struct OpenRemedy {
  int code;  ///< an errno
  RemedySubject subject;
  Remedy remedy;
};
std::span<const OpenRemedy> open_remedies();

}  // namespace pex::perf
