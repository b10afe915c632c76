#include "daemon/doctor/findings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/table_text.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kStateWidth = 9;
constexpr std::string_view kConsequence = "consequence";
constexpr std::string_view kRemedy = "remedy";

/// `text` after `margin`, with all further lines indented to the same column. Words that are longer
/// than a line are not split.
std::string hanging_indent(const std::string& margin, std::string_view text) {
  std::string lines;
  std::string line = margin;
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() > margin.size() && line.size() + 1 + word.size() > kLineWidth) {
      lines += line + "\n";
      line.assign(margin.size(), ' ');
    }
    if (line.size() > margin.size()) line += ' ';
    line += word;
  }
  return lines + line + "\n";
}

}  // namespace

const char* word_for(Finding::State state) {
  constexpr const char* kWords[] = {"ok", "unknown", "note", "bad"};  // in the order of State
  return kWords[static_cast<std::size_t>(state)];
}

Finding good(std::string subject, std::string what) {
  return {Finding::State::kGood, std::move(subject), std::move(what), {}, {}};
}

Finding unknown(std::string subject, std::string what) {
  return {Finding::State::kUnknown, std::move(subject), std::move(what), {}, {}};
}

std::size_t count(const std::vector<Finding>& findings, Finding::State state) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [state](const Finding& finding) { return finding.state == state; }));
}

std::string format_findings(const std::vector<Finding>& findings) {
  std::size_t widest = kConsequence.size();
  for (const Finding& finding : findings)
    widest = std::max(widest, printable(finding.subject).size());

  std::string text;
  const auto add = [&](const char* state, std::string_view label, const std::string& words) {
    const std::string margin = column(state, kStateWidth) + column(printable(label), widest + 2);
    text += hanging_indent(margin, printable(words));
  };
  for (const Finding& finding : findings) {
    add(word_for(finding.state), finding.subject, finding.what);
    if (!finding.consequence.empty()) add("", kConsequence, finding.consequence);
    if (!finding.remedy.empty()) add("", kRemedy, finding.remedy);
  }
  return text;
}

}  // namespace pex::daemon
