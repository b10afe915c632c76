#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "report.h"

namespace pex::bench {
namespace {

// Places in the picture, in pixels.
constexpr int kLeft = 100;
constexpr int kRight = 740;
constexpr int kTop = 86;
constexpr int kRow = 22;

// The axis, in %.
constexpr double kMin = 0.1;
constexpr double kMax = 100;

constexpr const char* kStyle =
    "<style>\n"
    "text { font: 13px system-ui, sans-serif; fill: #1f2328; }\n"
    ".quiet { fill: #59636e; }\n"
    ".grid { stroke: #d1d9e0; }\n"
    ".span { stroke: #afb8c1; stroke-width: 2; }\n"
    ".lifetime { fill: none; stroke: #cf222e; stroke-width: 2; }\n"
    ".delta { fill: #9a6700; }\n"
    ".ours { fill: #0969da; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }\n"
    ".span { stroke: #656c76; } .lifetime { stroke: #ff7b72; } .delta { fill: #d29922; }\n"
    ".ours { fill: #58a6ff; }\n"
    "}\n"
    "</style>\n";

/// A formula's mark.
struct Mark {
  std::size_t formula;
  const char* label;
  const char* shape;  ///< around 0,0
};
constexpr Mark kMarks[] = {
    {kLifetime, "lifetime scaling", "<circle class=\"lifetime\" r=\"5\"/>"},
    {kDelta, "delta scaling", "<path class=\"delta\" d=\"M0-6 6 0 0 6-6 0z\"/>"},
    {kOurs, "perf_event_exporter", "<circle class=\"ours\" r=\"5\"/>"},
};

class Picture {
 public:
  explicit Picture(int height) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 %d\" role=\"img\">\n", height);
    text_ += kStyle;
  }

  void line(const char* kind, double x1, double y1, double x2, double y2) {
    add("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1, y1, x2,
        y2);
  }
  void words(const char* kind, const char* anchor, double x, double y, const std::string& words) {
    add("<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", kind, anchor, x,
        y, words.c_str());
  }
  void mark(const Mark& mark, double x, double y) {
    add("<g transform=\"translate(%.1f %.1f)\">%s</g>\n", x, y, mark.shape);
  }
  std::string end() && { return std::move(text_) + "</svg>\n"; }

 private:
  template <typename... Values>
  void add(const char* format, Values... values) {
    char line[512];
    std::snprintf(line, sizeof line, format, values...);
    text_ += line;
  }

  std::string text_;
};

double x_of(double percent) {
  const double decades = std::log10(kMax / kMin);
  return kLeft + (kRight - kLeft) * std::log10(percent / kMin) / decades;
}

void draw_axis(Picture& picture, int bottom) {
  for (double percent = kMin; percent <= kMax * 1.001; percent *= 10) {
    picture.line("grid", x_of(percent), kTop - 8, x_of(percent), bottom);
    char label[16];
    std::snprintf(label, sizeof label, "%g %%", percent);
    picture.words("quiet", "middle", x_of(percent), bottom + 18, label);
  }
}

void draw_legend(Picture& picture, const std::string& title) {
  picture.words("title", "start", 8, 22, title);
  double x = kLeft;
  for (const Mark& mark : kMarks) {
    picture.mark(mark, x, 50);
    picture.words("quiet", "start", x + 12, 54.5, mark.label);
    x += 160;
  }
}

void draw_row(Picture& picture, const Cell& cell, double y) {
  double least = kMax;
  double most = kMin;
  for (const Mark& mark : kMarks) {
    const double percent = 100 * cell.figures[mark.formula].rms();
    least = std::min(least, percent);
    most = std::max(most, percent);
  }
  picture.words("name", "end", kLeft - 14, y + 4.5, workloads()[cell.workload].name);
  picture.line("span", x_of(least), y, x_of(most), y);
  for (const Mark& mark : kMarks) {
    picture.mark(mark, x_of(100 * cell.figures[mark.formula].rms()), y);
  }
}

}  // namespace

std::string plot(const std::vector<Cell>& cells) {
  const int bottom = kTop + kRow * static_cast<int>(workloads().size());
  Picture picture(bottom + 32);
  draw_legend(picture, "RMS error of an increment over 15 s, when the share of the PMU varies");
  draw_axis(picture, bottom);
  double y = kTop + 4;
  for (const Cell& cell : cells) {
    if (cell.setting != kVaryingShare || cell.poll_seconds != 15) continue;
    draw_row(picture, cell, y);
    y += kRow;
  }
  return std::move(picture).end();
}

}  // namespace pex::bench
