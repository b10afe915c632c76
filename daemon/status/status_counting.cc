#include <array>
#include <chrono>

#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"
#include "daemon/status/sparkline.h"
#include "daemon/status/status_sections.h"

namespace pex::daemon {
namespace {

using Measure = history::Activity::Measure;

constexpr std::string_view kIpc = "<abbr title=\"instructions per cycle\">IPC</abbr>";

std::string text_of(history::Activity::Seconds duration) {
  return age_text(std::chrono::round<std::chrono::seconds>(duration));
}

std::string value_html(std::optional<double> value) {
  return value ? figure(*value) : unknown_html();
}

/// What Kubernetes or an operator calls it; ids and what the path tells anyway are left to
/// /metrics.
std::string names_of(const Status::BusyCgroup& cgroup) {
  static constexpr std::string_view kNames[] = {"namespace", "pod", "container"};
  std::string names;
  for (const std::string_view name : kNames) {
    for (const auto& [label, value] : cgroup.labels) {
      if (label == name) names += (names.empty() ? "" : " / ") + html(value);
    }
  }
  return names.empty() ? "" : element("small", names);
}

/// Which columns the table of cgroups has: none that nothing is known of.
struct Columns {
  bool by_time;
  bool has_cycles;
  bool has_ratio;
};

Columns columns_of(const Status::Use& use) {
  Columns columns{use.ranked_by == Measure::kCpuTime, false, false};
  for (const Status::BusyCgroup& cgroup : use.cgroups) {
    columns.has_cycles = columns.has_cycles || cgroup.recent.cycles;
    columns.has_ratio = columns.has_ratio || cgroup.recent.instructions_per_cycle;
  }
  return columns;
}

std::string busy_row(const Status::BusyCgroup& cgroup, const Status::Use& use, Columns columns) {
  const std::string gone = cgroup.is_gone ? " " + unknown_html("gone") : "";
  const std::string what = columns.by_time ? "CPUs used" : "Cycles per second";
  std::string cells = row_title(html_path(cgroup.path) + gone + names_of(cgroup), "path");
  if (columns.by_time) cells += cell("CPUs", value_html(cgroup.recent.cpus), "n");
  if (!columns.by_time) cells += cell("Cycles/s", value_html(cgroup.recent.cycles), "n");
  cells += cell("Last " + text_of(use.span), sparkline(what, cgroup.points, use.ages, use.span),
                "spark-cell");
  cells += cell("Peak", value_html(peak_of(cgroup.points)), "n");
  if (columns.has_ratio) {
    cells += cell("IPC", value_html(cgroup.recent.instructions_per_cycle), "n");
  }
  if (columns.by_time && columns.has_cycles) {
    cells += cell("Cycles/s", value_html(cgroup.recent.cycles), "n");
  }
  return row(cells);
}

std::string busy_column_titles(const Status::Use& use, Columns columns) {
  std::string titles = column_title("Cgroup");
  titles += column_title(columns.by_time ? "CPUs" : "Cycles/s", "n");
  titles += column_title("Last " + text_of(use.span), "spark-cell");
  titles += column_title("Peak", "n");
  if (columns.has_ratio) titles += column_title(kIpc, "n");
  if (columns.by_time && columns.has_cycles) titles += column_title("Cycles/s", "n");
  return titles;
}

std::string busy_caption(const Status& status, Columns columns) {
  const Status::Use& use = status.use;
  std::string text = columns.by_time ? "By CPU time, in CPU seconds per second"
                                     : "By cycles per second, as their CPU time is not counted";
  text += ", over the last " + text_of(use.recent) + ".";
  if (status.cgroups) {
    text += " Shown are " + count_text(use.cgroups.size()) + " of " +
            count_text(status.cgroups->counted + status.cgroups->lingering) + ".";
  }
  if (!columns.has_ratio) text += " Instructions per cycle are not known.";
  return text;
}

std::string why_no_busiest(const Status& status) {
  if (!status.cgroups) return "Nothing has been read yet.";
  if (status.cgroups->counted + status.cgroups->lingering == 0) return "No cgroup is counted.";
  if (status.use.ages.empty()) return "Rates are known from the second reading on.";
  return "Cgroups can be compared by task-clock or cycles, and neither is known of them.";
}

/// By Aggregation.
constexpr std::array<std::string_view, kAggregations> kPlaces = {
    "each CPU", "each core", "each die", "each package", "each NUMA node", "the host"};

std::string_view place_of(const Status::Group& group) {
  return group.aggregation ? kPlaces[static_cast<std::size_t>(*group.aggregation)] : "each cgroup";
}

/// Of an event's name in bytes, to be in one line even where that is short.
constexpr std::size_t kMaxWhole = 32;

std::string codes_html(const std::vector<std::string>& names) {
  std::string codes;
  for (const std::string& name : names) {
    const bool is_short = name.size() <= kMaxWhole;
    codes += (codes.empty() ? "" : ", ") +
             element(is_short ? "code class=\"whole\"" : "code", html(name));
  }
  return codes;
}

std::string events_html(const Status::Group& group) {
  std::vector<std::string> names;
  for (const Status::Event& event : group.events) names.push_back(event.name);
  return codes_html(names);
}

std::string targets_html(const Status::Group& group) {
  if (!group.targets) return unknown_html();
  const std::optional<double> coverage = group.coverage_ratio();
  if (!coverage) return element("span class=\"soft\"", "none");
  const std::string text =
      count_text(group.targets->counted) + " of " + count_text(group.targets->wanted);
  return bar(*coverage) + (*coverage < 1 ? element("span class=\"warn\"", text) : text);
}

/// What else there is to say of the time on the PMU, in small print.
std::string small_print(const std::vector<std::string>& lines) {
  std::string html;
  for (const std::string& line : lines) html += element("small class=\"below\"", line);
  return html;
}

void add_lost_time(const Status::Group& group, std::vector<std::string>& lines) {
  const auto add = [&](std::chrono::nanoseconds time, const char* what) {
    if (time > std::chrono::nanoseconds{0}) lines.push_back(duration_text(time) + what);
  };
  add(group.times->imputed, " filled from history");
  add(group.times->unmeasured, " in no count");
}

/// How much of the time that it wanted the PMU it had it: lately, where that is known.
std::string running_html(const Status::Group& group) {
  if (!group.shares_pmu) return "always counting";
  const std::optional<double> all = group.running_ratio();
  if (!all) return unknown_html();
  const double shown = group.recent_running_ratio.value_or(*all);
  const bool is_always = *all == 1 && shown == 1;
  std::vector<std::string> lines;
  if (group.recent_running_ratio && !is_always) {
    lines.push_back(percent(*all) + " since it was loaded");
  }
  add_lost_time(group, lines);
  return bar(shown) + (is_always ? "always on the PMU" : percent(shown)) + small_print(lines);
}

std::string group_row(const Status::Group& group) {
  std::string name = html(group.name);
  if (!group.pmu.empty()) name += element("small", "on " + html(group.pmu));
  if (group.is_pinned) name += element("small", "pinned");
  return row(row_title(name, "whole") + cell("Counted on", place_of(group), "whole") +
             cell("Events", events_html(group)) + cell("Targets", targets_html(group), "whole") +
             cell("On the PMU", running_html(group), "whole"));
}

std::string lines_html(const std::vector<std::string>& lines) {
  std::string items;
  for (const std::string& line : lines) items += element("li", html(line));
  return element("ul class=\"list\"", items);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) (text += text.empty() ? "" : ", ") += html(name);
  return text;
}

std::string not_counted_row(const Status::NotCounted& each) {
  const std::string remedy =
      each.remedy.empty() ? element("span class=\"soft\"", "nothing known") : html(each.remedy);
  const std::string events =
      codes_html(each.events) + element("small", "of " + joined(each.groups));
  return row(row_title(events, "events") + cell("Why", html(each.reason)) +
             cell("What to do", remedy));
}

/// Where the limit is set that collect::kCgroupBounds name.
struct LimitEntry {
  std::string_view bound;
  std::string_view setting;
};
constexpr LimitEntry kLimits[] = {{"max", "cgroups.max"},
                                  {"max_open_events", "limits.max_open_events"},
                                  {"max_series", "limits.max_series"},
                                  {"open_files", "LimitNOFILE="}};

std::string limit_of(const Status::Cgroups& cgroups) {
  for (const LimitEntry& row : kLimits) {
    if (row.bound == cgroups.left_out_by) return std::string(row.setting);
  }
  return html(cgroups.left_out_by);
}

}  // namespace

std::string busiest_html(const Status& status) {
  const Status::Use& use = status.use;
  if (use.cgroups.empty()) {
    return section("busiest", "Busiest cgroups", element("p", why_no_busiest(status)));
  }
  const Columns columns = columns_of(use);
  std::string rows;
  for (const Status::BusyCgroup& cgroup : use.cgroups) rows += busy_row(cgroup, use, columns);
  return section("busiest", "Busiest cgroups",
                 table(busy_caption(status, columns), busy_column_titles(use, columns), rows));
}

std::string groups_html(const Status& status) {
  if (status.groups.empty()) return {};
  std::string rows;
  for (const Status::Group& group : status.groups) rows += group_row(group);
  const std::string caption =
      "A target is a CPU, or a cgroup on a CPU. Groups that do not fit on the PMU together take "
      "turns, and their counts are scaled up.";
  const std::string titles = column_title("Group") + column_title("Counted on") +
                             column_title("Events") + column_title("Targets") +
                             column_title("Time on the PMU");
  return section("groups", "What is counted", table(caption, titles, rows));
}

std::string not_counted_html(const Status& status) {
  if (status.not_counted.empty()) return {};
  std::string rows;
  for (const Status::NotCounted& each : status.not_counted) rows += not_counted_row(each);
  const std::string titles =
      column_title("Events") + column_title("Why") + column_title("What to do");
  return section("not-counted", "What is not counted, and why", table("", titles, rows));
}

std::string remarks_html(const Status& status) {
  if (status.remarks.empty()) return {};
  return section("remarks", "Remarks", lines_html(status.remarks));
}

std::string left_out_html(const Status& status) {
  if (!status.cgroups || status.cgroups->left_out == 0) return {};
  const Status::Cgroups& cgroups = *status.cgroups;
  std::string paths;
  for (const std::string& path : cgroups.left_out_paths) {
    paths += element("li class=\"path\"", html_path(path));
  }
  const std::string text = count_text(cgroups.left_out) +
                           (cgroups.left_out == 1 ? " matches and is" : " match and are") +
                           " not counted, because of " + element("code", limit_of(cgroups)) + ".";
  const bool is_cut = cgroups.left_out > cgroups.left_out_paths.size();
  const std::string title =
      is_cut ? "The first " + count_text(cgroups.left_out_paths.size()) : "Their paths";
  return section("left-out", "Cgroups left out",
                 element("p", text) + element("details id=\"left-out-paths\"",
                                              element("summary id=\"left-out-summary\"", title) +
                                                  element("ul class=\"list\"", paths)));
}

}  // namespace pex::daemon
