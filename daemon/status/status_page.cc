#include "daemon/status/status_page.h"

#include "access/source_hash.h"
#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"
#include "daemon/status/status_assets.h"
#include "daemon/status/status_links.h"
#include "daemon/status/status_sections.h"

namespace pex::daemon {
namespace {

/// Three bars. In the page, as a browser would ask for /favicon.ico else, and log that it is not
/// there.
constexpr std::string_view kIcon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath fill='%232a6fb5' d='M1 9h4v6H1zM6 5h4v10H6zM11 1h4v14h-4z'/%3E%3C/svg%3E";

std::string head_html() {
  return element("head",
                 std::string("\n<meta charset=\"utf-8\">\n"
                             "<meta name=\"viewport\" content=\"width=device-width, "
                             "initial-scale=1\">\n"
                             "<meta name=\"color-scheme\" content=\"light dark\">\n"
                             "<title>Perf Event Exporter</title>\n<link rel=\"icon\" href=\"")
                     .append(kIcon)
                     .append("\">\n")
                     .append(element("style", kStatusStyle))
                     .append("\n"));
}

std::string header_html(const Status& status) {
  std::string items;
  for (const Link& link : links_of(status)) {
    items += element("li", element("a href=\"" + html(link.path) + "\"", link.title));
  }
  return element("header",
                 element("h1", "Perf Event Exporter " + element("small", html(status.version))) +
                     element("nav aria-label=\"Elsewhere\"", element("ul", items)));
}

std::string main_html(const Status& status) {
  return element(
      "main data-version=\"" + html(status.version) + "\"",
      "\n" + notices_html(status) + figures_html(status) + busiest_html(status) +
          groups_html(status) + not_counted_html(status) + remarks_html(status) +
          left_out_html(status) + element("div class=\"pair\"", limits_html(status)) + "\n" +
          element("div class=\"pair\"", polls_html(status) + configuration_html(status)) +
          web_configuration_html(status) +
          element("p class=\"as-of\"", "As of " + utc_time(status.now.at) + ".") + "\n");
}

constexpr std::string_view kFooter =
    "<p class=\"by-itself\">Refreshes itself every 5 s.</p>"
    "<p class=\"by-hand\">Shows the moment it was loaded; load it again for another.</p>"
    "<p>perf_event_exporter counts what the CPUs really do, for every CPU and every cgroup. Its "
    "documentation: <cite>perf_event_exporter</cite>, docs/metrics.md for what the series mean, "
    "docs/status-api.md for this page as JSON.</p>";

}  // namespace

std::string status_page(const Status& status) {
  const std::string body = header_html(status) +
                           "\n<p id=\"reach\" class=\"reach\" role=\"status\"></p>\n" +
                           main_html(status) + "\n" + element("footer", kFooter) + "\n" +
                           element("script", kStatusScript) + "\n";
  return "<!doctype html>\n<html lang=\"en\">" + head_html() + "\n" + element("body", body) +
         "</html>\n";
}

std::string content_security_policy() {
  return "default-src 'none'; style-src " + access::source_hash(kStatusStyle) + "; script-src " +
         access::source_hash(kStatusScript) +
         "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

}  // namespace pex::daemon
