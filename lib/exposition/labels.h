#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "events/event_spec.h"

namespace pex::exposition {

/// A label's value in quotes: UTF-8, with backslash, quote and line break escaped. Bytes that are
/// not UTF-8, and those of control characters (C0, DEL and C1), which terminals interpret, become
/// U+FFFD and two hexadecimal digits each, as by as_utf8. Different values stay different, so no
/// two series become one.
std::string escape_label(std::string_view value);

/// `name="value"`, escaped.
std::string label(std::string_view name, std::string_view value);

/// The ones that are not empty, separated by commas.
std::string join_labels(std::initializer_list<std::string_view> labels);

/// `labels`, and behind them a label for each of `pairs`, of names and values.
std::string with_labels(std::string labels, const auto& pairs) {
  for (const auto& [name, value] : pairs) labels = join_labels({labels, label(name, value)});
  return labels;
}

/// The names and values in the result of label() and join_labels(); of a value, what is printable.
std::vector<std::pair<std::string, std::string>> split_labels(std::string_view labels);

/// The labels that distinguish an event from others of its metric: `pmu="cpu_core"`. Mostly empty.
inline std::string labels_of_event(const events::EventIdentity& event) {
  return with_labels({}, event.labels);
}

}  // namespace pex::exposition
