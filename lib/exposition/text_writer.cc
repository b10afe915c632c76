#include "exposition/text_writer.h"

#include <charconv>
#include <cstdint>

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

/// All families of one scope, one for each event.
void write_events(std::string& text, Scope scope, const collect::ScopePlan& plan,
                  const collect::ScopeTable& table, const std::vector<std::string>& labels) {
  std::size_t column = 0;
  for (std::size_t group = 0; group < plan.size(); ++group) {
    for (const perf::EventSpec& event : plan[group].events) {
      const std::string name = family_name(scope, event);
      bool headed = false;
      for (std::size_t row = 0; row < table.rows; ++row) {
        if (!table.group_row(row, group).has_value) continue;
        if (!headed) append_header(text, name, family_help(scope, event));
        headed = true;
        ((text += name) += '{').append(labels[row]) += "} ";
        const std::uint64_t total = table.total(row, column);
        event.unit == perf::Unit::kNanoseconds ? append_seconds(text, total)
                                               : append_number(text, total);
        text += '\n';
      }
      ++column;
    }
  }
}

void write_times(std::string& text, std::string_view name, Nanoseconds collect::GroupRow::*time,
                 const collect::ScopePlan& plan, const collect::ScopeTable& table,
                 const std::vector<std::string>& labels) {
  for (std::size_t group = 0; group < plan.size(); ++group) {
    for (std::size_t row = 0; row < table.rows; ++row) {
      if (!table.group_row(row, group).has_times) continue;
      (((text += name) += "{group=\"") += plan[group].name) += "\",";
      (text += labels[row]) += "} ";
      append_seconds(text, static_cast<std::uint64_t>((table.group_row(row, group).*time).count()));
      text += '\n';
    }
  }
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

void TextWriter::update_labels(const collect::Snapshot& snapshot) {
  if (cpus_ != snapshot.cpus) {
    cpus_ = snapshot.cpus;
    cpu_labels_.clear();
    for (const int cpu : cpus_) cpu_labels_.push_back("cpu=\"" + std::to_string(cpu) + "\"");
  }
  if (targets_.lock() != snapshot.targets) {
    targets_ = snapshot.targets;
    cgroup_labels_.clear();
    for (const collect::CgroupTarget& target : snapshot.targets->cgroups) {
      cgroup_labels_.push_back("cgroup=\"" + escape_label(target.path) + "\"");
    }
  }
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

  update_labels(snapshot);
  write_events(text, Scope::kCpu, snapshot.plan->cpu, snapshot.cpu, cpu_labels_);
  write_events(text, Scope::kCgroup, snapshot.plan->cgroup, snapshot.cgroup, cgroup_labels_);
  for (const Times& times : kTimes) {
    if (snapshot.cpu.group_rows.empty() && snapshot.cgroup.group_rows.empty()) continue;
    append_header(text, times.name, times.help);
    write_times(text, times.name, times.time, snapshot.plan->cpu, snapshot.cpu, cpu_labels_);
    write_times(text, times.name, times.time, snapshot.plan->cgroup, snapshot.cgroup,
                cgroup_labels_);
  }
}

}  // namespace pex::exposition
