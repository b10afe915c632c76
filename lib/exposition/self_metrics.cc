#include "exposition/self_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "collect/budget.h"
#include "exposition/group_troubles.h"

namespace pex::exposition {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

Family<Gauge>& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

double seconds_since_epoch(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Brings a counter to a total that something else keeps; a total that fell is not followed.
void raise_to(Counter& counter, double total) {
  counter.Increment(std::max(total - counter.Value(), 0.0));
}

/// What every process exports, under the names of the ecosystem.
struct ProcessMetrics {
  explicit ProcessMetrics(prometheus::Registry& its_registry) : registry(its_registry) {}

  prometheus::Registry& registry;
  Counter& cpu_seconds =
      counter(registry, "process_cpu_seconds_total", "User and system CPU time of this process.")
          .Add({});
  Gauge& start_time = gauge(registry, "process_start_time_seconds",
                            "Start of this process, in seconds since the epoch.")
                          .Add({});
  Gauge& open_fds =
      gauge(registry, "process_open_fds", "Open file descriptors of this process.").Add({});
  Gauge& max_fds =
      gauge(registry, "process_max_fds", "Most file descriptors this process may open.").Add({});
  Gauge& virtual_bytes =
      gauge(registry, "process_virtual_memory_bytes", "Virtual memory of this process.").Add({});
  Gauge& resident_bytes =
      gauge(registry, "process_resident_memory_bytes", "Resident memory of this process.").Add({});
};

}  // namespace

/// The table of names, help texts and labels: the interface to dashboards and alerts.
struct SelfMetrics::Families {
  prometheus::Registry registry;

  Family<Gauge>& build_info = gauge(registry, "perf_event_exporter_build_info",
                                    "Always 1; the labels tell which build is running.");
  Family<Gauge>& event_available =
      gauge(registry, "perf_event_exporter_event_available",
            "Whether a configured event could be counted on this machine at the last load of "
            "the configuration, in every group of the scope that lists it.");
  Gauge& open_events = gauge(registry, "perf_event_exporter_open_events",
                             "Counters that are open, each one file descriptor.")
                           .Add({});
  Family<Counter>& open_errors =
      counter(registry, "perf_event_exporter_event_open_errors_total",
              "Times the kernel refused to open an event, by the name of its errno.");
  Counter& polls = counter(registry, "perf_event_exporter_polls_total", "Polls completed.").Add({});
  Gauge& poll_duration = gauge(registry, "perf_event_exporter_poll_duration_seconds",
                               "Duration of the last poll, from its start to its snapshot.")
                             .Add({});
  Counter& overruns = counter(registry, "perf_event_exporter_poll_overruns_total",
                              "Polls skipped because their time had passed.")
                          .Add({});
  Gauge& last_poll = gauge(registry, "perf_event_exporter_last_poll_timestamp_seconds",
                           "When the published counts were read.")
                         .Add({});
  Gauge& off_pmu = gauge(registry, "perf_event_exporter_pinned_groups_off_pmu",
                         "Pinned groups without their place on the PMU at the last poll.")
                       .Add({});
  Gauge& in_turns =
      gauge(registry, "perf_event_exporter_cgroups_in_turns",
            "Cgroups, each once for every CPU, whose groups are enabled in turn because "
            "the kernel's rotation starved one of them.")
          .Add({});
  GroupTroubles troubles{registry};
  Family<Gauge>& cgroups = gauge(
      registry, "perf_event_exporter_cgroups",
      "Cgroups by state: counted, waiting to be opened, lingering after their end, left out by "
      "a limit, or in a directory that cannot be read.");
  Gauge& cgroups_counted = cgroups.Add({{"state", "counted"}});
  Gauge& cgroups_waiting = cgroups.Add({{"state", "waiting"}});
  Gauge& cgroups_lingering = cgroups.Add({{"state", "lingering"}});
  Gauge& cgroups_left_out = cgroups.Add({{"state", "left_out"}});
  Gauge& cgroups_unreadable = cgroups.Add({{"state", "unreadable"}});
  Family<Counter>& cgroups_dropped =
      counter(registry, "perf_event_exporter_cgroups_dropped_total",
              "Cgroups that matched and were not counted, by the limit that they met.");
  std::map<std::string_view, Counter*> dropped_by_reason;
  Counter& cgroups_missed =
      counter(registry, "perf_event_exporter_cgroups_missed_total",
              "Cgroups that matched and were gone before all their counters were open.")
          .Add({});
  Gauge& series = gauge(registry, "perf_event_exporter_series",
                        "Series that the last snapshot is published as.")
                      .Add({});
  Gauge& series_limit = gauge(registry, "perf_event_exporter_series_limit",
                              "Configured bound on series, limits.max_series.")
                            .Add({});
  Gauge& reload_successful = gauge(registry, "perf_event_exporter_config_last_reload_successful",
                                   "Whether the last load of the configuration succeeded.")
                                 .Add({});
  Gauge& reload_time =
      gauge(registry, "perf_event_exporter_config_last_reload_success_timestamp_seconds",
            "When the configuration in force was loaded.")
          .Add({});

  std::optional<ProcessMetrics> process;  ///< none until they are known: absent, not 0
  std::map<std::pair<std::string, Scope>, Gauge*> events;
};

SelfMetrics::SelfMetrics(const std::string& version) : families_(std::make_unique<Families>()) {
  // From the start at 0, so that the first increase is seen as one.
  for (const std::string_view bound : collect::kCgroupBounds) {
    families_->dropped_by_reason[bound] =
        &families_->cgroups_dropped.Add({{"reason", std::string(bound)}});
  }
  families_->build_info.Add({{"version", version}, {"compiler", "g++ " __VERSION__}}).Set(1);
}

SelfMetrics::~SelfMetrics() = default;

void SelfMetrics::set_event_available(const std::string& event, Scope scope, bool available) {
  Gauge*& of_event = families_->events[{event, scope}];
  if (of_event == nullptr) {
    of_event =
        &families_->event_available.Add({{"event", event}, {"scope", std::string(name_of(scope))}});
  }
  of_event->Set(available ? 1 : 0);
}

void SelfMetrics::forget_events() {
  for (const auto& [event, of_event] : families_->events) {
    families_->event_available.Remove(of_event);
  }
  families_->events.clear();
}

void SelfMetrics::set_series_limit(std::size_t limit) {
  families_->series_limit.Set(static_cast<double>(limit));
}

void SelfMetrics::add_poll(const collect::PollReport& report, const collect::Snapshot& snapshot) {
  Families& f = *families_;
  f.polls.Increment();
  f.poll_duration.Set(std::chrono::duration<double>(report.now.duration).count());
  f.last_poll.Set(seconds_since_epoch(snapshot.taken));
  f.open_events.Set(static_cast<double>(report.now.open_events));
  f.off_pmu.Set(static_cast<double>(report.now.groups_off_pmu));
  f.in_turns.Set(static_cast<double>(report.now.targets_in_turns));
  f.troubles.add(report, snapshot.plan);
  for (const auto& [refusal, times] : report.refusals) {
    f.open_errors.Add({{"event", refusal.what}, {"errno", errno_name(refusal.code)}})
        .Increment(static_cast<double>(times));
  }

  const collect::TargetSet& targets = *snapshot.targets;
  f.cgroups_counted.Set(static_cast<double>(targets.present));
  f.cgroups_lingering.Set(static_cast<double>(targets.cgroups.size() - targets.present));
  f.cgroups_waiting.Set(static_cast<double>(targets.waiting));
  f.cgroups_left_out.Set(static_cast<double>(targets.found->left_out.size()));
  f.cgroups_unreadable.Set(static_cast<double>(targets.found->unreadable.size()));
  for (const auto& [bound, dropped] : report.cgroups_dropped) {
    f.dropped_by_reason.at(bound)->Increment(static_cast<double>(dropped));
  }
  f.cgroups_missed.Increment(static_cast<double>(report.cgroups_missed));
  f.series.Set(static_cast<double>(collect::count_series(snapshot)));
}

void SelfMetrics::add_overruns(std::uint64_t missed) {
  families_->overruns.Increment(static_cast<double>(missed));
}

void SelfMetrics::set_config_loaded(bool successful) {
  families_->reload_successful.Set(successful ? 1 : 0);
  if (successful) families_->reload_time.SetToCurrentTime();
}

void SelfMetrics::set_process(const host::OwnProcess& process) {
  if (!families_->process) families_->process.emplace(families_->registry);
  ProcessMetrics& metrics = *families_->process;
  raise_to(metrics.cpu_seconds, process.cpu_seconds);
  metrics.start_time.Set(process.start_time_seconds);
  metrics.open_fds.Set(static_cast<double>(process.open_fds));
  metrics.max_fds.Set(static_cast<double>(process.max_fds));
  metrics.virtual_bytes.Set(static_cast<double>(process.virtual_bytes));
  metrics.resident_bytes.Set(static_cast<double>(process.resident_bytes));
}

void SelfMetrics::write(std::string& text) const {
  std::ostringstream serialized;
  prometheus::TextSerializer{}.Serialize(serialized, families_->registry.Collect());
  text += serialized.str();
}

}  // namespace pex::exposition
