#include "bench/switch/choices.h"

#include <algorithm>

namespace pex::bench {
namespace {

constexpr std::size_t kOtherCgroups = 2;

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

std::string group_text(const Choice& choice, const Matrix& matrix, const std::string& scope) {
  const std::vector<std::string> events(
      matrix.events.begin(), matrix.events.begin() + static_cast<std::ptrdiff_t>(choice.events));
  return "groups:\n  - name: measured\n    events: [" + joined(events) + "]\n    scope: [" + scope +
         "]\nlimits:\n  max_open_events: 10000000\n  max_series: 10000000\n";
}

std::vector<std::string> globs_of(const Choice& choice, const SwitchCgroups& cgroups) {
  std::vector<std::string> globs = cgroups.the_two();
  globs.resize(choice.of_the_two);
  append(globs, cgroups.others(choice.cgroups - choice.of_the_two));
  if (choice.ancestors > 0) append(globs, cgroups.ancestors());
  return globs;
}

/// BPF adds up the ancestors outside of the kernel, as our records are: they are no choice.
std::vector<Choice> choices_of(Way way, const Matrix& matrix) {
  std::vector<Choice> all;
  for (const std::size_t ancestors : matrix.ancestors) {
    if (way == Way::kBpf && ancestors > 0) continue;
    for (const std::size_t events : matrix.event_numbers) {
      for (const std::size_t cgroups : matrix.cgroups) {
        all.push_back({way, events, cgroups, ancestors});
      }
    }
  }
  if (way == Way::kBpf) return all;
  for (const std::size_t events : matrix.event_numbers) {
    all.push_back({.way = way, .events = events, .cgroups = 1, .of_the_two = 1});
    all.push_back({.way = way, .events = events, .cgroups = kOtherCgroups, .of_the_two = 0});
  }
  const std::size_t most = matrix.event_numbers.back();
  all.push_back({.way = way, .events = most, .cgroups = kFewestCgroups, .has_cpus = false});
  return all;
}

bool has(const Matrix& matrix, Way way) {
  return std::find(matrix.ways.begin(), matrix.ways.end(), name_of(way)) != matrix.ways.end();
}

}  // namespace

std::string_view name_of(Way way) {
  constexpr std::string_view kNames[] = {"nothing", "the CPUs", "descriptors", "records", "bpf"};
  return kNames[static_cast<std::size_t>(way)];
}

std::vector<Choice> choices_of(const Matrix& matrix) {
  std::vector<Choice> all = {{}, {.is_repeated = true}};
  for (const std::size_t events : matrix.event_numbers) all.push_back({Way::kCpus, events});
  for (const Way way : {Way::kDescriptors, Way::kRecords, Way::kBpf}) {
    if (!has(matrix, way)) continue;
    const std::vector<Choice> more = choices_of(way, matrix);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::size_t other_cgroups(const Matrix& matrix) {
  const std::size_t most = *std::max_element(matrix.cgroups.begin(), matrix.cgroups.end());
  return std::max(most - kFewestCgroups, kOtherCgroups);
}

std::string configuration(const Choice& choice, const Matrix& matrix,
                          const SwitchCgroups& cgroups) {
  return group_text(choice, matrix, choice.has_cpus ? "cpu, cgroup" : "cgroup") +
         "cgroups:\n  source: " + std::string(name_of(choice.way)) +
         "\n  nesting: all\n  include: [" + joined(globs_of(choice, cgroups)) +
         "]\n  max: " + std::to_string(choice.cgroups + choice.ancestors) + "\n";
}

std::string configuration_of_cpus(const Choice& choice, const Matrix& matrix) {
  return group_text(choice, matrix, "cpu");
}

std::string title_of(const Choice& choice) {
  std::string title{name_of(choice.way)};
  if (choice.is_repeated) title += ", once more";
  if (!choice.has_cpus) title += ", not the CPUs";
  if (choice.of_the_two == 0 && choice.cgroups > 0) title += ", other cgroups";
  if (choice.of_the_two == 1) title += ", one of two";
  return title;
}

}  // namespace pex::bench
