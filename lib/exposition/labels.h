#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "perf/event_spec.h"

namespace pex::exposition {

/// A label's value between its quotes: backslash, quote and line break escaped; a byte that is not
/// part of UTF-8 becomes U+FFFD and its two hexadecimal digits, as does each byte of a U+FFFD that
/// was there before. So different values stay different, and no two series become one.
std::string escape_label(std::string_view value);

/// `name="value"`, escaped.
std::string label(std::string_view name, std::string_view value);

/// Those that are not empty, with commas between them.
std::string join_labels(std::initializer_list<std::string_view> labels);

/// What tells an event from others of its metric: `pmu="cpu_core"`. Mostly empty.
std::string labels_of_event(const perf::EventIdentity& event);

}  // namespace pex::exposition
