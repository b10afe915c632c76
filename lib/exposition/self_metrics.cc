#include "exposition/self_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>

#include "collect/budget.h"
#include "exposition/group_troubles.h"
#include "exposition/labels.h"
#include "exposition/self_families.h"

namespace pex::exposition {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

Family<Gauge>& gauge(prometheus::Registry& registry, const FamilyEntry& row) {
  return prometheus::BuildGauge()
      .Name(std::string(row.name))
      .Help(std::string(row.help))
      .Register(registry);
}

Family<Counter>& counter(prometheus::Registry& registry, const FamilyEntry& row) {
  return prometheus::BuildCounter()
      .Name(std::string(row.name))
      .Help(std::string(row.help))
      .Register(registry);
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
  Counter& cpu_seconds = counter(registry, self_family("process_cpu_seconds_total")).Add({});
  Gauge& start_time = gauge(registry, self_family("process_start_time_seconds")).Add({});
  Family<Gauge>& open_fds = gauge(registry, self_family("process_open_fds"));
  Gauge& max_fds = gauge(registry, self_family("process_max_fds")).Add({});
  Gauge& virtual_bytes = gauge(registry, self_family("process_virtual_memory_bytes")).Add({});
  Gauge& resident_bytes = gauge(registry, self_family("process_resident_memory_bytes")).Add({});
};

/// What the last poll has found.
struct PollMetrics {
  explicit PollMetrics(prometheus::Registry& its_registry) : registry(its_registry) {}

  prometheus::Registry& registry;
  Gauge& open_events = gauge(registry, self_family("perf_event_exporter_open_events")).Add({});
  Gauge& poll_duration =
      gauge(registry, self_family("perf_event_exporter_poll_duration_seconds")).Add({});
  Gauge& last_poll =
      gauge(registry, self_family("perf_event_exporter_last_poll_timestamp_seconds")).Add({});
  Family<Gauge>& cpus = gauge(registry, self_family("perf_event_exporter_cpus"));
  Gauge& cpus_counted = cpus.Add({{"state", "counted"}});
  Gauge& cpus_late = cpus.Add({{"state", "late"}});
  Gauge& cpus_left_out = cpus.Add({{"state", "left_out"}});
  Gauge& off_pmu =
      gauge(registry, self_family("perf_event_exporter_pinned_groups_off_pmu")).Add({});
  Gauge& in_turns = gauge(registry, self_family("perf_event_exporter_cgroups_in_turns")).Add({});
  Family<Gauge>& cgroups = gauge(registry, self_family("perf_event_exporter_cgroups"));
  Gauge& cgroups_counted = cgroups.Add({{"state", "counted"}});
  Gauge& cgroups_waiting = cgroups.Add({{"state", "waiting"}});
  Gauge& cgroups_lingering = cgroups.Add({{"state", "lingering"}});
  Gauge& cgroups_left_out = cgroups.Add({{"state", "left_out"}});
  Gauge& cgroups_unreadable = cgroups.Add({{"state", "unreadable"}});
  Family<Gauge>& directories =
      gauge(registry, self_family("perf_event_exporter_cgroup_directories"));
  Gauge& directories_followed = directories.Add({{"state", "followed"}});
  Gauge& directories_unwatched = directories.Add({{"state", "unwatched"}});
  Gauge& directories_beyond_limit = directories.Add({{"state", "beyond_limit"}});
  Gauge& directories_path_too_long = directories.Add({{"state", "path_too_long"}});
  Gauge& series = gauge(registry, self_family("perf_event_exporter_series")).Add({});

  void set(const collect::PollReport& report, const collect::Snapshot& snapshot) {
    const collect::TargetSet& targets = *snapshot.targets;
    poll_duration.Set(std::chrono::duration<double>(report.now.duration).count());
    last_poll.Set(seconds_since_epoch(snapshot.taken));
    open_events.Set(static_cast<double>(report.now.open_events));
    const std::size_t late = report.now.late_cpus.size();
    cpus_counted.Set(static_cast<double>(targets.cpus->online.size() - late));
    cpus_late.Set(static_cast<double>(late));
    cpus_left_out.Set(static_cast<double>(targets.cpus->left_out.size()));
    off_pmu.Set(static_cast<double>(report.now.groups_off_pmu));
    in_turns.Set(static_cast<double>(report.now.targets_in_turns));
    cgroups_counted.Set(static_cast<double>(targets.present));
    cgroups_lingering.Set(static_cast<double>(targets.cgroups.size() - targets.present));
    cgroups_waiting.Set(static_cast<double>(targets.waiting));
    cgroups_left_out.Set(static_cast<double>(targets.found->left_out));
    cgroups_unreadable.Set(static_cast<double>(targets.found->unreadable.size()));
    const collect::PollReport::CgroupDirectories& tree = report.now.cgroup_directories;
    directories_followed.Set(static_cast<double>(tree.followed));
    directories_unwatched.Set(static_cast<double>(tree.unwatched));
    directories_beyond_limit.Set(static_cast<double>(tree.beyond_limit));
    directories_path_too_long.Set(static_cast<double>(tree.path_too_long));
    series.Set(static_cast<double>(collect::count_series(snapshot)));
  }
};

/// Under the names that the exporter's own configuration has.
struct WebConfigMetrics {
  explicit WebConfigMetrics(prometheus::Registry& its_registry) : registry(its_registry) {}

  prometheus::Registry& registry;
  Gauge& successful =
      gauge(registry, self_family("perf_event_exporter_web_config_last_reload_successful")).Add({});
  Gauge& time =
      gauge(registry,
            self_family("perf_event_exporter_web_config_last_reload_success_timestamp_seconds"))
          .Add({});
  Family<Counter>& downgrades =
      counter(registry, self_family("perf_event_exporter_web_config_downgrades_total"));
};

FamilyType type_of(const prometheus::MetricFamily& family) {
  if (family.type == prometheus::MetricType::Counter) return FamilyType::kCounter;
  return family.name.ends_with("_info") ? FamilyType::kInfo : FamilyType::kGauge;
}

std::string labels_of(const prometheus::ClientMetric& metric) {
  std::string labels;
  for (const auto& [name, value] : metric.label) labels = join_labels({labels, label(name, value)});
  return labels;
}

/// By what a sample is chosen: the pieces of a group go with it.
std::string_view group_of(const prometheus::ClientMetric& metric) {
  for (const auto& [name, value] : metric.label) {
    if (name == "group") return collect::configured_name(value);
  }
  return kExporterGroup;
}

/// Since when counters count: those of the process from its own start.
struct Starts {
  std::chrono::system_clock::time_point exporter = std::chrono::system_clock::now();
  std::chrono::system_clock::time_point process = exporter;
};

class RegistryReading final : public SelfReading {
 public:
  RegistryReading(std::vector<prometheus::MetricFamily> families, const Starts& starts)
      : families_(std::move(families)), starts_(starts) {}

  void write(const Selection& selection, FormatWriter& writer) const override {
    for (const prometheus::MetricFamily& family : families_) {
      const FamilyHead head{family.name, family.help, type_of(family)};
      const bool counts = head.type == FamilyType::kCounter;
      const auto since = family.name.starts_with("process_") ? starts_.process : starts_.exporter;
      writer.begin(head);
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (!selection.has(group_of(metric))) continue;
        const double value = counts ? metric.counter.value : metric.gauge.value;
        writer.write(labels_of(metric), real(value), since);
      }
    }
  }

 private:
  std::vector<prometheus::MetricFamily> families_;
  Starts starts_;
};

}  // namespace

struct SelfMetrics::Families {
  Starts starts;
  prometheus::Registry registry;

  Family<Gauge>& build_info = gauge(registry, self_family("perf_event_exporter_build_info"));
  Family<Gauge>& event_available =
      gauge(registry, self_family("perf_event_exporter_event_available"));
  Family<Counter>& open_errors =
      counter(registry, self_family("perf_event_exporter_event_open_errors_total"));
  Counter& polls = counter(registry, self_family("perf_event_exporter_polls_total")).Add({});
  Counter& overruns =
      counter(registry, self_family("perf_event_exporter_poll_overruns_total")).Add({});
  Family<Counter>& late_polls =
      counter(registry, self_family("perf_event_exporter_cpu_late_polls_total"));
  GroupTroubles troubles{registry};
  Family<Counter>& cgroups_dropped =
      counter(registry, self_family("perf_event_exporter_cgroups_dropped_total"));
  std::map<std::string_view, Counter*> dropped_by_reason;
  Counter& cgroups_missed =
      counter(registry, self_family("perf_event_exporter_cgroups_missed_total")).Add({});
  Gauge& series_limit = gauge(registry, self_family("perf_event_exporter_series_limit")).Add({});
  Gauge& reload_successful =
      gauge(registry, self_family("perf_event_exporter_config_last_reload_successful")).Add({});
  Gauge& reload_time =
      gauge(registry,
            self_family("perf_event_exporter_config_last_reload_success_timestamp_seconds"))
          .Add({});

  Family<Gauge>& connections = gauge(registry, self_family("perf_event_exporter_http_connections"));

  Family<Counter>& http_troubles =
      counter(registry, self_family("perf_event_exporter_http_troubles_total"));

  Counter& log_dropped =
      counter(registry, self_family("perf_event_exporter_log_messages_dropped_total")).Add({});

  // None until they are known: absent, not 0.
  std::optional<PollMetrics> last_poll;
  std::optional<WebConfigMetrics> web_config;  ///< none at all without such a file
  std::optional<ProcessMetrics> process;
  std::map<std::pair<std::string, Scope>, Gauge*> events;

  WebConfigMetrics& of_web_config() {
    if (!web_config) web_config.emplace(registry);
    return *web_config;
  }
};

SelfMetrics::SelfMetrics(const std::string& version) : families_(std::make_unique<Families>()) {
  // From the start at 0, so that the first increase is seen as one.
  for (const std::string_view bound : collect::kCgroupBounds) {
    families_->dropped_by_reason[bound] =
        &families_->cgroups_dropped.Add({{"reason", std::string(bound)}});
  }
  families_->dropped_by_reason[collect::kFairShare] =
      &families_->cgroups_dropped.Add({{"reason", std::string(collect::kFairShare)}});
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
  for (const int cpu : report.now.late_cpus) {
    f.late_polls.Add({{"cpu", std::to_string(cpu)}}).Increment();
  }
  f.troubles.add(report, snapshot.plan);
  for (const auto& [refusal, times] : report.refusals) {
    f.open_errors.Add({{"event", refusal.what}, {"errno", errno_name(refusal.code)}})
        .Increment(static_cast<double>(times));
  }
  for (const auto& [bound, dropped] : report.cgroups_dropped) {
    f.dropped_by_reason.at(bound)->Increment(static_cast<double>(dropped));
  }
  f.cgroups_missed.Increment(static_cast<double>(report.cgroups_missed));
  if (!f.last_poll) f.last_poll.emplace(f.registry);
  f.last_poll->set(report, snapshot);
}

void SelfMetrics::add_overruns(std::uint64_t missed) {
  families_->overruns.Increment(static_cast<double>(missed));
}

void SelfMetrics::set_config_loaded(bool successful) {
  families_->reload_successful.Set(successful ? 1 : 0);
  if (successful) families_->reload_time.SetToCurrentTime();
}

void SelfMetrics::set_web_config_loaded(bool successful) {
  WebConfigMetrics& metrics = families_->of_web_config();
  metrics.successful.Set(successful ? 1 : 0);
  if (successful) metrics.time.SetToCurrentTime();
}

void SelfMetrics::add_web_config_downgrades(std::string_view protection, std::string_view outcome,
                                            unsigned changes) {
  families_->of_web_config()
      .downgrades.Add({{"protection", std::string(protection)}, {"outcome", std::string(outcome)}})
      .Increment(changes);
}

void SelfMetrics::set_connections(std::size_t open) {
  families_->connections.Add({}).Set(static_cast<double>(open));
}

void SelfMetrics::set_http_troubles(std::string_view reason, std::uint64_t total) {
  raise_to(families_->http_troubles.Add({{"reason", std::string(reason)}}),
           static_cast<double>(total));
}

void SelfMetrics::set_log_dropped(std::uint64_t total) {
  raise_to(families_->log_dropped, static_cast<double>(total));
}

void SelfMetrics::set_process(const host::SelfProcess& process) {
  if (!families_->process) families_->process.emplace(families_->registry);
  ProcessMetrics& metrics = *families_->process;
  raise_to(metrics.cpu_seconds, process.cpu_seconds);
  metrics.start_time.Set(process.start_time_seconds);
  families_->starts.process = std::chrono::system_clock::time_point{
      std::chrono::milliseconds{static_cast<std::int64_t>(process.start_time_seconds * 1e3)}};
  if (process.open_fds) metrics.open_fds.Add({}).Set(static_cast<double>(*process.open_fds));
  metrics.max_fds.Set(static_cast<double>(process.max_fds));
  metrics.virtual_bytes.Set(static_cast<double>(process.virtual_bytes));
  metrics.resident_bytes.Set(static_cast<double>(process.resident_bytes));
}

std::shared_ptr<const SelfReading> SelfMetrics::read() const {
  return std::make_shared<const RegistryReading>(families_->registry.Collect(), families_->starts);
}

}  // namespace pex::exposition
