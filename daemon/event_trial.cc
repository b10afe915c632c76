#include "daemon/event_trial.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "perf/open_remedy.h"
#include "perf/required_leader.h"

namespace pex::daemon {
namespace {

std::optional<perf::CounterSpec> find_leader(const perf::RequiredLeader& needed,
                                             std::span<const perf::EventSpec> group) {
  for (const perf::EventSpec& event : group) {
    for (const perf::EventInstance& instance : event.instances) {
      if (perf::is_leader(needed, instance.attributes)) {
        return perf::CounterSpec{event.identity.name, instance.attributes};
      }
    }
  }
  return {};
}

/// The words of a refusal that the group's own place in the configuration explains best.
Error lacks_leader(const perf::RequiredLeader& needed) {
  const std::string& leader = needed.counter.name;
  return Error{needed.refusal, "the kernel counts it only behind '" + leader + "' in its group",
               "add " + leader + " to the group"};
}

}  // namespace

bool is_lasting(int code) {
  static constexpr int kLasting[] = {ENOENT, EOPNOTSUPP, EINVAL, EACCES,
                                     EPERM,  ENOSYS,     E2BIG,  ENODATA};
  return std::find(std::begin(kLasting), std::end(kLasting), code) != std::end(kLasting);
}

Result<> try_event(perf::PerfKernel& kernel, const perf::CounterSpec& event,
                   const perf::Place& place, const perf::CounterSpec* leader) {
  perf::CounterRequest request;
  request.cpu = place.cpu;
  request.cgroup_fd = place.cgroup_fd;
  UniqueFd first;
  for (const perf::CounterSpec* each : {leader, &event}) {
    if (each == nullptr) continue;
    request.event = each->attributes;
    Result<perf::OpenCounter> counter = kernel.open(request);
    if (!counter) {
      const int code = counter.error().code;
      return Error{code, "open event '" + each->name + "'",
                   std::string(perf::open_remedy(code, request))};
    }
    first = std::move(counter->fd);
    request.leader_fd = first.get();
  }
  return {};
}

std::optional<Error> EventTrials::refusal(std::span<const perf::EventSpec> group,
                                          std::size_t event) {
  for (const perf::EventInstance& instance : group[event].instances) {
    const perf::CounterSpec counter{group[event].identity.name, instance.attributes};
    if (const auto refused = refusal(counter, cpus_.of(instance.pmu), group)) return refused;
  }
  return {};
}

std::optional<Error> EventTrials::refusal(const perf::CounterSpec& event, int cpu,
                                          std::span<const perf::EventSpec> group) {
  Result<> tried = try_event(kernel_, event, {cpu, -1, {}});
  const auto needed = perf::required_leader(resolver_.pmus(), event.attributes);
  if (!tried && needed && needed->refusal == tried.error().code) {
    const std::optional<perf::CounterSpec> leader = find_leader(*needed, group);
    if (!leader) return lacks_leader(*needed);
    tried = try_event(kernel_, event, {cpu, -1, {}}, &*leader);
  }
  if (tried || !is_lasting(tried.error().code)) return {};
  return Error{tried.error().code, {}, tried.error().remedy};
}

}  // namespace pex::daemon
