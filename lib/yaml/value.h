#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml/mistakes.h"
#include "yaml/position.h"
#include "yaml/tree.h"

namespace pex::yaml {

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
  bool is_text() const { return node_->kind == Node::Kind::kText; }
  bool is_list() const { return node_->kind == Node::Kind::kList; }
  bool is_map() const { return node_->kind == Node::Kind::kMap; }
  /// True for what YAML makes of "{a, b}" and "{a, b}:c" without quotes: a map whose keys have no
  /// value, or are maps themselves. One that has the key `meant` is no accident.
  bool is_map_by_accident(std::string_view meant) const;

  void refuse(const std::string& what, const std::string& remedy) const;

  /// The same value, which may be or hold a secret in a wrong place: messages about it, and about
  /// what is in it, repeat no text of the file but words that we know, their misspellings, and
  /// unknown keys that look like keys. Names of the operator's own are left out of paths.
  Value unshown() const;
  bool is_shown() const { return shown_; }
  /// The text of this value in quotes, for the start of a message; or "the text".
  std::string said() const;

  /// Text in quotes or without, on one line.
  std::optional<std::string> text(const Expected& expected) const;
  /// Text with its line breaks, as it stands below a '|'.
  std::optional<std::string> lines(const Expected& expected) const;
  /// Text without quotes; in quotes it would be a text that only looks like a number.
  std::optional<std::string> unquoted_text(const Expected& expected) const;
  std::optional<std::vector<Value>> items(const Expected& expected) const;

  using Entries = std::vector<std::pair<std::string, Value>>;
  /// The entries of a map whose key is one of `known`, each once: others are refused here.
  std::optional<Entries> entries(const std::vector<std::string>& known) const;

  /// Key and value.
  using NamedEntries = std::vector<std::pair<Value, Value>>;
  /// The entries of a map whose keys are names of the operator's own, each once: at least one of
  /// them, or there is a mistake.
  std::optional<NamedEntries> named_entries(const Expected& expected) const;

 private:
  bool is(Node::Kind kind, const Expected& expected) const;
  bool is_plain_key(const Node& key, const std::string& remedy) const;
  std::string what_it_is() const;
  Value inner(const Node& node, const std::string& path) const;
  Value at_key(const Node& key, bool in_path) const;
  bool may_show_key(const Node& key, const Node& value,
                    const std::vector<std::string>& known) const;

  const Node* node_;
  Position at_;
  Mistakes* mistakes_;
  bool shown_ = true;
};

/// Finds what stands in a file twice.
class DuplicateKeys {
 public:
  /// `remedy` is what to do about the second one.
  explicit DuplicateKeys(std::string remedy) : remedy_(std::move(remedy)) {}

  /// False for a text that was there before: then `value` is refused, which says where.
  bool add(const std::string& text, const Value& value);

 private:
  std::string remedy_;
  std::map<std::string, Position> seen_;
};

/// `true` or `false`, and none of YAML's other spellings.
std::optional<bool> read_flag(const Value& value);

/// What is taken at `value`, and why it makes no difference: one line, as mistakes are.
std::string remark(const Value& value, const std::string& why);

/// Keeps the default where a mistake stands.
template <typename T, typename Read>
void assign(T& target, const std::optional<Read>& read) {
  if (read) target = *read;
}

/// A mistake: `text` is none of `words`, which `noun` says what they are ("a scope").
void refuse_word(const Value& value, const std::string& text, std::string_view noun,
                 const std::vector<std::string>& words, std::string_view remedy);

/// The row of a table whose `word` stands here; null after a mistake.
template <typename Row>
const Row* read_row(const Value& value, std::span<const Row> rows, std::string_view noun,
                    const Expected& expected) {
  const std::optional<std::string> text = value.text(expected);
  if (!text) return nullptr;
  std::vector<std::string> words;
  for (const Row& row : rows) {
    if (row.word == *text) return &row;
    words.emplace_back(row.word);
  }
  refuse_word(value, *text, noun, words, expected.remedy);
  return nullptr;
}

}  // namespace pex::yaml
