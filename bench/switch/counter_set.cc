#include "bench/switch/counter_set.h"

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "config/load.h"
#include "count/collector.h"
#include "host/self_process.h"
#include "plan/availability.h"
#include "targets/budget.h"

namespace pex::bench {
namespace {

/// Polls that open nothing, until it is given up: a CPU may be late if the machine is busy.
constexpr int kMaxIdlePolls = 20;
constexpr std::chrono::milliseconds kPauseAfterIdle{50};

/// Polls, and waits until it has been published.
collect::PollReport poll_and_wait(collect::Collector& collector) {
  const auto published = std::make_shared<std::promise<collect::PollReport>>();
  std::future<collect::PollReport> report = published->get_future();
  collector.poll(
      [published](collect::PollReport polled, const std::shared_ptr<const collect::Snapshot>&) {
        published->set_value(std::move(polled));
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

Result<plan::LoadedPlan> plan_text(const std::string& configuration, const host::HostRoots& roots) {
  perf::LinuxPerfKernel kernel;
  config::Loaded loaded = config::load_text(configuration, "benchmark");
  if (loaded.diagnostics.has_errors()) return error_of(loaded.diagnostics.errors().front());
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan::plan_for_machine(std::move(loaded.config), roots, kernel);
  if (!planned) return error_of(planned.error().front());
  return std::move(*planned);
}

}  // namespace

OpenCounters::OpenCounters(std::unique_ptr<collect::Collector> collector, std::size_t descriptors)
    : collector_(std::move(collector)), descriptors_(descriptors) {}

RecordsRead OpenCounters::records() {
  const auto records = poll_and_wait(*collector_).switch_records;
  return {records.written, records.lost, records.skipped};
}

CounterSet::CounterSet(plan::LoadedPlan planned, std::size_t cgroups, const host::HostRoots& roots)
    : planned_(std::move(planned)), cgroups_(cgroups), roots_(roots) {
  const collect::Need need = plan::counting_need(planned_);
  events_ = need.counters.cpus + cgroups * need.counters.cgroup;
}

Result<CounterSet> CounterSet::plan(const std::string& configuration, std::size_t cgroups,
                                    const host::HostRoots& roots) {
  Result<plan::LoadedPlan> planned = plan_text(configuration, roots);
  if (!planned) return planned.error();
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

Result<std::unique_ptr<OpenCounters>> CounterSet::open() {
  Result<daemon::CountingSession> counting = daemon::start_counting(planned_, roots_, kernel_);
  if (!counting) return counting.error();
  std::string why;
  std::size_t last_open = 0;
  for (int idle_polls = 0; idle_polls < kMaxIdlePolls;) {
    const collect::PollReport report = poll_and_wait(*counting->collector);
    const std::size_t open = report.now.open_events;
    const bool by_records = report.now.cpus_by_records == planned_.cpus->online.size();
    if (by_records && report.groups_opened == 0 && report.failures.empty()) events_ = open;
    if (open == events_) {
      return std::unique_ptr<OpenCounters>{
          std::make_unique<OpenCounters>(std::move(counting->collector), open)};
    }
    if (why.empty() && !report.failures.empty()) {
      why = describe(report.failures.begin()->second.first);
    }
    if (report.groups_opened > 0) continue;
    ++idle_polls;
    std::this_thread::sleep_for(kPauseAfterIdle);
    last_open = open;
  }
  return not_all_open(last_open, events_, why);
}

}  // namespace pex::bench
