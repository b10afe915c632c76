#include "bench/switch/counter_set.h"

#include <future>
#include <utility>
#include <vector>

#include "collect/budget.h"
#include "config/load.h"
#include "host/self_process.h"
#include "plan/availability.h"

namespace pex::bench {
namespace {

/// Polls, and waits until it has been published.
collect::PollReport poll_and_wait(collect::Collector& collector) {
  const auto published = std::make_shared<std::promise<collect::PollReport>>();
  std::future<collect::PollReport> report = published->get_future();
  collector.poll(
      [published](collect::PollReport report, const std::shared_ptr<const collect::Snapshot>&) {
        published->set_value(std::move(report));
      });
  return report.get();
}

Error not_all_open(std::size_t open, std::size_t wanted, const std::string& why) {
  return Error{0,
               "open " + std::to_string(wanted) + " counters: only " + std::to_string(open) +
                   " are open" + (why.empty() ? "" : ": " + why),
               why.empty()
                   ? "leave CPUs online and let no other program mount or change cgroups meanwhile"
                   : ""};
}

}  // namespace

CounterSet::CounterSet(plan::LoadedPlan planned, std::size_t cgroups, const host::HostRoots& roots)
    : planned_(std::move(planned)), cgroups_(cgroups), roots_(roots) {
  const collect::Need need = plan::counting_need(planned_);
  events_ = need.cpu_events + cgroups * need.cgroup_events;
}

Result<CounterSet> CounterSet::plan(const std::string& configuration, std::size_t cgroups,
                                    const host::HostRoots& roots) {
  perf::LinuxPerfKernel kernel;
  config::Loaded loaded = config::load_text(configuration, "bench_cgroup");
  if (loaded.diagnostics.has_errors()) return error_of(loaded.diagnostics.errors().front());
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan::plan_for_machine(std::move(loaded.config), roots, kernel);
  if (!planned) return error_of(planned.error().front());
  const std::vector<Error> left_out = plan::left_out(planned->plan);
  if (!left_out.empty()) return left_out.front();  // a cheaper set would pass for this one
  return CounterSet{std::move(*planned), cgroups, roots};
}

Result<> CounterSet::check_limit() const {
  const std::size_t allowed = host::raise_open_file_limit();
  const std::size_t needed = collect::reserved_files(allowed) + events_ + cgroups_;
  if (needed <= allowed) return {};
  return Error{0,
               "open " + std::to_string(needed) + " files, where " + std::to_string(allowed) +
                   " are allowed",
               "raise the hard limit (ulimit -Hn)"};
}

Result<CounterSet::Open> CounterSet::open() {
  Result<daemon::CountingSession> counting = daemon::start_counting(planned_, roots_, kernel_);
  if (!counting) return counting.error();
  std::string why;
  for (;;) {
    const collect::PollReport report = poll_and_wait(*counting->collector);
    const std::size_t open = report.now.open_events;
    const bool by_records = report.now.cpus_by_records == planned_.cpus->online.size();
    if (by_records && report.groups_opened == 0 && report.failures.empty()) events_ = open;
    if (open == events_) return std::move(counting->collector);
    if (why.empty() && !report.failures.empty()) {
      why = describe(report.failures.begin()->second.first);
    }
    if (report.groups_opened == 0) return not_all_open(open, events_, why);
  }
}

}  // namespace pex::bench
