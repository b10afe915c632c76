#include "daemon/run/active_session.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/boot_clock.h"
#include "base/duration.h"
#include "base/lookup.h"
#include "cgroup/hierarchy.h"
#include "daemon/cli/words.h"
#include "exposition/collected_family.h"
#include "exposition/self_families.h"
#include "host/guest_pmu.h"
#include "host/topology.h"
#include "perf/open_remedy.h"
#include "plan/availability.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

using exposition::add_sample;
using exposition::collected;
using exposition::seconds_since_epoch;
using exposition::self_family;
using prometheus::MetricFamily;

MetricFamily refusals(const plan::Plan& plan) {
  MetricFamily family = collected(self_family("perf_event_exporter_event_refusal_info"));
  for (const auto& [event, available] : availability(plan)) {
    if (available.everywhere) continue;
    const int code = available.reason.code;
    const bool lies = perf::is_lie(available.truth);
    add_sample(family,
               {{"event", event.first},
                {"scope", name_of(event.second)},
                {"errno", code == 0 ? std::string() : errno_name(code)},
                {"remedy", perf::can_be_remedied(code) && !lies ? "yes" : "no"}},
               1);
    if (!lies) continue;
    family.metric.back().label.push_back({"fault", std::string(name_of(available.truth))});
  }
  return family;
}

MetricFamily guests_left_out(plan::GuestsLeftOut why) {
  struct Reason {
    plan::GuestsLeftOut why;
    std::string_view word;
  };
  static constexpr Reason kReasons[] = {{plan::GuestsLeftOut::kConfigured, "configuration"},
                                        {plan::GuestsLeftOut::kMediatedPmu, "mediated_pmu"},
                                        {plan::GuestsLeftOut::kRefused, "refused"}};
  MetricFamily family = collected(self_family("perf_event_exporter_guests_left_out_info"));
  const Reason* const reason = lookup(kReasons, &Reason::why, why);
  if (reason != nullptr) add_sample(family, {{"reason", reason->word}}, 1);
  return family;
}

MetricFamily times_of_zero(const collect::CountingPlan& plan) {
  MetricFamily family = collected(self_family("perf_event_exporter_sum_zero_seconds"));
  for (const collect::SumPlan& sum : plan.sums) {
    if (!sum.is_series) add_sample(family, {{"sum", sum.name}}, seconds_of(sum.zero_for));
  }
  return family;
}

MetricFamily machine_info(const plan::MachineDescription& machine) {
  const host::MachineInfo& host = machine.host;
  return collected(self_family("perf_machine_info"), 1,
                   {{"vendor", host.vendor},
                    {"family", host.family},
                    {"model", host.model},
                    {"stepping", host.stepping},
                    {"model_name", host.model_name},
                    {"microcode", host.microcode},
                    {"hypervisor", host.hypervisor},
                    {"pmu", machine.pmu},
                    {"kernel", host.kernel}});
}

MetricFamily duty_cycles(const collect::CountingPlan& plan) {
  std::map<std::string_view, double> ratios;  // a group of both scopes has one
  for (const collect::ScopePlan* const scope : {&plan.cpu, &plan.cgroup}) {
    for (const collect::GroupPlan& group : scope->groups) {
      if (!group.duty_cycle) continue;
      ratios[group.name] = seconds_of(group.duty_cycle->on) / seconds_of(group.duty_cycle->every);
    }
  }
  MetricFamily family = collected(self_family("perf_event_exporter_group_duty_cycle_ratio"));
  for (const auto& [group, ratio] : ratios) add_sample(family, {{"group", group}}, ratio);
  return family;
}

MetricFamily config_info(const config::Origin& origin, const std::string& file) {
  return collected(self_family("perf_event_exporter_config_info"), 1,
                   {{"hash", origin.hash},
                    {"source", file.empty() ? std::string_view("embedded") : file},
                    {"revision", origin.revision}});
}

}  // namespace

ActiveSession::ActiveSession(const Options& options, perf::PerfKernel& kernel, Log& log,
                             CrashGuard* guard)
    : options_(options),
      kernel_(kernel),
      log_(log),
      guard_(guard),
      mounted_(host::mount_of_file(options.roots, options.config_file)) {}

const plan::Plan* ActiveSession::plan_in_force() const {
  return in_force() == nullptr ? nullptr : &in_force()->plan;
}

Result<CountingSession, std::vector<Error>> ActiveSession::plan() const {
  if (std::optional<Error> renamed = host::renamed_since(
          mounted_, options_.roots, options_.config_file, "the configuration")) {
    return std::vector{*std::move(renamed)};
  }
  plan::Supervision by;
  if (guard_ != nullptr) {
    by.allow = [this](const config::Loaded& loaded) { return guard_->begin(loaded); };
    by.trying = [this](const std::string& group) { guard_->trying(group); };
  }
  auto loaded = plan::load_and_plan(options_.config_file, options_.roots, kernel_, plan_in_force(),
                                    options_.unknown_keys, by);
  if (loaded && options_.once) {  // no scrape comes later, for which a sum would begin with 0
    for (collect::SumPlan& sum : loaded->plan.counting.sums) sum.zero_for = {};
  }
  return start(std::move(loaded));
}

Result<CountingSession, std::vector<Error>> ActiveSession::plan_again() const {
  const plan::Supervision by{.allow = [this](const auto&) { return current_.plan.counted; }};
  auto session =
      start(plan::plan_for_machine(current_.config, options_.roots, kernel_, plan_in_force(), by));
  if (session) session->is_loaded = false;
  return session;
}

std::function<bool()> ActiveSession::truth_check() const {
  return [&kernel = kernel_, checked = current_.plan.checked] {
    return plan::have_lies_changed(kernel, checked);
  };
}

std::function<bool()> ActiveSession::check_of_guests() const {
  return [&roots = options_.roots, counts_guests = current_.plan.counts_guests,
          is_auto = current_.config.guests == config::Guests::kAuto] {
    return is_auto && host::gives_pmu_to_guests(roots) == counts_guests;
  };
}

std::function<bool()> ActiveSession::check_of_hierarchy() const {
  return [&roots = options_.roots, &kernel = kernel_] {
    const Result<std::vector<int>> cpus = host::online_cpus(roots);
    const auto found = cgroup::find_hierarchy(roots);
    return cpus && found && *found && plan::check_tree(**found, roots, kernel, cpus->front());
  };
}

Result<CountingSession, std::vector<Error>> ActiveSession::start(Planned planned) const {
  if (!planned) return yaml::errors_of(planned.error());
  Result<CountingSession> session =
      start_counting(std::move(*planned), options_.roots, kernel_, in_force());
  if (!session) return std::vector{session.error()};
  if (guard_ != nullptr && session->config.enabled) guard_->opening();
  return std::move(*session);
}

bool ActiveSession::lacks_hierarchy() const {
  return !current_.basis.hierarchy && !current_.plan.counting.cgroup.empty() &&
         !current_.plan.cgroups.selection.include.empty();
}

std::unique_ptr<collect::Collector> ActiveSession::release(CountingSession& next) {
  if (next.collector) return std::move(current_.collector);
  take_over(current_, next);
  return nullptr;
}

void ActiveSession::adopt(CountingSession next) {
  const bool is_reload = machine_.has_value();
  const bool counted_all = is_reload && current_.plan.counted == Counted::kAll;
  if (!is_reload) machine_ = plan::describe_machine(options_.roots);
  if (next.plan.counted == Counted::kAll && !counted_all) {
    free_counters_ =
        plan::count_free_counters(kernel_, options_.roots, next.plan.counting.left_out_cpus);
    for (const std::string& warning : pmu_warnings()) log_.warn(warning);
  }
  current_ = std::move(next);
  const BootClock::time_point now = BootClock::now();
  if (current_.is_loaded) load_ = {options_.config_file, now, now, {}};
  for (const Error& reason : left_out(current_.plan)) log_.warn(reason);
  for (const std::string& warning : current_.warnings) log_.warn(warning);
}

std::vector<std::string> ActiveSession::pmu_warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [pmu, free] : free_counters_) {
    if (free.general > 0) continue;
    warnings.push_back(worded(
        Error{0, "no counter of PMU '" + pmu + "' was free at the start: other programs hold all",
              "stop what holds them; " + Remedy(ProgramTerm::kDoctor) +
                  " lists programs with perf events"}));
  }
  return warnings;
}

void ActiveSession::reject(const std::vector<Error>& errors) {
  for (const Error& error : errors) log_.error(error);
  log_.error("configuration not reloaded: the previous one stays in force");
  load_.last_tried = BootClock::now();
  load_.errors.clear();
  for (const Error& error : errors) load_.errors.push_back(worded(error));
}

std::vector<MetricFamily> ActiveSession::Collect() const {
  std::vector<MetricFamily> families = {
      machine_info(machine_.value_or(plan::MachineDescription{})),
      refusals(current_.plan),
      guests_left_out(current_.plan.guests_left_out),
      config_info(current_.config.origin, options_.config_file),
      collected(self_family("perf_event_exporter_poll_interval_seconds"),
                seconds_of(current_.interval())),
      collected(self_family("perf_event_exporter_config_last_reload_successful"),
                load_.errors.empty() ? 1 : 0),
      collected(self_family("perf_event_exporter_config_last_reload_success_timestamp_seconds"),
                seconds_since_epoch(load_.in_force_since)),
      duty_cycles(current_.plan.counting)};
  const collect::CountingPlan& counting = current_.plan.counting;
  if (!options_.config_file.empty()) {
    families.push_back(collected(self_family("perf_event_exporter_config_unknown_keys"),
                                 static_cast<double>(current_.config.origin.unknown_keys)));
  }
  if (MetricFamily times = times_of_zero(counting); !times.metric.empty()) {
    families.push_back(std::move(times));
  }
  if (counting.cgroup.empty()) return families;
  families.push_back(collected(self_family("perf_event_exporter_series_limit"),
                               static_cast<double>(current_.plan.budget.max_series)));
  if (!counting.publishes_cgroups) return families;
  families.push_back(collected(self_family("perf_event_exporter_cgroup_linger_seconds"),
                               seconds_of(current_.config.cgroups.linger)));
  return families;
}

}  // namespace pex::daemon
