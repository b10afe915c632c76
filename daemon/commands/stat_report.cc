#include "daemon/commands/stat_report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <iterator>
#include <ostream>

#include "base/duration.h"
#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/service/human_format.h"
#include "daemon/status/json_array.h"
#include "exposition/metric_names.h"
#include "plan/availability.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;
using Coverage = StatValue::Coverage;
using Row = std::vector<std::string>;

/// In the order of Coverage.
constexpr std::string_view kCoverages[] = {"complete", "scaled", "incomplete", "none"};

bool has_value(const StatValue& value) { return value.coverage != Coverage::kNone; }

bool has_times(const StatValue& value) {
  return value.event.available && value.times.enabled.count() > 0;
}

double scale_of(const StatValue& value) {
  return value.event.identity ? value.event.identity->scale : 1;
}

Unit unit_of(const StatValue& value) {
  return value.event.identity ? value.event.identity->unit : Unit::kEvents;
}

/// Tasks are counted as cgroups are.
std::string metric_of(const StatValue& value) {
  return value.event.identity ? exposition::family_name(Scope::kCgroup, *value.event.identity)
                              : std::string{};
}

/// In the unit of the metric: whole where one count is one of these.
std::string amount(std::uint64_t count, const StatValue& value) {
  constexpr int kDecimals = 6;
  if (scale_of(value) == 1) return std::to_string(count);
  return with_decimals(static_cast<double>(count) * scale_of(value), kDecimals);
}

std::string estimate_text(const StatValue& value) {
  if (!value.event.available) return "not counted";
  if (!has_value(value)) return "unknown";
  return (value.coverage == Coverage::kIncomplete ? ">" : "") + amount(value.total.value, value);
}

/// Relative to the estimate, where that is not 0.
std::string error_text(const StatValue& value) {
  if (!has_value(value)) return "-";
  if (value.coverage == Coverage::kComplete) return "exact";
  if (!value.standard_error) return "unknown";
  const auto estimate = static_cast<double>(value.total.value);
  if (estimate == 0) return with_decimals(*value.standard_error * scale_of(value), 1);
  return with_decimals(100 * *value.standard_error / estimate, 2) + "%";
}

std::string share_text(const StatValue& value) {
  if (!has_times(value)) return "-";
  const double share = static_cast<double>(value.times.running.count()) /
                       static_cast<double>(value.times.enabled.count());
  return with_decimals(100 * share, 1) + "%";
}

Row row_of(const StatValue& value) {
  return {printable(value.event.group),
          printable(value.event.event),
          has_value(value) || has_times(value) ? amount(value.total.observed, value) : "-",
          estimate_text(value),
          error_text(value),
          share_text(value),
          value.event.identity ? std::string(name_of(unit_of(value))) : "-",
          value.event.identity ? metric_of(value) : "-"};
}

/// With the reason for what is not counted.
std::vector<std::string> reasons(const std::vector<StatValue>& values) {
  plan::Plan plan;
  for (const StatValue& value : values) {
    plan.events.push_back(value.event);
    if (value.event.available) plan.counting.cpu.groups.emplace_back();
  }
  return plan::left_out_lines(plan, program_words);
}

/// What the marks in the table mean.
std::vector<std::string> notes(const std::vector<StatValue>& values) {
  const auto is_any = [&](auto is_so) { return std::any_of(values.begin(), values.end(), is_so); };
  std::vector<std::string> lines;
  if (is_any([](const StatValue& value) { return value.coverage == Coverage::kIncomplete; })) {
    lines.emplace_back(
        "a part of the time was not measured where the estimate begins with '>': it is too low");
  }
  if (is_any([](const StatValue& value) { return value.event.available && !has_value(value); })) {
    lines.emplace_back("events with an unknown estimate never had the PMU");
  }
  return lines;
}

std::string end_text(const StatReport& report) {
  if (!report.elapsed) return report.command.empty() ? "" : "the command was not run";
  std::string text = duration_text(*report.elapsed) + " elapsed";
  if (!report.end) return text;
  const perf::CommandEnd& end = *report.end;
  if (end.signal != 0)
    return text + "; signal " + std::to_string(end.signal) + " ended the command";
  return end.status == 0 ? text : text + "; exit status " + std::to_string(end.status);
}

/// A count in the unit of the metric; an integer where it is one.
json::value in_unit(std::uint64_t count, const StatValue& value) {
  if (scale_of(value) == 1) return count;
  return static_cast<double>(count) * scale_of(value);
}

json::object value_json(const StatValue& value) {
  json::object object{{"event", value.event.event},
                      {"group", value.event.group},
                      {"coverage", kCoverages[static_cast<std::size_t>(value.coverage)]}};
  if (value.event.identity) {
    object["metric"] = metric_of(value);
    object["unit"] = name_of(unit_of(value));
  }
  if (!value.event.available) {
    object["reason"] = worded(value.event.reason);
    object["estimate"] = nullptr;
    return object;
  }
  object["observed"] = in_unit(value.total.observed, value);
  object["estimate"] = has_value(value) ? in_unit(value.total.value, value) : json::value();
  object["standard_error"] = has_value(value) && value.standard_error
                                 ? json::value(*value.standard_error * scale_of(value))
                                 : json::value();
  object["enabled_seconds"] = seconds_of(value.times.enabled);
  object["running_seconds"] = seconds_of(value.times.running);
  object["imputed_seconds"] = seconds_of(value.times.imputed);
  object["unmeasured_seconds"] = seconds_of(value.times.unmeasured);
  return object;
}

json::object ended(const StatReport& report) {
  json::object object;
  object["pid"] = report.pid;
  if (!report.command.empty()) {
    object["command"] = json_array(report.command, as_utf8);
    object["run"] = report.elapsed.has_value();
  }
  if (report.end) {
    object["exit_status"] = report.end->signal == 0 ? json::value(report.end->status) : nullptr;
    object["signal"] = report.end->signal == 0 ? nullptr : json::value(report.end->signal);
  }
  if (report.elapsed) object["elapsed_seconds"] = seconds_of(*report.elapsed);
  return object;
}

}  // namespace

void print_stat_table(std::ostream& out, const StatReport& report) {
  std::vector<Row> rows{
      {"GROUP", "EVENT", "OBSERVED", "ESTIMATE", "STD ERROR", "ON PMU", "UNIT", "METRIC"}};
  for (const StatValue& value : report.values) rows.push_back(row_of(value));
  print_table(out, rows, {false, false, true, true, true, true});
  if (const std::string text = end_text(report); !text.empty()) out << '\n' << text << '\n';
  for (const std::string& line : notes(report.values)) out << '\n' << line << '\n';
  for (const std::string& line : reasons(report.values)) out << '\n' << printable(line) << '\n';
  for (const Error& warning : report.warnings) out << '\n' << printable(worded(warning)) << '\n';
}

void print_stat_json(std::ostream& out, const StatReport& report) {
  json::object object = ended(report);
  object["events"] = json_array(report.values, value_json);
  object["warnings"] =
      json_array(report.warnings, [](const Error& warning) { return worded(warning); });
  out << printable(json::serialize(object)) << '\n';
}

}  // namespace pex::daemon
