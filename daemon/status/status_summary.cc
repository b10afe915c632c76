#include "base/text.h"
#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"
#include "daemon/status/sparkline.h"
#include "daemon/status/status_sections.h"
#include "host/cpu_list.h"

namespace pex::daemon {
namespace {

std::string plural(std::size_t number, const std::string& one, const std::string& many) {
  return count_text(number) + " " + (number == 1 ? one : many);
}

/// A word that says how it is, in a colour that says the same.
std::string notice(const std::string& style, const std::string& word, const std::string& text) {
  return element("li", element("strong class=\"" + style + "\"", word) + " " + text);
}

std::string link(const std::string& id, const std::string& text) {
  return element("a id=\"to-" + id + "\" href=\"#" + id + "\"", text);
}

std::size_t events_in(const Status& status, Scope scope) {
  std::size_t events = 0;
  for (const Status::Group& group : status.groups) {
    if (group.scope == scope) events += group.events.size();
  }
  return events;
}

std::string counting_notice(const Status& status) {
  const std::size_t check_cpus = events_in(status, Scope::kCpu);
  const std::size_t in_cgroups = events_in(status, Scope::kCgroup);
  if (check_cpus + in_cgroups == 0) {
    return notice("bad", "Nothing is counted.",
                  "No configured event can be counted on this machine.");
  }
  if (!status.machine || !status.cgroups) {
    return notice("soft", "Starting.", "The first poll has not ended yet.");
  }
  std::string text;
  if (check_cpus > 0) {
    text = plural(check_cpus, "event", "events") + " on " +
           plural(status.machine->online_cpus.size() - status.machine->left_out_cpus.size(), "CPU",
                  "CPUs");
  }
  if (in_cgroups > 0) {
    const std::size_t cgroups = status.cgroups->counted;
    text += (text.empty() ? "" : ", ") + plural(in_cgroups, "event", "events") +
            (cgroups == 0 ? " in each cgroup, of which there is none"
                          : " in each of " + plural(cgroups, "cgroup", "cgroups"));
  }
  return notice("good", "Counting", text + ".");
}

std::size_t events_not_counted(const Status& status) {
  std::size_t events = 0;
  for (const Status::NotCounted& each : status.not_counted) events += each.events.size();
  return events;
}

std::string troubles_html(const Status& status) {
  std::string items;
  if (!status.configuration.mistakes.empty()) {
    items += notice("bad", "Not reloaded:",
                    "the last " + link("configuration", "configuration") +
                        " had mistakes, and the one before stays in force.");
  }
  if (status.web_configuration && !status.web_configuration->load.mistakes.empty()) {
    items += notice("bad", "Not reloaded:",
                    "the last " + link("web-configuration", "web configuration") +
                        " is not adopted, and the one before stays in force.");
  }
  if (status.web_configuration && !status.web_configuration->downgrades.empty()) {
    items += notice("warn", "Less protected:",
                    "the last change of the " + link("web-configuration", "web configuration") +
                        " lowered a protection.");
  }
  if (const std::size_t events = events_not_counted(status); events > 0) {
    items +=
        notice("warn", "Not counted:",
               link("not-counted", plural(events, "event", "events")) + " of the configuration.");
  }
  if (status.cgroups && status.cgroups->left_out > 0) {
    items += notice("warn", "Left out:",
                    link("left-out", plural(status.cgroups->left_out, "cgroup", "cgroups")) +
                        " because of a limit.");
  }
  if (status.cgroups && status.cgroups->not_followed() > 0) {
    items += notice("warn", "Not followed:",
                    plural(status.cgroups->not_followed(), "directory", "directories") +
                        " of cgroups, beyond the limit or with paths that are too long.");
  }
  if (!status.remarks.empty()) {
    items += notice("warn", "Remarked:",
                    link("remarks", plural(status.remarks.size(), "remark", "remarks")) + ".");
  }
  if (status.machine && !status.machine->late_cpus.empty()) {
    const std::vector<int>& late = status.machine->late_cpus;
    items += notice("bad", "Late:",
                    "CPU " + html(host::format_cpu_list(late)) +
                        " gave no answer in time, so what was counted there before is shown.");
  }
  if (status.last_poll && status.last_poll->groups_off_pmu > 0) {
    items += notice("warn", "Off the PMU:",
                    plural(status.last_poll->groups_off_pmu, "pinned group", "pinned groups") +
                        " without the place that was asked for.");
  }
  return items;
}

/// `value` and `note` are HTML.
std::string figure_html(const std::string& title, const std::string& value,
                        const std::string& note) {
  return element("div",
                 element("dt", title) + element("dd", value) + element("dd class=\"note\"", note));
}

std::string poll_figure(const Status& status) {
  const std::string interval = "every " + format_duration(status.interval);
  if (!status.last_poll) return figure_html("Last poll", unknown_html("none yet"), interval);
  return figure_html("Last poll took", duration_text(status.last_poll->duration),
                     age_text(status.now - status.last_poll->taken) + " ago, " + interval);
}

std::string cgroups_figure(const Status& status) {
  if (!status.cgroups) return figure_html("Cgroups counted", unknown_html(), "");
  const Status::Cgroups& cgroups = *status.cgroups;
  std::string note = count_text(cgroups.left_out) + " left out";
  if (cgroups.waiting > 0) note += ", " + count_text(cgroups.waiting) + " waiting";
  return figure_html("Cgroups counted", count_text(cgroups.counted), note);
}

std::string cpus_figure(const Status& status) {
  if (!status.machine) return figure_html("CPUs online", unknown_html(), "");
  const std::vector<int>& online = status.machine->online_cpus;
  const std::vector<int>& left_out = status.machine->left_out_cpus;
  const std::string note =
      left_out.empty() ? "" : "; left out: " + html(host::format_cpu_list(left_out));
  return figure_html("CPUs online", count_text(online.size()),
                     html(host::format_cpu_list(online)) + note);
}

std::string series_figure(const Status::Limits& limits) {
  return figure_html("Series", limits.series ? count_text(*limits.series) : unknown_html(),
                     "of " + count_text(limits.max_series));
}

std::string host_figure(const Status& status) {
  const history::Rates& host = status.use.host;
  const std::string title = "<abbr title=\"instructions per cycle\">IPC</abbr> of the host";
  const std::string note = host.cycles ? figure(*host.cycles) + " cycles/s" : "cycles unknown";
  const bool is_seen = peak_of(status.use.host_cycles).has_value();
  const std::string line = is_seen
                               ? sparkline("Cycles per second of the host", status.use.host_cycles,
                                           status.use.ages, status.use.span)
                               : "";
  return figure_html(
      title, host.instructions_per_cycle ? figure(*host.instructions_per_cycle) : unknown_html(),
      note + " " + line);
}

}  // namespace

std::string notices_html(const Status& status) {
  return element("ul class=\"notices\"", counting_notice(status) + troubles_html(status)) + '\n';
}

std::string figures_html(const Status& status) {
  return element("dl class=\"figures\"",
                 figure_html("Uptime", age_text(status.now - status.started),
                             "since " + utc_time(status.started.at)) +
                     poll_figure(status) + cpus_figure(status) + cgroups_figure(status) +
                     series_figure(status.limits) + host_figure(status)) +
         '\n';
}

}  // namespace pex::daemon
