#include "bench/switch/choices.h"

#include <cstddef>

namespace pex::bench {
namespace {

std::string joined(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) {
    text += (text.empty() ? "\"" : ", \"") + pattern + "\"";
  }
  return text;
}

void append(std::vector<std::string>& globs, const std::vector<std::string>& more) {
  globs.insert(globs.end(), more.begin(), more.end());
}

std::vector<std::string> globs_of(const Choice& choice, const SwitchCgroups& cgroups) {
  std::vector<std::string> globs = cgroups.the_two();
  append(globs, cgroups.others(choice.cgroups - kFewestCgroups));
  if (choice.ancestors > 0) append(globs, cgroups.ancestors());
  return globs;
}

}  // namespace

std::vector<Choice> choices_of(const Matrix& matrix) {
  std::vector<Choice> all = {{}, {.is_repeated = true}};
  for (const std::size_t events : matrix.event_numbers) all.push_back({Way::kCpus, events});
  for (const Way way : {Way::kDescriptors, Way::kRecords}) {
    for (const std::size_t ancestors : matrix.ancestors) {
      for (const std::size_t events : matrix.event_numbers) {
        for (const std::size_t cgroups : matrix.cgroups) {
          all.push_back({way, events, cgroups, ancestors});
        }
      }
    }
  }
  return all;
}

std::string configuration(const Choice& choice, const Matrix& matrix,
                          const SwitchCgroups& cgroups) {
  const std::vector<std::string> events(
      matrix.events.begin(), matrix.events.begin() + static_cast<std::ptrdiff_t>(choice.events));
  const bool has_cgroups = choice.cgroups > 0;
  std::string text = "groups:\n  - name: measured\n    events: [" + joined(events) +
                     "]\n    scope: [" + (has_cgroups ? "cpu, cgroup" : "cpu") +
                     "]\nlimits:\n  max_open_events: 10000000\n  max_series: 10000000\n";
  if (!has_cgroups) return text;
  return text + "cgroups:\n  source: " + std::string(name_of(choice.way)) +
         "\n  nesting: all\n  include: [" + joined(globs_of(choice, cgroups)) +
         "]\n  max: " + std::to_string(choice.cgroups + choice.ancestors) + "\n";
}

std::string title_of(const Choice& choice) {
  return std::string(name_of(choice.way)) + (choice.is_repeated ? ", once more" : "");
}

}  // namespace pex::bench
