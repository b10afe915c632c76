#include "base/text.h"
#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"
#include "daemon/status/sparkline.h"
#include "daemon/status/status_sections.h"
#include "host/cpu_list.h"

namespace pex::daemon {
namespace {

/// One name and what there is to say of it, as HTML.
std::string fact(const std::string& name, const std::string& value) {
  return element("dt", name) + element("dd", value);
}

std::string facts(const std::string& content) { return element("dl class=\"facts\"", content); }

std::string time_html(const Moment& time, const Moment& now) {
  return element("time datetime=\"" + iso_time(time.at) + "\"", utc_time(time.at)) + ", " +
         age_text(now - time) + " ago";
}

std::string count_html(std::optional<std::uint64_t> count) {
  return count ? count_text(*count) : unknown_html();
}

std::string limit_row(const std::string& name, std::optional<std::uint64_t> used,
                      std::optional<std::uint64_t> limit, const std::string& set_by) {
  std::string cells = row_title(name + element("small", set_by));
  cells += cell("Now", count_html(used), "n");
  cells += cell("At most", count_html(limit), "n");
  const bool known = used && limit && *limit > 0;
  const double ratio = known ? static_cast<double>(*used) / static_cast<double>(*limit) : 0;
  return row(cells + cell("Used", known ? bar(ratio) + percent(ratio) : unknown_html()));
}

/// A count of cgroups; nothing when none is known.
std::optional<std::uint64_t> count(const Status& status, std::size_t Status::Cgroups::*of) {
  return status.cgroups ? std::optional<std::uint64_t>((*status.cgroups).*of) : std::nullopt;
}

std::string limits_table(const Status& status) {
  const Status::Limits& limits = status.limits;
  const std::string rows =
      limit_row("Descriptors", limits.open_files, limits.max_open_files, "of this process") +
      limit_row("Open events", limits.open_events, limits.max_open_events,
                "limits.max_open_events") +
      limit_row("Series", limits.series, limits.max_series, "limits.max_series") +
      limit_row("Cgroups", count(status, &Status::Cgroups::counted), limits.max_cgroups,
                "cgroups.max");
  const std::string titles = column_title("What") + column_title("Now", "n") +
                             column_title("At most", "n") + column_title("Used");
  return table("", titles, rows);
}

std::string cgroup_facts(const Status& status) {
  using Cgroups = Status::Cgroups;
  const auto number = [&](std::size_t Cgroups::*of) { return count_html(count(status, of)); };
  const auto not_followed =
      status.cgroups ? std::optional<std::uint64_t>(status.cgroups->not_followed()) : std::nullopt;
  return fact("Counted", number(&Cgroups::counted)) +
         fact("Waiting to be opened", number(&Cgroups::waiting)) +
         fact("Gone, and lingering", number(&Cgroups::lingering)) +
         fact("Left out", number(&Cgroups::left_out)) +
         fact("Unreadable", number(&Cgroups::unreadable)) +
         fact("Directories not followed", count_html(not_followed)) +
         fact("Missed since the start", count_text(status.cgroups_missed));
}

std::string pmu_facts(const std::vector<Status::Pmu>& pmus) {
  std::string text;
  for (const Status::Pmu& pmu : pmus) {
    const std::string cpus =
        pmu.cpus.empty() ? "on no CPU" : "on CPU " + html(host::format_cpu_list(pmu.cpus));
    text += fact("PMU " + element("code", html(pmu.name)), cpus);
  }
  return text;
}

std::string reference_fact(const Status& status) {
  std::string reference;
  for (const std::string& event : status.reference) {
    (reference += reference.empty() ? "" : ", ") += element("code", html(event));
  }
  return fact("Scaled up by", reference.empty() ? "time on the PMU" : reference);
}

std::string last_poll_facts(const Status& status) {
  if (!status.last_poll) return fact("Last poll", unknown_html("none yet"));
  const Status::Poll& poll = *status.last_poll;
  const double share = std::chrono::duration<double>(poll.duration) / status.interval;
  return fact("Last poll", time_html(poll.taken, status.now)) +
         fact("It took",
              duration_text(poll.duration) + ", " + percent(share) + " of the interval") +
         fact("Pinned groups off the PMU", count_text(poll.groups_off_pmu)) +
         fact("Targets in turns by hand", count_text(poll.targets_in_turns));
}

std::string list_html(const std::vector<std::string>& lines) {
  std::string items;
  for (const std::string& line : lines) items += element("li", html(line));
  return lines.empty() ? "" : element("ul class=\"list\"", items);
}

std::string load_facts(const ConfigurationLoad& load, const Moment& now) {
  const std::string verdict = load.mistakes.empty() ? element("span class=\"good\"", "succeeded")
                                                    : element("strong class=\"bad\"", "failed");
  return fact("File",
              load.file.empty() ? "the embedded default" : element("code", html_path(load.file))) +
         fact("In force since", time_html(load.in_force_since, now)) +
         fact("Last load", verdict + ", " + time_html(load.last_tried, now));
}

}  // namespace

std::string limits_html(const Status& status) {
  return section("limits", "Limits", limits_table(status)) +
         section("cgroups", "Cgroups", facts(cgroup_facts(status)));
}

std::string polls_html(const Status& status) {
  return section(
      "polls", "Polls",
      facts(fact("Interval", format_duration(status.interval)) + last_poll_facts(status) +
            fact("Polls since the start", count_text(status.polls)) +
            fact("Skipped, as one was late", count_text(status.overruns)) +
            (status.machine ? pmu_facts(status.machine->pmus) : "") + reference_fact(status)));
}

std::string configuration_html(const Status& status) {
  const ConfigurationLoad& load = status.configuration;
  return section("configuration", "Configuration",
                 facts(load_facts(load, status.now)) + list_html(load.mistakes));
}

std::string web_configuration_html(const Status& status) {
  if (!status.web_configuration) return {};
  const WebConfigurationLoad& web = *status.web_configuration;
  std::string in_force;
  for (const config::ProtectionState& each : web.protections) {
    in_force += fact(element("code", html(each.protection)), html(each.state));
  }
  return section("web-configuration", "Web configuration",
                 facts(load_facts(web.load, status.now) + in_force) + list_html(web.load.mistakes) +
                     list_html(web.downgrades));
}

}  // namespace pex::daemon
