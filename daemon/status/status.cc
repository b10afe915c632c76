#include "daemon/status/status.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <functional>
#include <utility>

#include "base/duration.h"
#include "base/utf8.h"
#include "daemon/cli/words.h"
#include "daemon/status/json_array.h"
#include "daemon/status/ranking.h"
#include "exposition/metric_names.h"
#include "host/cpu_list.h"
#include "plan/availability.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;
using collect::GroupRow;
using collect::Snapshot;
using history::Role;

constexpr int kStatusVersion = 1;
constexpr std::size_t kMaxBusy = 20;
constexpr std::size_t kMaxBusySums = 10;

json::string text(std::string_view bytes) { return json::string(as_utf8(bytes)); }

json::value text_or_null(std::string_view bytes) {
  return bytes.empty() ? json::value() : json::value(text(bytes));
}

/// JSON has finite numbers only.
json::value number(std::optional<double> value) {
  return value && std::isfinite(*value) ? json::value(*value) : json::value();
}

json::value whole(std::optional<std::uint64_t> value) {
  return value ? json::value(*value) : json::value();
}

/// Null if nothing was to be counted, or no time has passed.
json::value ratio(double part, double of) {
  return of > 0 ? json::value(part / of) : json::value();
}

/// What is known from the first poll on.
json::value if_polled(const StatusInputs& inputs, json::value value) {
  return inputs.snapshot == nullptr ? json::value() : value;
}

double timestamp(BootClock::time_point time) {
  return seconds_of(date_of(time).time_since_epoch());
}

/// To the millisecond, the precision of a point's age.
double rounded(history::Activity::Seconds age) { return std::round(age.count() * 1e3) / 1e3; }

json::array texts(const std::vector<std::string>& list) { return json_array(list, text); }

/// To six digits: a point is a float, and further digits would be noise. A multiplication or
/// division by a power of ten is exact, so the result is the double with these digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int shift = 5 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (std::abs(shift) > 22) return value;
  const double power = std::pow(10, std::abs(shift));
  return shift > 0 ? std::round(value * power) / power : std::round(value / power) * power;
}

json::array numbers(const history::Activity::Points& points) {
  return json_array(points, [](const std::optional<double>& point) {
    return number(point ? std::optional(rounded(*point)) : std::nullopt);
  });
}

/// The plan of the snapshot, if there is one: after a reload it is still the previous plan.
const collect::CountingPlan& plan_of(const StatusInputs& inputs) {
  return inputs.snapshot == nullptr ? inputs.plan.counting : *inputs.snapshot->plan;
}

/// Each once.
json::array reference_events(const plan::Plan& plan) {
  std::vector<std::string> events;
  for (const plan::Reference::OfPmu& of : plan.reference.counters) {
    const std::string& name = of.counter.name;
    if (std::find(events.begin(), events.end(), name) == events.end()) events.push_back(name);
  }
  return texts(events);
}

json::object machine(const StatusInputs& inputs) {
  json::object object{{"online_cpus", nullptr},   {"cpus_online", nullptr},
                      {"cpus_counted", nullptr},  {"late_cpus", nullptr},
                      {"left_out_cpus", nullptr}, {"pmus", nullptr}};
  if (inputs.snapshot != nullptr) {
    const collect::MachineCpus& cpus = *inputs.snapshot->targets->cpus;
    std::vector<int> online = cpus.online;
    online.insert(online.end(), cpus.left_out.begin(), cpus.left_out.end());
    std::sort(online.begin(), online.end());
    object["online_cpus"] = host::format_cpu_list(online);
    object["cpus_online"] = online.size();
    object["cpus_counted"] = cpus.online.size();
    object["late_cpus"] = host::format_cpu_list(inputs.last_poll.late_cpus);
    object["left_out_cpus"] = host::format_cpu_list(cpus.left_out);
    object["pmus"] = json_array(cpus.pmus, [](const auto& pmu) {
      return json::object{{"name", text(pmu.first)}, {"cpus", host::format_cpu_list(pmu.second)}};
    });
  }
  object["reference_events"] = reference_events(inputs.plan);
  return object;
}

/// The published events of one group, each once.
json::array events_of(const collect::ScopePlan& plan, Scope scope, std::size_t group) {
  json::array events;
  for (const collect::PublishedEvent& column : plan.columns) {
    const auto is_here = [&](const collect::PublishedEvent::Part& part) {
      return part.group == group;
    };
    if (std::none_of(column.parts.begin(), column.parts.end(), is_here)) continue;
    events.push_back(json::object{{"event", text(column.event.name)},
                                  {"metric", text(exposition::family_name(scope, column.event))}});
  }
  return events;
}

/// Where a group counts, and for how long.
struct GroupCounts {
  std::size_t rows = 0;                           ///< parts of the machine, or existing cgroups
  std::size_t wanted = 0;                         ///< (CPU) or (cgroup, CPU) pairs
  std::size_t counted = 0;                        ///< those whose group is open
  std::optional<collect::GroupTimes> times = {};  ///< of all existing rows
};

/// A gone cgroup lingers with its last times, which no longer describe the group.
bool is_there(const Snapshot& snapshot, Scope scope, std::size_t row) {
  if (scope == Scope::kCpu) return true;
  return snapshot.targets->cgroups[snapshot.cgroup_rows[row].target].cgroup != nullptr;
}

GroupCounts counts_of(const Snapshot& snapshot, Scope scope, std::size_t group) {
  const bool is_cpu = scope == Scope::kCpu;
  const collect::GroupTable& table = (is_cpu ? snapshot.cpu : snapshot.cgroup)[group];
  GroupCounts counts;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const GroupRow& row = table.rows[i];
    if (is_cpu && row.value != GroupRow::Value::kNotHere) ++counts.rows;
    if (!is_there(snapshot, scope, i)) continue;
    counts.wanted += row.wanted_on;
    counts.counted += row.counted_on;
    if (!row.has_times) continue;
    if (!counts.times) counts.times.emplace();
    counts.times->add(row.times);
  }
  if (!is_cpu) counts.rows = snapshot.targets->present;
  return counts;
}

json::object group_json(const StatusInputs& inputs, Scope scope, std::size_t index) {
  const bool is_cpu = scope == Scope::kCpu;
  const collect::ScopePlan& plan = is_cpu ? plan_of(inputs).cpu : plan_of(inputs).cgroup;
  const collect::GroupPlan& planned = plan.groups[index];
  const GroupCounts counts =
      inputs.snapshot == nullptr ? GroupCounts{} : counts_of(*inputs.snapshot, scope, index);
  const auto time = [&](std::chrono::nanoseconds collect::GroupTimes::*member) {
    return counts.times ? json::value(seconds_of((*counts.times).*member)) : json::value();
  };
  const collect::GroupTimes times = counts.times.value_or(collect::GroupTimes{});
  json::object object{
      {"group", text(planned.name)},
      {"scope", name_of(scope)},
      {"aggregate", is_cpu ? json::value(name_of(planned.aggregation)) : json::value()},
      {"pmu", text_or_null(planned.pmu)},
      {"events", events_of(plan, scope, index)},
      {"rows", if_polled(inputs, counts.rows)},
      {"targets_expected", if_polled(inputs, counts.wanted)},
      {"targets_counted", if_polled(inputs, counts.counted)},
      {"coverage_ratio",
       ratio(static_cast<double>(counts.counted), static_cast<double>(counts.wanted))},
      {"shares_pmu", planned.shares_pmu},
      {"pinned", planned.mode.pinned}};
  object["enabled_seconds"] = time(&collect::GroupTimes::enabled);
  object["running_seconds"] = time(&collect::GroupTimes::running);
  object["imputed_seconds"] = time(&collect::GroupTimes::imputed);
  object["unmeasured_seconds"] = time(&collect::GroupTimes::unmeasured);
  object["running_ratio"] =
      ratio(static_cast<double>(times.running.count()), static_cast<double>(times.enabled.count()));
  object["recent_running_ratio"] = number(inputs.activity.recent_running_ratio(scope, index));
  return object;
}

/// Without those that only serve others.
json::array groups_json(const StatusInputs& inputs) {
  json::array all;
  for (const Scope scope : {Scope::kCpu, Scope::kCgroup}) {
    const auto& plan = scope == Scope::kCpu ? plan_of(inputs).cpu : plan_of(inputs).cgroup;
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
      if (plan.groups[i].is_published) all.push_back(group_json(inputs, scope, i));
    }
  }
  return all;
}

/// Events that are not counted, with one common reason.
json::object not_counted(const plan::LeftOut& of) {
  return {{"events", texts(of.events)},
          {"groups", texts(of.groups)},
          {"errno", of.reason.code == 0 ? json::value() : json::value(errno_name(of.reason.code))},
          {"reason", text(without_remedy(of.reason))},
          {"remedy", text_or_null(worded(of.reason.remedy))}};
}

json::object left_out_group(const plan::LeftOutGroup& group) {
  return {{"group", text(group.name)}, {"reason", text(group.reason)}};
}

/// The rate of one event, recently.
struct Rate {
  const history::Measure* measure;
  std::string metric;
  std::optional<double> per_second;  ///< in the unit of the event
};

/// Of each measure, first that of the event that cgroups are ranked by. `name_of_metric` names the
/// metric of an event.
template <typename NameOfMetric>
std::vector<Rate> rates_of(const std::vector<history::Measure>& measures,
                           const history::Rates& recent, const NameOfMetric& name_of_metric,
                           std::size_t ranked_by) {
  std::vector<Rate> rates;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    rates.push_back({&measures[i], name_of_metric(measures[i].event()), recent.per_second[i]});
  }
  const auto first = rates.begin() + static_cast<std::ptrdiff_t>(ranked_by);
  if (first != rates.end()) std::rotate(rates.begin(), first, first + 1);
  return rates;
}

/// The rate of the event with this role; nothing without one.
json::value rate_with(Role role, const std::vector<Rate>& rates) {
  const auto found = std::find_if(rates.begin(), rates.end(),
                                  [&](const Rate& each) { return each.measure->role == role; });
  return found == rates.end() ? json::value() : number(found->per_second);
}

void add_use(const std::vector<Rate>& rates, const history::Rates& recent, json::object& object) {
  object["cycles_per_second"] = rate_with(Role::kCycles, rates);
  object["instructions_per_second"] = rate_with(Role::kInstructions, rates);
  object["instructions_per_cycle"] = number(recent.instructions_per_cycle);
}

json::object rate_json(const Rate& rate) {
  const events::EventIdentity& event = rate.measure->event();
  return {{"event", text(event.name)},
          {"metric", text(rate.metric)},
          {"unit", name_of(event.unit)},
          {"per_second", number(rate.per_second)}};
}

/// The rates of a busy cgroup or sum, behind the keys that it has already.
json::object with_rates(json::object object, const std::vector<Rate>& rates,
                        const history::Rates& recent, const history::Activity::Points& points) {
  object["cpu_seconds_per_second"] = rate_with(Role::kCpuTime, rates);
  add_use(rates, recent, object);
  object["rates"] = json_array(rates, rate_json);
  object["points"] = numbers(points);
  return object;
}

json::object busy_cgroup(const collect::CgroupTarget& target, const history::Rates& recent,
                         std::size_t ranked_by, const history::Activity& activity) {
  json::object labels;
  for (const auto* part : {&target.description->identity, &target.description->information}) {
    for (const auto& [name, value] : *part) labels[text(name)] = text(value);
  }
  const auto metric = [](const events::EventIdentity& event) {
    return exposition::family_name(Scope::kCgroup, event);
  };
  return with_rates({{"cgroup", text(target.path)},
                     {"labels", std::move(labels)},
                     {"gone", target.cgroup == nullptr}},  // its series linger
                    rates_of(activity.measures(Scope::kCgroup), recent, metric, ranked_by), recent,
                    activity.points_of_cgroup(target.path, ranked_by));
}

json::object busy_sum(const collect::SumPlan& plan, const collect::SumRow& row,
                      const history::Rates& recent, std::size_t ranked_by,
                      const history::Activity& activity) {
  json::object labels;
  for (std::size_t i = 0; i < plan.labels.size(); ++i) {
    labels[text(plan.labels[i])] = text(row.values[i]);
  }
  const auto metric = [&](const events::EventIdentity& event) {
    return exposition::family_name(plan, event);
  };
  return with_rates({{"labels", std::move(labels)}, {"members", row.cgroups}},
                    rates_of(activity.measures(Scope::kCgroup), recent, metric, ranked_by), recent,
                    activity.points_of_sum(plan.name, row.values, ranked_by));
}

/// The key of a rate that cgroups are ranked by, if it has one.
json::value key_of(Role role) {
  if (role == Role::kCpuTime) return "cpu_seconds_per_second";
  if (role == Role::kCycles) return "cycles_per_second";
  return role == Role::kInstructions ? json::value("instructions_per_second") : json::value();
}

/// The ranking of cgroups or of sums, behind the keys that the object has already.
template <typename ToJson>
json::object with_ranking(json::object object, const Ranking& ranking, const std::string& of,
                          const history::Activity& activity, const ToJson& to_json) {
  const auto if_ranked = [&](std::size_t count) {
    return ranking.measure ? json::value(count) : json::value();
  };
  object["ranked_by"] = ranking.measure
                            ? key_of(activity.measures(Scope::kCgroup)[*ranking.measure].role)
                            : json::value();
  object["busy_" + of] = if_ranked(ranking.busy);
  object["idle_" + of] = if_ranked(ranking.idle);
  object["top_" + of] = json_array(ranking.busiest, to_json);
  return object;
}

json::object host_activity(const history::Activity& activity) {
  const history::Rates recent = activity.recent_of_host();
  const auto metric = [](const events::EventIdentity& event) {
    return exposition::family_name(Scope::kCpu, event);
  };
  const std::vector<Rate> rates = rates_of(activity.measures(Scope::kCpu), recent, metric, 0);
  json::array shown;
  json::value cycles = json::array(activity.ages().size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    json::object object = rate_json(rates[i]);
    object["points"] = numbers(activity.points_of_host(i));
    if (rates[i].measure->role == Role::kCycles) cycles = object["points"];
    shown.push_back(std::move(object));
  }
  json::object host;  // without CPU time: its clock never stops
  add_use(rates, recent, host);
  host["points"] = std::move(cycles);
  host["rates"] = std::move(shown);
  return host;
}

json::object activity_json(const StatusInputs& inputs) {
  const history::Activity& activity = inputs.activity;
  static const std::vector<collect::CgroupTarget> kNone;
  const auto& targets = inputs.snapshot == nullptr ? kNone : inputs.snapshot->targets->cgroups;
  std::vector<Ranked> all;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].is_free() && targets[i].is_published)
      all.push_back({i, activity.recent_of_cgroup(targets[i].path)});
  }
  const Ranking ranking =
      rank(std::move(all), activity.measures(Scope::kCgroup).size(), kMaxBusy,
           [&](std::size_t a, std::size_t b) { return targets[a].path < targets[b].path; });
  json::array ages =
      json_array(activity.ages(), [](history::Activity::Seconds age) { return rounded(age); });
  return with_ranking({{"recent_seconds", rounded(activity.recent())},
                       {"span_seconds", rounded(activity.span())},
                       {"point_ages_seconds", std::move(ages)},
                       {"host", host_activity(activity)}},
                      ranking, "cgroups", activity, [&](const Ranked& each) {
                        return busy_cgroup(targets[each.place], each.recent, *ranking.measure,
                                           activity);
                      });
}

json::object sum_json(const StatusInputs& inputs, const collect::SumPlan& plan,
                      const collect::SumTable& table) {
  const history::Activity& activity = inputs.activity;
  std::size_t is_new = 0;  // still published as 0, so that no rate is known
  std::size_t members = 0;
  std::vector<Ranked> all;
  for (const collect::SumRow& row : table.rows) {
    is_new += row.is_new ? 1 : 0;
    members += row.cgroups;
    all.push_back({all.size(), activity.recent_of_sum(plan.name, row.values)});
  }
  const Ranking ranking =
      rank(std::move(all), activity.measures(Scope::kCgroup).size(), kMaxBusySums, std::less());
  return with_ranking({{"sum", text(plan.name)},
                       {"by", texts(plan.labels)},
                       {"sums_now", if_polled(inputs, table.rows.size())},
                       {"sums_limit", plan.max},
                       {"new_sums", if_polled(inputs, is_new)},
                       {"members", if_polled(inputs, members)},
                       {"members_left_out", if_polled(inputs, table.left_out)}},
                      ranking, "sums", activity, [&](const Ranked& each) {
                        return busy_sum(plan, table.rows[each.place], each.recent, *ranking.measure,
                                        activity);
                      });
}

json::array sums_json(const StatusInputs& inputs) {
  static const collect::SumTable kNone{};
  json::array sums;
  for (const collect::SumPlan& plan : plan_of(inputs).sums) {
    if (plan.is_series) continue;  // the last one: each of its cgroups is shown
    const bool is_known = inputs.snapshot != nullptr;
    sums.push_back(sum_json(inputs, plan, is_known ? inputs.snapshot->sums[sums.size()] : kNone));
  }
  return sums;
}

json::object directories(const collect::PollReport::CgroupDirectories& of) {
  return {{"followed", of.followed},
          {"unwatched", of.unwatched},
          {"beyond_limit", of.beyond_limit},
          {"path_too_long", of.path_too_long}};
}

/// Over the same time as the rates of cgroups, so that these add up to the machine with it; only
/// the largest parts are of the last interval.
json::object uncounted(const cgroup::UncountedUse::Use& use, const cgroup::Selection& selection,
                       const history::Activity& activity) {
  std::optional<cgroup::UncountedUse::Rate> all = use.rate;
  const auto [recent, machine] = activity.recent_cpu_time();
  if (machine.count() > 0) all = {recent / activity.recent(), recent / machine};
  const auto with_rate = [](json::object object,
                            const std::optional<cgroup::UncountedUse::Rate>& rate) {
    object["cpu_seconds_per_second"] = rate ? number(rounded(rate->cpus)) : json::value();
    object["cpu_time_ratio"] = rate ? number(rounded(rate->share)) : json::value();
    return object;
  };
  json::array largest = json_array(use.largest, [&](const cgroup::UncountedUse::Part& part) {
    return with_rate(
        {{"cgroup", text(part.text())}, {"reason", text(cgroup::why_uncounted(part, selection))}},
        part.rate);
  });
  return with_rate({{"largest", std::move(largest)}}, all);
}

json::object cgroups_json(const StatusInputs& inputs) {
  static const collect::TargetSet kNone{};
  const collect::TargetSet& targets =
      inputs.snapshot == nullptr ? kNone : *inputs.snapshot->targets;
  const collect::PollReport::State& last = inputs.last_poll;
  const auto known = [&](json::value value) { return if_polled(inputs, std::move(value)); };
  const bool lacks_any = targets.found->left_out > 0;
  const std::string_view bound = lacks_any ? targets.left_out_reason : std::string_view{};
  return {
      {"counted", known(targets.present - targets.idle)},
      {"idle", known(targets.idle)},
      {"waiting", known(targets.waiting)},
      {"lingering", known(targets.lingering())},
      {"left_out", known(targets.found->left_out)},
      {"left_out_by", known(text_or_null(bound))},
      {"left_out_setting", known(text_or_null(collect::bound_of(bound).setting))},
      {"left_out_paths", known(lacks_any ? texts(targets.found->left_out_paths) : json::array())},
      {"unreadable", known(targets.found->unreadable.size())},
      {"cpus_by_records", known(last.cpus_by_records)},
      {"cpus_by_descriptors", known(last.cpus_by_descriptors)},
      {"cpus_without_records",
       known(text_or_null(host::format_cpu_list(last.cpus_without_records)))},
      {"why_no_records", known(text_or_null(last.why_no_records))},
      {"directories", known(directories(last.cgroup_directories))},
      {"uncounted",
       known(last.uncounted ? json::value(uncounted(*last.uncounted, inputs.plan.cgroups.selection,
                                                    inputs.activity))
                            : json::value())},
      {"missed_total", inputs.cgroups_missed}};
}

json::object limits(const StatusInputs& inputs) {
  const auto& process = inputs.process;
  const collect::Budget& budget = inputs.plan.budget;
  return {{"open_files", whole(process ? process->open_fds : std::nullopt)},
          {"open_files_limit", whole(process ? std::optional(process->max_fds) : std::nullopt)},
          {"open_events", if_polled(inputs, inputs.last_poll.open_events)},
          {"open_events_limit", budget.max_open_events},
          {"series",
           inputs.snapshot ? json::value(collect::count_series(*inputs.snapshot)) : json::value()},
          {"series_limit", budget.max_series},
          {"cgroups_limit", budget.max_cgroups}};
}

json::value last_poll(const StatusInputs& inputs) {
  if (inputs.snapshot == nullptr) return {};
  const collect::PollReport::State& last = inputs.last_poll;
  return json::object{{"timestamp_seconds", timestamp(inputs.snapshot->taken)},
                      {"age_seconds", seconds_of(inputs.now - inputs.snapshot->taken)},
                      {"duration_seconds", seconds_of(last.duration)},
                      {"groups_off_pmu", last.groups_off_pmu},
                      {"targets_rotated_manually", last.targets_rotated_manually}};
}

json::object polls(const StatusInputs& inputs) {
  return {{"interval_seconds", seconds_of(inputs.interval)},
          {"polls_total", inputs.polls},
          {"overruns_total", inputs.overruns},
          {"last", last_poll(inputs)}};
}

json::object configuration(const ConfigurationLoad& load) {
  return {{"file", text_or_null(load.file)},
          {"in_force_since_timestamp_seconds", timestamp(load.in_force_since)},
          {"last_load_timestamp_seconds", timestamp(load.last_tried)},
          {"last_load_successful", load.errors.empty()},
          {"errors", texts(load.errors)}};
}

json::value web_configuration(const std::optional<WebConfigurationLoad>& web) {
  if (!web) return {};
  json::object object = configuration(web->load);
  object["protections"] = json_array(web->protections, [](const access::ProtectionState& each) {
    return json::object{{"protection", each.protection}, {"state", text(each.state)}};
  });
  object["downgrades"] = texts(web->downgrades);
  return object;
}

json::object links(const StatusInputs& inputs) {
  return {{"metrics", text(inputs.telemetry_path)},
          {"status", "/api/v1/status"},
          {"healthy", "/-/healthy"},
          {"ready", "/-/ready"}};
}

}  // namespace

std::string status_json(const StatusInputs& inputs) {
  const plan::Plan& plan = inputs.plan;
  const json::object object{{"status_version", kStatusVersion},
                            {"name", "perf_event_exporter"},
                            {"version", text(inputs.version)},
                            {"timestamp_seconds", timestamp(inputs.now)},
                            {"start_timestamp_seconds", timestamp(inputs.started)},
                            {"uptime_seconds", seconds_of(inputs.now - inputs.started)},
                            {"machine", machine(inputs)},
                            {"groups", groups_json(inputs)},
                            {"not_counted", json_array(by_reason(plan), not_counted)},
                            {"left_out_groups", json_array(plan.left_out_groups, left_out_group)},
                            {"warnings", texts(inputs.warnings)},
                            {"activity", activity_json(inputs)},
                            {"cgroups", cgroups_json(inputs)},
                            {"sums", sums_json(inputs)},
                            {"limits", limits(inputs)},
                            {"polls", polls(inputs)},
                            {"configuration", configuration(inputs.configuration)},
                            {"web_configuration", web_configuration(inputs.web_configuration)},
                            {"links", links(inputs)}};
  return printable(json::serialize(object)) + '\n';  // safe on a terminal, too
}

}  // namespace pex::daemon
