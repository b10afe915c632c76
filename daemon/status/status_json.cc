#include "daemon/status/status_json.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/boot_clock.h"
#include "base/duration.h"
#include "base/lookup.h"
#include "base/utf8.h"
#include "daemon/status/json_array.h"
#include "exposition/metric_names.h"
#include "host/cpu_list.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;

constexpr int kStatusVersion = 1;

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

json::object labels(const std::vector<cgroup::Label>& list) {
  json::object object;
  for (const auto& [name, value] : list) object[text(name)] = text(value);
  return object;
}

json::array pmus(const std::vector<Status::Pmu>& list) {
  return json_array(list, [](const Status::Pmu& pmu) {
    return json::object{{"name", text(pmu.name)}, {"cpus", host::format_cpu_list(pmu.cpus)}};
  });
}

json::object machine(const Status& status) {
  json::object object{{"online_cpus", nullptr},   {"cpus_online", nullptr},
                      {"cpus_counted", nullptr},  {"late_cpus", nullptr},
                      {"left_out_cpus", nullptr}, {"pmus", nullptr}};
  if (status.machine) {
    object["online_cpus"] = host::format_cpu_list(status.machine->online_cpus);
    object["cpus_online"] = status.machine->online_cpus.size();
    object["cpus_counted"] =
        status.machine->online_cpus.size() - status.machine->left_out_cpus.size();
    object["late_cpus"] = host::format_cpu_list(status.machine->late_cpus);
    object["left_out_cpus"] = host::format_cpu_list(status.machine->left_out_cpus);
    object["pmus"] = pmus(status.machine->pmus);
  }
  object["reference_events"] = texts(status.reference);
  return object;
}

json::array events(const std::vector<Status::Event>& list) {
  return json_array(list, [](const Status::Event& event) {
    return json::object{{"event", text(event.name)}, {"metric", text(event.metric)}};
  });
}

/// A member that may be unknown.
template <typename Of>
json::value count(const std::optional<Of>& of, std::size_t Of::*member) {
  return of ? json::value((*of).*member) : json::value();
}

json::object group(const Status::Group& group) {
  const auto time = [&](std::chrono::nanoseconds collect::GroupTimes::*member) {
    return group.times ? json::value(seconds_of((*group.times).*member)) : json::value();
  };
  json::object object{
      {"group", text(group.name)},
      {"scope", name_of(group.scope)},
      {"aggregate", group.aggregation ? json::value(name_of(*group.aggregation)) : json::value()},
      {"pmu", text_or_null(group.pmu)},
      {"events", events(group.events)},
      {"rows", count(group.targets, &Status::Targets::rows)},
      {"targets_expected", count(group.targets, &Status::Targets::wanted)},
      {"targets_counted", count(group.targets, &Status::Targets::counted)},
      {"coverage_ratio", number(group.coverage_ratio())},
      {"shares_pmu", group.shares_pmu},
      {"pinned", group.is_pinned}};
  object["enabled_seconds"] = time(&collect::GroupTimes::enabled);
  object["running_seconds"] = time(&collect::GroupTimes::running);
  object["imputed_seconds"] = time(&collect::GroupTimes::imputed);
  object["unmeasured_seconds"] = time(&collect::GroupTimes::unmeasured);
  object["running_ratio"] = number(group.running_ratio());
  object["recent_running_ratio"] = number(group.recent_running_ratio);
  return object;
}

json::object not_counted_json(const Status::NotCounted& of) {
  return {{"events", texts(of.events)},
          {"groups", texts(of.groups)},
          {"errno", of.code == 0 ? json::value() : json::value(errno_name(of.code))},
          {"reason", text(of.reason)},
          {"remedy", text_or_null(of.remedy)}};
}

json::object left_out_group(const Status::LeftOutGroup& group) {
  return {{"group", text(group.name)}, {"reason", text(group.reason)}};
}

/// The rate of the event with this role; nothing without one.
json::value rate_with(history::Role role, const std::vector<Status::Rate>& rates) {
  const Status::Rate* rate = lookup(rates, &Status::Rate::role, role);
  return rate == nullptr ? json::value() : number(rate->per_second);
}

void add_use(const std::vector<Status::Rate>& rates, std::optional<double> instructions_per_cycle,
             json::object& object) {
  object["cycles_per_second"] = rate_with(history::Role::kCycles, rates);
  object["instructions_per_second"] = rate_with(history::Role::kInstructions, rates);
  object["instructions_per_cycle"] = number(instructions_per_cycle);
}

json::object rate(const Status::Rate& rate) {
  return {{"event", text(rate.event.name)},
          {"metric", text(rate.event.metric)},
          {"unit", name_of(rate.unit)},
          {"per_second", number(rate.per_second)}};
}

/// The key of a rate that cgroups are ranked by, if it has one.
json::value ranked_by(std::optional<history::Role> role) {
  if (role == history::Role::kCpuTime) return "cpu_seconds_per_second";
  if (role == history::Role::kCycles) return "cycles_per_second";
  return role == history::Role::kInstructions ? json::value("instructions_per_second")
                                              : json::value();
}

/// The rates of a busy cgroup or sum, behind the keys that it has already.
json::object with_rates(json::object object, const Status::Busy& busy) {
  object["cpu_seconds_per_second"] = rate_with(history::Role::kCpuTime, busy.rates);
  add_use(busy.rates, busy.instructions_per_cycle, object);
  object["rates"] = json_array(busy.rates, rate);
  object["points"] = numbers(busy.points);
  return object;
}

json::object busy_cgroup_json(const Status::BusyCgroup& busy) {
  return with_rates(
      {{"cgroup", text(busy.path)}, {"labels", labels(busy.labels)}, {"gone", busy.is_gone}}, busy);
}

json::object busy_sum_json(const Status::BusySum& busy) {
  return with_rates({{"labels", labels(busy.labels)}, {"members", busy.members}}, busy);
}

json::object host_activity(const Status::Use& use) {
  std::vector<Status::Rate> all;
  json::array rates;
  json::value cycles = json::array(use.ages.size());
  for (const auto& [of, points] : use.host) {
    all.push_back(of);
    json::object object = rate(of);
    object["points"] = numbers(points);
    if (of.role == history::Role::kCycles) cycles = object["points"];
    rates.push_back(std::move(object));
  }
  json::object host;  // without CPU time: its clock never stops
  add_use(all, use.host_instructions_per_cycle, host);
  host["points"] = std::move(cycles);
  host["rates"] = std::move(rates);
  return host;
}

json::object activity(const Status::Use& use) {
  json::array ages =
      json_array(use.ages, [](history::Activity::Seconds age) { return rounded(age); });
  const auto if_ranked = [&](std::size_t number) {
    return use.ranked_by ? json::value(number) : json::value();
  };
  return {{"recent_seconds", rounded(use.recent)},
          {"span_seconds", rounded(use.span)},
          {"point_ages_seconds", std::move(ages)},
          {"host", host_activity(use)},
          {"ranked_by", ranked_by(use.ranked_by)},
          {"busy_cgroups", if_ranked(use.busy_cgroups)},
          {"idle_cgroups", if_ranked(use.idle_cgroups)},
          {"top_cgroups", json_array(use.cgroups, busy_cgroup_json)}};
}

json::object sum(const Status::Sum& of) {
  using Numbers = Status::Sum::Numbers;
  const auto if_ranked = [&](std::size_t number) {
    return of.ranked_by ? json::value(number) : json::value();
  };
  return {{"sum", text(of.name)},
          {"by", texts(of.labels)},
          {"sums_now", count(of.numbers, &Numbers::sums)},
          {"sums_limit", of.max},
          {"new_sums", count(of.numbers, &Numbers::is_new)},
          {"members", count(of.numbers, &Numbers::members)},
          {"members_left_out", count(of.numbers, &Numbers::members_left_out)},
          {"ranked_by", ranked_by(of.ranked_by)},
          {"busy_sums", if_ranked(of.busy)},
          {"idle_sums", if_ranked(of.idle)},
          {"top_sums", json_array(of.busiest, busy_sum_json)}};
}

json::object directories(const collect::PollReport::CgroupDirectories& of) {
  return {{"followed", of.followed},
          {"unwatched", of.unwatched},
          {"beyond_limit", of.beyond_limit},
          {"path_too_long", of.path_too_long}};
}

json::value uncounted(const std::optional<Status::Uncounted>& of) {
  if (!of) return {};
  const auto with_rate = [](json::object object,
                            const std::optional<cgroup::UncountedUse::Rate>& rate) {
    object["cpu_seconds_per_second"] = rate ? number(rounded(rate->cpus)) : json::value();
    object["cpu_time_ratio"] = rate ? number(rounded(rate->share)) : json::value();
    return object;
  };
  json::array largest = json_array(of->largest, [&](const Status::Uncounted::Part& part) {
    return with_rate({{"cgroup", text(part.path)}, {"reason", text(part.reason)}}, part.rate);
  });
  return with_rate({{"largest", std::move(largest)}}, of->rate);
}

json::object cgroups(const Status& status) {
  using Cgroups = Status::Cgroups;
  const std::optional<Cgroups>& of = status.cgroups;
  return {{"counted", count(of, &Cgroups::counted)},
          {"idle", count(of, &Cgroups::idle)},
          {"waiting", count(of, &Cgroups::waiting)},
          {"lingering", count(of, &Cgroups::lingering)},
          {"left_out", count(of, &Cgroups::left_out)},
          {"left_out_by", of ? text_or_null(of->left_out_by) : json::value()},
          {"left_out_setting", of ? text_or_null(of->left_out_setting) : json::value()},
          {"left_out_paths", of ? json::value(texts(of->left_out_paths)) : json::value()},
          {"unreadable", count(of, &Cgroups::unreadable)},
          {"cpus_by_records", count(of, &Cgroups::cpus_by_records)},
          {"cpus_by_descriptors", count(of, &Cgroups::cpus_by_descriptors)},
          {"cpus_without_records",
           of ? text_or_null(host::format_cpu_list(of->cpus_without_records)) : json::value()},
          {"why_no_records", of ? text_or_null(of->why_no_records) : json::value()},
          {"directories", of ? directories(of->directories) : json::value()},
          {"uncounted", of ? uncounted(of->uncounted) : json::value()},
          {"missed_total", status.cgroups_missed}};
}

json::object limits(const Status::Limits& of) {
  return {{"open_files", whole(of.open_files)},   {"open_files_limit", whole(of.max_open_files)},
          {"open_events", whole(of.open_events)}, {"open_events_limit", of.max_open_events},
          {"series", whole(of.series)},           {"series_limit", of.max_series},
          {"cgroups_limit", of.max_cgroups}};
}

json::value last_poll(const Status& status) {
  if (!status.last_poll) return {};
  const Status::Poll& poll = *status.last_poll;
  return json::object{{"timestamp_seconds", timestamp(poll.taken)},
                      {"age_seconds", seconds_of(status.now - poll.taken)},
                      {"duration_seconds", seconds_of(poll.duration)},
                      {"groups_off_pmu", poll.groups_off_pmu},
                      {"targets_rotated_manually", poll.targets_rotated_manually}};
}

json::object polls(const Status& status) {
  return {{"interval_seconds", seconds_of(status.interval)},
          {"polls_total", status.polls},
          {"overruns_total", status.overruns},
          {"last", last_poll(status)}};
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

json::object links(const Status& status) {
  return {{"metrics", text(status.telemetry_path)},
          {"status", "/api/v1/status"},
          {"healthy", "/-/healthy"},
          {"ready", "/-/ready"}};
}

}  // namespace

std::string status_json(const Status& status) {
  const json::object object{{"status_version", kStatusVersion},
                            {"name", "perf_event_exporter"},
                            {"version", text(status.version)},
                            {"timestamp_seconds", timestamp(status.now)},
                            {"start_timestamp_seconds", timestamp(status.started)},
                            {"uptime_seconds", seconds_of(status.now - status.started)},
                            {"machine", machine(status)},
                            {"groups", json_array(status.groups, group)},
                            {"not_counted", json_array(status.not_counted, not_counted_json)},
                            {"left_out_groups", json_array(status.left_out_groups, left_out_group)},
                            {"warnings", texts(status.warnings)},
                            {"activity", activity(status.use)},
                            {"cgroups", cgroups(status)},
                            {"sums", json_array(status.sums, sum)},
                            {"limits", limits(status.limits)},
                            {"polls", polls(status)},
                            {"configuration", configuration(status.configuration)},
                            {"web_configuration", web_configuration(status.web_configuration)},
                            {"links", links(status)}};
  return printable(json::serialize(object)) + '\n';  // safe on a terminal, too
}

}  // namespace pex::daemon
