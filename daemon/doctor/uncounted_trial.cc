#include "daemon/doctor/uncounted_trial.h"

#include <thread>
#include <vector>

#include "base/utf8.h"
#include "daemon/cli/table_text.h"
#include "plan/load_plan.h"

namespace pex::daemon {

std::optional<cgroup::UncountedUse::Use> measure_uncounted(const cgroup::Hierarchy& hierarchy,
                                                           const collect::TargetSet& targets,
                                                           std::chrono::nanoseconds span) {
  std::vector<cgroup::UncountedUse::Counted> counted;
  for (const collect::CgroupTarget& target : targets.cgroups) counted.push_back({target.path});
  cgroup::UncountedUse use = plan::uncounted_use(hierarchy);
  if (!use.update(counted, cgroup::UncountedUse::Clock::now())) return {};
  std::this_thread::sleep_for(span);
  return use.update(counted, cgroup::UncountedUse::Clock::now());
}

std::string describe(const cgroup::UncountedUse::Rate& rate) {
  return with_decimals(rate.cpus, 2) + " CPUs, " + with_decimals(100 * rate.share, 1) +
         " % of the CPU time of this machine";
}

std::string describe(const cgroup::UncountedUse::Part& part, const cgroup::Selection& selection) {
  return with_decimals(part.rate.cpus, 2) + " CPUs, " + with_decimals(100 * part.rate.share, 1) +
         " %: " + as_label_value(part.text()) + " (" + cgroup::why_uncounted(part, selection) + ")";
}

}  // namespace pex::daemon
