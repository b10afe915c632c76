#pragma once

#include <functional>
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

/// What is expected somewhere, for the message if it is missing.
struct Expected {
  std::string_view what;    ///< "a duration"
  std::string_view remedy;  ///< "write a duration from 100ms to 1h"
};

/// The message about a key that its map does not have, and how its remedy begins if no key there is
/// spelled like it.
inline constexpr std::string_view kUnknownKey = "unknown key";
inline constexpr std::string_view kKeysHere = "the keys here are: ";

/// One value of the file, and the path of keys that leads to it. Every read is strict: it returns
/// what was written in the one accepted form, or adds an error and returns nothing.
class Value {
 public:
  /// Borrows both; the node sets `at.line` and `at.column`.
  Value(const Node& node, Position at, Diagnostics& diagnostics);

  const Position& at() const { return at_; }
  bool is_text() const { return node_->kind == Node::Kind::kText; }
  bool is_list() const { return node_->kind == Node::Kind::kList; }
  bool is_map() const { return node_->kind == Node::Kind::kMap; }
  bool is_alias() const { return node_->kind == Node::Kind::kAlias; }
  /// Nothing, or a text or map without content; not an empty list, which may mean none of all.
  bool is_blank() const {
    return node_->text.empty() && node_->children.empty() && !is_list() && !is_alias();
  }
  /// True for the YAML of "{a, b}" and "{a, b}:c" without quotes: a map whose keys have no value,
  /// or are maps themselves. False if it has the key `meant`.
  bool is_map_by_accident(std::string_view meant) const;

  /// Adds an error, or a warning, at this position.
  void refuse(std::string message, std::string remedy) const;
  void warn(std::string message, std::string remedy = {}) const;
  /// Diagnostics::add_unknown() at this position.
  void refuse_unknown(std::string message, std::string remedy) const;

  /// Whether unknown keys and words are ignored, and how many were so far in the whole file.
  bool ignores_unknown() const { return diagnostics_->ignores_unknown(); }
  std::size_t ignored_count() const { return diagnostics_->ignored_count(); }

  /// Reads this item of a list with `read`. False if a part of it was ignored: without that part it
  /// might mean more than was written, so it has to be left out, and its errors do not matter.
  bool is_read_whole(const std::function<void()>& read) const;

  /// The number of errors in the whole file so far: a read that increases it has failed.
  std::size_t error_count() const { return diagnostics_->error_count(); }

  /// The same value of a file with secrets: messages about it, and about what is in it, repeat
  /// nothing of the file except known keys and words.
  Value redacted() const;
  bool is_redacted() const { return redacted_; }
  /// The text of this value in quotes, for the start of a message; redacted: "the text".
  std::string quoted_text() const;

  /// The text without any check, to look ahead: empty if it is none.
  std::string_view unchecked_text() const { return is_text() ? node_->text : std::string_view(); }
  /// The same for the text at a key of this map.
  std::string_view unchecked_text_at(std::string_view key) const;

  /// Text without a line break, however it is written: quoted, plain, or below a '>-'.
  std::optional<std::string> text(const Expected& expected) const;
  /// Text with its line breaks, as below a '|'; without those at its end.
  std::optional<std::string> lines(const Expected& expected) const;
  /// Unquoted text; quotes would make it a text that only resembles a number.
  std::optional<std::string> unquoted_text(const Expected& expected) const;
  std::optional<std::vector<Value>> items(const Expected& expected) const;
  /// At most `max` of them; `noun` is what they are: "patterns".
  std::optional<std::vector<Value>> items(std::string_view noun, std::size_t max,
                                          const Expected& expected) const;

  struct Entries {
    std::vector<std::pair<std::string, Value>> known;
    /// Keys that unknown ones most likely misspell: these are not also reported as missing.
    std::vector<std::string> misspelled;
  };
  /// The entries of a map with keys from `known`, each once; refuses others.
  std::optional<Entries> entries(const std::vector<std::string>& known) const;

  /// Key and value.
  using NamedEntries = std::vector<std::pair<Value, Value>>;
  /// The entries of a map whose keys are the operator's names, each once: at least one of them, or
  /// there is an error.
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

/// Finds duplicates in a file.
class DuplicateKeys {
 public:
  /// `remedy` is for the second one.
  explicit DuplicateKeys(std::string remedy) : remedy_(std::move(remedy)) {}

  /// False for a text that occurred before: then `value` is refused, with the position of the
  /// first.
  bool add(const std::string& text, const Value& value);

 private:
  std::string remedy_;
  std::map<std::string, Position> seen_;
};

/// `true` or `false`, also with capitals (YAML 1.2, 10.3.2); not the words of YAML 1.1.
std::optional<bool> read_flag(const Value& value);

/// Keeps the default after an error.
template <typename T, typename Read>
void assign(T& target, const std::optional<Read>& read) {
  if (read) target = *read;
}

/// Adds an error: `text` is not one of `words`, which are of the kind `noun` ("a scope").
void refuse_word(const Value& value, const std::string& text, std::string_view noun,
                 const std::vector<std::string>& words, std::string_view remedy);

/// A word of the file, and what it means.
template <typename T>
struct Word {
  std::string_view word;
  T value;
};

/// The entry of a table whose `word` is the value; null after an error.
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
