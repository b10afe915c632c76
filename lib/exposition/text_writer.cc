#include "exposition/text_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace pex::exposition {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

void append_number(std::string& text, std::uint64_t value) {
  char digits[20];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// 1500000000 ns as "1.5": through integers, as a double holds nanoseconds exactly for 104 days.
void append_seconds(std::string& text, std::uint64_t nanoseconds) {
  append_number(text, nanoseconds / 1'000'000'000);
  std::uint64_t rest = nanoseconds % 1'000'000'000;
  if (rest == 0) return;
  char decimals[10] = {'.'};
  for (int place = 9; place >= 1; --place, rest /= 10) {
    decimals[place] = static_cast<char>('0' + rest % 10);
  }
  std::size_t length = sizeof decimals;
  while (decimals[length - 1] == '0') --length;
  text.append(decimals, length);
}

void append_header(std::string& text, std::string_view name, std::string_view help) {
  ((text += "# HELP ").append(name) += ' ').append(help) += '\n';
  ((text += "# TYPE ").append(name)) += " counter\n";
}

/// A count in the unit of its family. Exact where that can be: clocks, and units of whole numbers.
void append_value(std::string& text, std::uint64_t count, double scale) {
  constexpr double kNanosecond = 1e-9;
  constexpr double kLargestExact = 1 << 30;
  if (scale == 1) return append_number(text, count);
  if (scale == kNanosecond) return append_seconds(text, count);
  std::uint64_t product = 0;
  if (scale >= 1 && scale <= kLargestExact && scale == std::floor(scale) &&
      !__builtin_mul_overflow(count, static_cast<std::uint64_t>(scale), &product)) {
    return append_number(text, product);
  }
  char digits[32];
  const double value = static_cast<double>(count) * scale;
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// What stands in the braces behind the labels of the row: `,pmu="cpu_core"`.
std::string more_labels(const perf::EventIdentity& event) {
  std::string labels;
  for (const auto& [name, value] : event.labels) {
    labels += "," + name + "=\"" + escape_label(value) + "\"";
  }
  return labels;
}

/// One sample up to its value. A row of the whole host has no labels of its own.
void append_series(std::string& text, std::string_view name, std::string_view row,
                   std::string_view more) {
  if (row.empty() && !more.empty()) more.remove_prefix(1);  // the comma
  text += name;
  if (!row.empty() || !more.empty()) (((text += '{') += row) += more) += '}';
  text += ' ';
}

/// The labels of the rows that a column or a group of one scope has.
using LabelsOf = std::function<const std::vector<std::string>&(collect::Aggregation)>;

void write_events(std::string& text, const std::vector<EventFamily>& families,
                  std::span<const collect::GroupTable> tables, const LabelsOf& labels_of) {
  for (const EventFamily& family : families) {
    bool headed = false;
    for (const collect::Column* column : family.columns) {
      const std::vector<std::string>& rows = labels_of(column->aggregation);
      const std::string more = more_labels(column->event);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::optional<std::uint64_t> value = collect::value_of(*column, tables, row);
        if (!value) continue;
        if (!headed) append_header(text, family.name, family.help);
        headed = true;
        append_series(text, family.name, rows[row], more);
        append_value(text, *value, column->event.scale);
        text += '\n';
      }
    }
  }
}

void write_times(std::string& text, std::string_view name, Nanoseconds collect::GroupRow::*time,
                 const collect::ScopePlan& plan, std::span<const collect::GroupTable> tables,
                 const LabelsOf& labels_of) {
  for (std::size_t group = 0; group < plan.groups.size(); ++group) {
    const collect::GroupPlan& of = plan.groups[group];
    const std::string of_pmu = of.pmu.empty() ? "" : ",pmu=\"" + escape_label(of.pmu) + "\"";
    const std::string its_labels = "group=\"" + of.name + "\"" + of_pmu;
    const std::vector<std::string>& rows = labels_of(of.aggregation);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const collect::GroupRow& times = tables[group].rows[row];
      if (!times.has_times) continue;
      (((text += name) += '{') += its_labels) += rows[row].empty() ? "" : ",";
      (text += rows[row]) += "} ";
      append_seconds(text, static_cast<std::uint64_t>((times.*time).count()));
      text += '\n';
    }
  }
}

bool has_rows(std::span<const collect::GroupTable> tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [](const collect::GroupTable& table) { return !table.rows.empty(); });
}

/// Length of the UTF-8 sequence at the start of `text`; 0 when there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF5   ? 0
                             : first >= 0xF0 ? 4
                             : first >= 0xE0 ? 3
                             : first >= 0xC2 ? 2
                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool beyond = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string escape_label(std::string_view value) {
  static constexpr std::string_view kReplacement = "\uFFFD";
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  escaped.reserve(value.size());
  const auto append_byte = [&escaped](unsigned char byte) {
    ((escaped += kReplacement) += kHex[byte >> 4]) += kHex[byte & 0xF];
  };
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    const std::string_view character = value.substr(0, length);
    if (length == 0 || character == kReplacement) {
      append_byte(static_cast<unsigned char>(value.front()));
      value.remove_prefix(1);
      continue;
    }
    if (character == "\n") {
      escaped += "\\n";
    } else {
      if (character == "\\" || character == "\"") escaped += '\\';
      escaped += character;
    }
    value.remove_prefix(length);
  }
  return escaped;
}

namespace {

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + escape_label(value) + "\"";
}

/// The labels of a host row, in the order of row_labels().
std::string host_labels(collect::Aggregation aggregation, const host::CpuPlace& place) {
  struct Row {
    std::string_view name;
    int host::CpuPlace::*number;
  };
  static constexpr Row kNumbers[] = {{"cpu", &host::CpuPlace::cpu},
                                     {"core", &host::CpuPlace::core},
                                     {"die", &host::CpuPlace::die},
                                     {"package", &host::CpuPlace::package},
                                     {"node", &host::CpuPlace::node}};
  std::string labels;
  for (const std::string_view name : row_labels(aggregation)) {
    for (const Row& row : kNumbers) {
      if (row.name != name) continue;
      labels += (labels.empty() ? "" : ",") + label(name, std::to_string(place.*row.number));
    }
  }
  return labels;
}

}  // namespace

void TextWriter::remember(const collect::Snapshot& snapshot) {
  if (plan_.lock() == snapshot.plan && targets_.lock() == snapshot.targets) return;
  plan_ = snapshot.plan;
  targets_ = snapshot.targets;
  for (std::size_t i = 0; i < collect::kAggregations; ++i) {
    host_labels_[i].clear();
    for (const collect::HostRow& row : snapshot.host_rows[i]) {
      host_labels_[i].push_back(host_labels(static_cast<collect::Aggregation>(i), row.place));
    }
  }
  cgroup_labels_.clear();
  for (const collect::CgroupTarget& target : snapshot.targets->cgroups) {
    cgroup_labels_.push_back(label("cgroup", target.path));
  }
  cpu_families_ = families_of(Scope::kCpu, snapshot.plan->cpu);
  cgroup_families_ = families_of(Scope::kCgroup, snapshot.plan->cgroup);
}

void TextWriter::write(const collect::Snapshot& snapshot, std::string& text) {
  struct Times {
    std::string_view name;
    std::string_view help;
    Nanoseconds collect::GroupRow::*time;
  };
  static constexpr Times kTimes[] = {
      {"perf_group_enabled_seconds_total",
       "Time for which a group of events wanted the PMU; for a cgroup only while its tasks ran.",
       &collect::GroupRow::enabled},
      {"perf_group_running_seconds_total",
       "Time for which a group of events had the PMU; counts for the rest of the time enabled "
       "are estimates.",
       &collect::GroupRow::running},
  };

  remember(snapshot);
  const auto of_host = [this](collect::Aggregation aggregation) -> const auto& {
    return host_labels_[static_cast<std::size_t>(aggregation)];
  };
  const auto of_cgroups = [this](collect::Aggregation) -> const auto& { return cgroup_labels_; };
  const collect::CountingPlan& plan = *snapshot.plan;
  write_events(text, cpu_families_, snapshot.cpu, of_host);
  write_events(text, cgroup_families_, snapshot.cgroup, of_cgroups);
  for (const Times& times : kTimes) {
    if (!has_rows(snapshot.cpu) && !has_rows(snapshot.cgroup)) continue;
    append_header(text, times.name, times.help);
    write_times(text, times.name, times.time, plan.cpu, snapshot.cpu, of_host);
    write_times(text, times.name, times.time, plan.cgroup, snapshot.cgroup, of_cgroups);
  }
}

}  // namespace pex::exposition
