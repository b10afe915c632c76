#include "exposition/metric_names.h"

namespace pex::exposition {

std::string family_name(Scope scope, const perf::EventSpec& event) {
  const std::string unit = event.unit == perf::Unit::kNanoseconds ? "_seconds" : "";
  return (scope == Scope::kCpu ? "perf_cpu_" : "perf_cgroup_") + event.metric + unit + "_total";
}

std::string family_help(Scope scope, const perf::EventSpec& event) {
  return event.help + " Event " + event.name +
         (scope == Scope::kCpu ? ", by CPU." : ", by cgroup with its children, over all CPUs.");
}

}  // namespace pex::exposition
