#include "yaml/keys.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/duration.h"

namespace pex::yaml {
namespace {

std::string from_to(const std::string& min, const std::string& max) {
  return fmt::format("`{}` to `{}`", min, max);
}

}  // namespace

std::string path_of(const KeyReference& key) {
  return key.map.empty() ? key.name : key.map + "." + key.name;
}

std::string written(std::string_view text) { return fmt::format("`{}`", text); }

std::string written(std::size_t number) {
  return written(std::string_view(std::to_string(number)));
}

std::string written(std::chrono::nanoseconds duration) {
  return written(std::string_view(format_duration(duration)));
}

std::string form_of_flag() { return form_of_words({"true", "false"}); }

std::string form_of_map() { return "map"; }

std::string form_of(const NumberRange& range) {
  return "whole number, " + from_to(std::to_string(range.min), std::to_string(range.max));
}

std::string form_of(const DecimalRange& range) {
  return "number, " + from_to(shortest(range.min), shortest(range.max));
}

std::string form_of(const DurationRange& range) {
  return "duration, " + from_to(format_duration(range.min), format_duration(range.max));
}

std::string form_of_list(std::size_t max, std::string_view items) {
  return fmt::format("list of at most {} {}", max, items);
}

std::string form_of_words(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(written(word));
  return join_last(all, " or ");
}

}  // namespace pex::yaml
