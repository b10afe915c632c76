#include "daemon/landing_page.h"

#include <algorithm>

#include "base/utf8.h"
#include "daemon/table_text.h"
#include "daemon/version.h"

namespace pex::daemon {
namespace {

std::string html(std::string_view text) {
  std::string escaped;
  for (const char c : as_utf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

constexpr const char* kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ddd;"
    "vertical-align:top}.no{color:#a40000}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8ab4f8}"
    "td,th{border-color:#444}.no{color:#ff8a80}}";

/// The cgroups that there was no room for, and which room that was.
std::string left_out_cgroups(const collect::TargetSet& targets) {
  constexpr std::size_t kMostNamed = 200;
  const std::vector<std::string>& paths = targets.found->left_out;
  if (paths.empty()) return {};
  std::string text = "<h2>Cgroups left out</h2>\n<p>" + std::to_string(paths.size()) +
                     " match and are not counted, because of the limit <code>" +
                     html(targets.left_out_reason) + "</code>.</p>\n<ul>\n";
  for (std::size_t i = 0; i < std::min(paths.size(), kMostNamed); ++i) {
    text += "<li>" + html(paths[i]) + "</li>\n";
  }
  text += "</ul>\n";
  if (paths.size() > kMostNamed) {
    text += "<p>And " + std::to_string(paths.size() - kMostNamed) + " more.</p>\n";
  }
  return text;
}

}  // namespace

std::string landing_page(const Plan& plan, const collect::Snapshot* snapshot,
                         const std::string& telemetry_path) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<title>Perf Event Exporter</title><style>";
  page += kStyle;
  page += "</style></head><body>\n<h1>Perf Event Exporter</h1>\n<p>Version ";
  page += html(kVersion);
  page += ". Counts what the CPUs really do, for every CPU and every cgroup.</p>\n<p><a href=\"" +
          html(telemetry_path) +
          "\">Metrics</a> &middot; <a href=\"/-/healthy\">Healthy</a> "
          "&middot; <a href=\"/-/ready\">Ready</a></p>\n"
          "<table><tr><th>Group</th><th>Event</th><th>Counted here</th></tr>\n";
  for (const EventAvailability& event : plan.events) {
    page += "<tr><td>" + html(event.group) + "</td><td>" + html(event.event) + "</td>";
    page += event.available ? "<td>yes</td></tr>\n"
                            : "<td class=\"no\">" + yes_or_no(false, event.reason) + "</td></tr>\n";
  }
  page += "</table>\n";
  for (const std::string& line : left_out_lines(plan)) page += "<p>" + html(line) + ".</p>\n";
  for (const Error& remark : plan.remarks) page += "<p>" + html(describe(remark)) + ".</p>\n";
  if (snapshot != nullptr) page += left_out_cgroups(*snapshot->targets);
  return page + "</body></html>\n";
}

}  // namespace pex::daemon
