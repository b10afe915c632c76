#include "bench/poll/data_path.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bench/support/cost.h"
#include "bench/support/synthetic_snapshot.h"

namespace pex::bench {
namespace {

/// Of no file: nothing is opened in it.
constexpr int kDirectory = 1 << 27;

/// Containers that are there, on as many CPUs.
collect::TargetSet targets_of(const collect::TargetSet& synthetic, int cpus) {
  collect::TargetSet targets = synthetic;
  collect::MachineCpus machine;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    machine.online.push_back(cpu);
    machine.places[cpu] = {.cpu = cpu};
  }
  targets.cpus = std::make_shared<const collect::MachineCpus>(std::move(machine));
  cgroup::CgroupNames::Map names;
  for (collect::CgroupTarget& target : targets.cgroups) {
    names.emplace(target.series, target.path);
    cgroup::Cgroup cgroup;
    cgroup.path = target.path;
    cgroup.id = target.series;
    cgroup.directory.reset(kDirectory);
    target.cgroup = std::make_shared<const cgroup::Cgroup>(std::move(cgroup));
  }
  targets.names =
      std::make_shared<const cgroup::CgroupNames>(cgroup::CgroupNames{}.with(names));
  return targets;
}

}  // namespace

Counted counted_on(const Machine& machine, bool shares_pmu) {
  const collect::Snapshot synthetic = synthetic_snapshot(
      {.name = "", .cgroups = machine.cgroups, .cpus = 0, .events = Machine::kEvents});
  collect::CountingPlan plan = *synthetic.plan;
  for (collect::GroupPlan& group : plan.cgroup.groups) group.shares_pmu = shares_pmu;
  return {std::make_shared<const collect::CountingPlan>(std::move(plan)),
          std::make_shared<const collect::TargetSet>(targets_of(*synthetic.targets, machine.cpus))};
}

DataPath::DataPath(Counted counted, const Machine& machine, const MakeSource& make_source)
    : counted_(std::move(counted)),
      models_(std::make_unique<collect::EventModels>(*counted_.plan)),
      ledger_(counted_.plan) {
  ledger_.follow(counted_.targets);
  for (int cpu = 0; cpu < machine.cpus; ++cpu) {
    cycles_.push_back(std::make_unique<collect::PollCycle>(make_source(cpu), counted_.plan, cpu));
    ledger_.add_cpu(cpu);
  }
}

void DataPath::open() {
  for (const auto& cycle : cycles_) {
    (void)cycle->run(counted_.targets, *models_);
    ledger_.add(*cycle);
  }
}

PollTimes DataPath::poll() {
  PollTimes times;
  for (std::size_t cpu = 0; cpu < cycles_.size(); ++cpu) {
    const double poll =
        microseconds_of([&] { (void)cycles_[cpu]->run(counted_.targets, *models_); });
    times.all_polls += poll;
    times.poll = std::max(times.poll, poll);
  }
  return times;
}

std::size_t DataPath::open_targets() const {
  std::size_t open = 0;
  for (const auto& cycle : cycles_) {
    const collect::TargetGroups& group = cycle->groups_of_cgroups().front();
    for (std::size_t target = 0; target < group.size(); ++target) open += group.is_open(target);
  }
  return open;
}

void DataPath::look(const Targets& targets) {
  counted_.targets = targets;
  ledger_.follow(targets);
  for (const auto& cycle : cycles_) {
    (void)cycle->reconcile(targets, *models_);
    ledger_.add(*cycle);
  }
}

JoinTimes DataPath::join() {
  std::vector<collect::PollCycle*> parts;
  for (const auto& cycle : cycles_) parts.push_back(cycle.get());
  std::optional<collect::Joining> joining;
  JoinTimes times;
  times.prepare = microseconds_of([&] { joining.emplace(ledger_, parts); });
  for (std::size_t piece = 0; piece < joining->pieces(); ++piece) {
    const double time = microseconds_of([&] { joining->add(piece); });
    times.all += time;
    times.piece = std::max(times.piece, time);
  }
  const std::size_t each = (joining->pieces() + cycles_.size() - 1) / cycles_.size();
  times.prepare += microseconds_of([&] { joined_ = joining->take(*models_); });
  times.longest = times.prepare + times.piece * static_cast<double>(each);
  return times;
}

}  // namespace pex::bench
