#include "daemon/status/sparkline.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "daemon/status/html_text.h"
#include "daemon/status/human_format.h"

namespace pex::daemon {
namespace {

constexpr double kWidth = 120;
constexpr double kHeight = 24;
constexpr double kMargin = 2;  // half a stroke, and some air

std::string coordinate(double value) {
  char digits[32];
  const auto [end, error] =
      std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::fixed, 1);
  return error == std::errc{} ? std::string(digits, end) : "0";
}

struct Place {
  double x;
  double y;
};

std::string text_of(Place place) { return coordinate(place.x) + " " + coordinate(place.y); }

Place place_of(double value, double highest, history::Activity::Seconds age,
               history::Activity::Seconds window) {
  const double from_right = std::clamp(age / window, 0.0, 1.0);
  const double height = highest > 0 ? std::clamp(value / highest, 0.0, 1.0) : 0;
  return {kMargin + (kWidth - 2 * kMargin) * (1 - from_right),
          kHeight - kMargin - (kHeight - 2 * kMargin) * height};
}

/// What is known without a gap.
using Run = std::vector<Place>;

std::vector<Run> runs_of(const history::Activity::Points& points,
                         const std::vector<history::Activity::Seconds>& ages,
                         history::Activity::Seconds window, double highest) {
  std::vector<Run> runs;
  bool is_open = false;
  for (std::size_t i = 0; i < std::min(points.size(), ages.size()); ++i) {
    if (points[i]) {
      if (!is_open) runs.emplace_back();
      runs.back().push_back(place_of(*points[i], highest, ages[i], window));
    }
    is_open = points[i].has_value();
  }
  return runs;
}

/// Of one place, a line without length, which its round ends make a dot.
std::string line_through(const Run& run) {
  std::string path = "M" + text_of(run.front());
  for (const Place place : run) path += "L" + text_of(place);
  return path;
}

std::string area_under(const Run& run) {
  const std::string bottom = " " + coordinate(kHeight - kMargin);
  return line_through(run) + "L" + coordinate(run.back().x) + bottom + "L" +
         coordinate(run.front().x) + bottom + "Z";
}

std::string described(std::string_view what, const history::Activity::Points& points,
                      history::Activity::Seconds span) {
  const std::optional<double> peak = peak_of(points);
  std::string text{what};
  if (!peak) return text + ": unknown";
  text += " over the last " +
          duration_text(std::chrono::duration_cast<std::chrono::nanoseconds>(span)) + ": ";
  text += "now " + (points.back() ? figure(*points.back()) : "unknown");
  return text + ", at most " + figure(*peak);
}

}  // namespace

std::optional<double> peak_of(const history::Activity::Points& points) {
  std::optional<double> peak;
  for (const std::optional<double>& point : points) peak = std::max(peak, point);
  return peak;
}

std::string sparkline(std::string_view what, const history::Activity::Points& points,
                      const std::vector<history::Activity::Seconds>& ages,
                      history::Activity::Seconds span) {
  const auto window = std::max<history::Activity::Seconds>(
      span, history::Activity::kPoints * history::Activity::kSpacing);
  std::string lines;
  std::string areas;
  for (const Run& run : runs_of(points, ages, window, peak_of(points).value_or(0))) {
    lines += line_through(run);
    areas += area_under(run);
  }
  const std::string drawing = "<path class=\"base\" d=\"M0 23.5H120\"/><path class=\"area\" d=\"" +
                              areas + "\"/><path class=\"line\" d=\"" + lines + "\"/>";
  const std::string label = html(described(what, points, span));
  return element(
      "svg class=\"spark\" viewBox=\"0 0 120 24\" width=\"120\" height=\"24\" "
      "role=\"img\" aria-label=\"" +
          label + "\"",
      element("title", label) + drawing);
}

std::string bar(double ratio) {
  const double width = std::isfinite(ratio) ? 100 * std::clamp(ratio, 0.0, 1.0) : 0;
  return element(
      "svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\"",
      "<rect class=\"track\" width=\"100\" height=\"6\"/><rect class=\"fill\" width=\"" +
          coordinate(width) + "\" height=\"6\"/>");
}

}  // namespace pex::daemon
