#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "plan/plan.h"

namespace pex::plan {

/// Whether each configured event is counted in every group of the scope that lists it. An event for
/// which that is not known, as there is no cgroup to try it in, is not in the result.
std::map<std::pair<std::string, Scope>, bool> availability(const Plan& plan);

/// Configured events that this machine does not count, for one and the same reason.
struct LeftOut {
  Error reason;
  std::vector<std::string> events;  ///< each once, as are
  std::vector<std::string> groups;  ///< those that they belong to
};
std::vector<LeftOut> by_reason(const Plan& plan);

/// One for each reason why something is left out, naming all that it concerns: the kernel often
/// refuses ten events for the same reason. It also says so when nothing is left.
std::vector<Error> left_out(const Plan& plan);

/// The same, each as one line.
std::vector<std::string> left_out_lines(const Plan& plan, ProgramWords words = library_words);

}  // namespace pex::plan
