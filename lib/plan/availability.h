#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "plan/plan.h"

namespace pex::plan {

struct Available {
  bool everywhere = true;  ///< in every group of the scope that lists the event
  Error reason = {};       ///< if not: that of the first group that lacks it, as is
  perf::Truth truth = perf::Truth::kUnknown;  ///< a lie if that is the reason
};
/// By event and scope, for each configured event. Without events whose availability is unknown, as
/// there is no cgroup to try them in, and without those that an optional group lacks.
std::map<std::pair<std::string, Scope>, Available> availability(const Plan& plan);

/// Configured events that this machine does not count, with one common reason; without those that
/// an optional group lacks.
struct LeftOut {
  Error reason;
  std::vector<std::string> events;  ///< each once, as are
  std::vector<std::string> groups;  ///< groups that they belong to
};
std::vector<LeftOut> by_reason(const Plan& plan);

/// One for each reason why something is left out, with everything it concerns: the kernel often
/// refuses ten events for the same reason. Also reports if nothing remains.
std::vector<Error> left_out(const Plan& plan);

/// The same, each as one line.
std::vector<std::string> left_out_lines(const Plan& plan, ProgramWords words = library_words);

}  // namespace pex::plan
