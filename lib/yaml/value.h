#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml/diagnostic.h"
#include "yaml/position.h"
#include "yaml/tree.h"

namespace pex::yaml {

/// What should stand somewhere, for the message when it does not.
struct Expected {
  std::string_view what;    ///< "a duration"
  std::string_view remedy;  ///< "write a duration from 100ms to 1h"
};

/// One value of the file, and the path of keys that leads to it. Every read is strict: it gives
/// what was written in the one form that is accepted, or adds an error and gives nothing.
class Value {
 public:
  /// Borrows both; `at.line` and `at.column` are taken from the node.
  Value(const Node& node, Position at, Diagnostics& diagnostics);

  const Position& at() const { return at_; }
  bool is_text() const { return node_->kind == Node::Kind::kText; }
  bool is_list() const { return node_->kind == Node::Kind::kList; }
  bool is_map() const { return node_->kind == Node::Kind::kMap; }
  /// True for what YAML makes of "{a, b}" and "{a, b}:c" without quotes: a map whose keys have no
  /// value, or are maps themselves. One that has the key `meant` is no accident.
  bool is_map_by_accident(std::string_view meant) const;

  /// Adds an error, or a warning, at this place.
  void refuse(std::string message, std::string remedy) const;
  void warn(std::string message) const;

  /// How many errors the whole file had so far: more than before a read, and the read has failed.
  std::size_t error_count() const { return diagnostics_->error_count(); }

  /// The same value of a file that may hold a secret in any place: messages about it, and about
  /// what is in it, repeat nothing of the file but keys and words that are known.
  Value redacted() const;
  bool is_redacted() const { return redacted_; }
  /// The text of this value in quotes, for the start of a message; redacted: "the text".
  std::string quoted_text() const;

  /// Text in quotes or without, on one line.
  std::optional<std::string> text(const Expected& expected) const;
  /// Text with its line breaks, as it stands below a '|'.
  std::optional<std::string> lines(const Expected& expected) const;
  /// Text without quotes; in quotes it would be a text that only looks like a number.
  std::optional<std::string> unquoted_text(const Expected& expected) const;
  std::optional<std::vector<Value>> items(const Expected& expected) const;

  struct Entries {
    std::vector<std::pair<std::string, Value>> known;
    /// Keys that unknown ones were most likely meant for: these are not missing as well.
    std::vector<std::string> misspelled;
  };
  /// The entries of a map whose key is one of `known`, each once: others are refused here.
  std::optional<Entries> entries(const std::vector<std::string>& known) const;

  /// Key and value.
  using NamedEntries = std::vector<std::pair<Value, Value>>;
  /// The entries of a map whose keys are names of the operator's own, each once: at least one of
  /// them, or there is an error.
  std::optional<NamedEntries> named_entries(const Expected& expected) const;

 private:
  bool is(Node::Kind kind, const Expected& expected) const;
  bool is_plain_key(const Node& key, const std::string& remedy) const;
  std::string what_it_is() const;
  Value inner(const Node& node, const std::string& path) const;
  Value at_key(const Node& key, bool is_known) const;

  const Node* node_;
  Position at_;
  Diagnostics* diagnostics_;
  bool redacted_ = false;
};

/// Finds what stands in a file twice.
class DuplicateKeys {
 public:
  /// `remedy` is what to do about the second one.
  explicit DuplicateKeys(std::string remedy) : remedy_(std::move(remedy)) {}

  /// False for a text that was there before: then `value` is refused, with the place of the first.
  bool add(const std::string& text, const Value& value);

 private:
  std::string remedy_;
  std::map<std::string, Position> seen_;
};

/// `true` or `false`, and none of YAML's other spellings.
std::optional<bool> read_flag(const Value& value);

/// Keeps the default after an error.
template <typename T, typename Read>
void assign(T& target, const std::optional<Read>& read) {
  if (read) target = *read;
}

/// Adds an error: `text` is none of `words`, of which `noun` is the kind ("a scope").
void refuse_word(const Value& value, const std::string& text, std::string_view noun,
                 const std::vector<std::string>& words, std::string_view remedy);

/// The entry of a table whose `word` stands here; null after an error.
template <typename Entry>
const Entry* read_entry(const Value& value, std::span<const Entry> table, std::string_view noun,
                        const Expected& expected) {
  const std::optional<std::string> text = value.text(expected);
  if (!text) return nullptr;
  std::vector<std::string> words;
  for (const Entry& entry : table) {
    if (entry.word == *text) return &entry;
    words.emplace_back(entry.word);
  }
  refuse_word(value, *text, noun, words, expected.remedy);
  return nullptr;
}

}  // namespace pex::yaml
