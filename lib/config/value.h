#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/mistakes.h"
#include "config/yaml_tree.h"

namespace pex::config {

/// What should stand somewhere, for the message when it does not.
struct Expected {
  std::string_view what;    ///< "a duration"
  std::string_view remedy;  ///< "write a duration from 100ms to 1h"
};

/// One value of the file, and the path of keys that leads to it. Every read is strict: it gives
/// what was written in the one form we accept, or adds a mistake and gives nothing.
class Value {
 public:
  /// Borrows both; `at.line` and `at.column` are taken from the node.
  Value(const Node& node, Position at, Mistakes& mistakes);

  const Position& at() const { return at_; }
  bool is_list() const { return node_->kind == Node::Kind::kList; }

  void refuse(const std::string& what, const std::string& remedy) const;

  /// Text in quotes or without, on one line.
  std::optional<std::string> text(const Expected& expected) const;
  /// Text without quotes; in quotes it would be a text that only looks like a number.
  std::optional<std::string> unquoted_text(const Expected& expected) const;
  std::optional<std::vector<Value>> items(const Expected& expected) const;

  using Entries = std::vector<std::pair<std::string, Value>>;
  /// The entries of a map whose key is one of `known`, each once: others are refused here.
  std::optional<Entries> entries(const std::vector<std::string>& known) const;

 private:
  bool is(Node::Kind kind, const Expected& expected) const;

  const Node* node_;
  Position at_;
  Mistakes* mistakes_;
};

/// Finds what stands in a file twice.
class Firsts {
 public:
  /// `remedy` is what to do about the second one.
  explicit Firsts(std::string remedy) : remedy_(std::move(remedy)) {}

  /// False for a text that was there before: then `value` is refused, which says where.
  bool add(const std::string& text, const Value& value);

 private:
  std::string remedy_;
  std::map<std::string, Position> seen_;
};

struct NumberRange {
  std::uint64_t least;
  std::uint64_t most;
};
/// Plain decimal digits. What YAML would read in some other way (010, 0x10, 1e3) is refused.
std::optional<std::uint64_t> read_number(const Value& value, const NumberRange& range);

struct DurationRange {
  std::chrono::nanoseconds least;
  std::chrono::nanoseconds most;
};
/// A whole number with its unit, as parse_duration reads it.
std::optional<std::chrono::nanoseconds> read_duration(const Value& value,
                                                      const DurationRange& range);

/// `true` or `false`, and none of YAML's other spellings.
std::optional<bool> read_flag(const Value& value);

/// One key of a map and how its value is read. A map is a table of these.
template <typename Target>
struct Key {
  std::string_view name;
  void (*read)(const Value&, Target&);
  std::string_view when_missing = {};  ///< what is wrong without it; empty when it may be left out
  std::string_view remedy = {};        ///< then what to add
};

template <typename Target>
void read_map(const Value& map, std::span<const Key<Target>> keys, Target& target) {
  std::vector<std::string> names;
  for (const Key<Target>& key : keys) names.emplace_back(key.name);
  const std::optional<Value::Entries> entries = map.entries(names);
  if (!entries) return;

  for (const Key<Target>& key : keys) {
    bool found = false;
    for (const auto& [name, value] : *entries) {
      if (name != key.name) continue;
      found = true;
      key.read(value, target);
    }
    if (!found && !key.when_missing.empty()) {
      map.refuse(std::string(key.when_missing), std::string(key.remedy));
    }
  }
}

}  // namespace pex::config
