#include "yaml/value.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "yaml/plain_text.h"

namespace pex::yaml {
namespace {

constexpr std::string_view kWordLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kWordLetters) == std::string_view::npos;
}

std::string below(const std::string& path, std::string_view key) {
  const std::string last = is_word(key) ? shown(key) : in_quotes(key);
  return path.empty() ? last : path + "." + last;
}

std::string known_keys(const std::vector<std::string>& known) {
  return std::string(kKeysHere) + join(known);
}

/// The remedy for an unknown key that resembles no other one.
std::string remedy_for(const Node& key, const Node& value, const std::vector<std::string>& known) {
  const bool is_rest_of_text = !is_word(key.text) && value.kind == Node::Kind::kNothing;
  return known_keys(known) + (is_rest_of_text ? "; put text that contains ',' in quotes" : "");
}

}  // namespace

Value::Value(const Node& node, Position at, Diagnostics& diagnostics)
    : node_(&node), at_(std::move(at)), diagnostics_(&diagnostics) {
  at_.line = node.place.line;
  at_.column = node.place.column;
}

void Value::refuse(std::string message, std::string remedy) const {
  diagnostics_->add({at_, std::move(message), std::move(remedy)});
}

void Value::warn(std::string message, std::string remedy) const {
  diagnostics_->add({at_, std::move(message), std::move(remedy), Severity::kWarning});
}

void Value::refuse_unknown(std::string message, std::string remedy) const {
  diagnostics_->add_unknown({at_, std::move(message), std::move(remedy)});
}

bool Value::is_read_whole(const std::function<void()>& read) const {
  const Diagnostics before = *diagnostics_;
  read();
  if (diagnostics_->ignored_count() == before.ignored_count()) return true;
  diagnostics_->drop_errors_since(before);
  warn("left out, because this version does not know all of it");
  return false;
}

std::string_view Value::unchecked_text_at(std::string_view key) const {
  for (std::size_t i = 0; is_map() && i + 1 < node_->children.size(); i += 2) {
    const Node& value = node_->children[i + 1];
    if (node_->children[i].text == key && value.kind == Node::Kind::kText) return value.text;
  }
  return {};
}

Value Value::redacted() const {
  Value hidden = *this;
  hidden.redacted_ = true;
  return hidden;
}

std::string Value::quoted_text() const { return redacted_ ? "the text" : in_quotes(node_->text); }

std::string Value::what_it_is() const {
  switch (node_->kind) {
    case Node::Kind::kText:
      return redacted_ ? "a text" : "the text " + in_quotes(node_->text);
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
    case Node::Kind::kAlias:
      return "a YAML alias";
    case Node::Kind::kNothing:
      break;
  }
  return "nothing";
}

/// What is in this value, at `path` below it.
Value Value::inner(const Node& node, const std::string& path) const {
  Value value(node, {at_.file, 0, 0, path}, *diagnostics_);
  value.redacted_ = redacted_;
  return value;
}

Value Value::at_key(const Node& key, bool is_known) const {
  return inner(key, is_known || !redacted_ ? below(at_.key, key.text) : at_.key);
}

bool Value::is_map_by_accident(std::string_view meant) const {
  if (node_->kind != Node::Kind::kMap || node_->children.empty()) return false;
  for (std::size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    const Node& key = node_->children[i];
    const bool has_value = node_->children[i + 1].kind != Node::Kind::kNothing;
    if (key.text == meant || (has_value && key.kind != Node::Kind::kMap)) return false;
  }
  return true;
}

bool Value::is(Node::Kind kind, const Expected& expected) const {
  if (node_->kind == Node::Kind::kAlias) {
    refuse("this is a YAML alias", "write the value itself; aliases are not followed");
  } else if (!node_->tag.empty()) {
    refuse(
        (redacted_ ? "a YAML tag" : "the YAML tag " + in_quotes(node_->tag)) + " is not supported",
        "remove the tag");
  } else if (node_->kind == Node::Kind::kNothing) {
    refuse("the value is missing", std::string(expected.remedy));
  } else if (node_->kind != kind) {
    refuse(fmt::format("found {} where {} is expected", what_it_is(), expected.what),
           std::string(expected.remedy));
  } else {
    return true;
  }
  return false;
}

std::optional<std::string> Value::text(const Expected& expected) const {
  if (!is(Node::Kind::kText, expected)) return {};
  if (node_->several_lines) {
    refuse(quoted_text() + " runs over more than one line",
           "write each text on one line or below '>-', and items and keys in the column of those "
           "above");
    return {};
  }
  if (holds_control_characters(node_->text)) {
    refuse(quoted_text() + " contains a control character", std::string(expected.remedy));
    return {};
  }
  return node_->text;
}

std::optional<std::string> Value::lines(const Expected& expected) const {
  if (!is(Node::Kind::kText, expected)) return {};
  for (std::string_view line : split(node_->text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!holds_control_characters(line)) continue;
    refuse(quoted_text() + " contains a control character", std::string(expected.remedy));
    return {};
  }
  return node_->text;
}

std::optional<std::string> Value::unquoted_text(const Expected& expected) const {
  std::optional<std::string> found = text(expected);
  if (!found || node_->plain) return found;
  refuse(fmt::format("found {} in quotes where {} is expected", what_it_is(), expected.what),
         fmt::format("{}, without quotes", expected.remedy));
  return {};
}

std::optional<std::vector<Value>> Value::items(const Expected& expected) const {
  if (!is(Node::Kind::kList, expected)) return {};
  std::vector<Value> found;
  for (const Node& item : node_->children) {
    found.push_back(inner(item, fmt::format("{}[{}]", at_.key, found.size())));
  }
  return found;
}

std::optional<std::vector<Value>> Value::items(std::string_view noun, std::size_t max,
                                               const Expected& expected) const {
  std::optional<std::vector<Value>> found = items(expected);
  if (!found || found->size() <= max) return found;
  refuse(fmt::format("{} {}", found->size(), noun), fmt::format("list at most {}", max));
  return {};
}

bool Value::is_plain_key(const Node& key, const std::string& remedy) const {
  if (key.kind == Node::Kind::kText && key.tag.empty()) return true;
  inner(key, at_.key).refuse("a key that is not a plain word", remedy);
  return false;
}

std::optional<Value::Entries> Value::entries(const std::vector<std::string>& known) const {
  const bool whole_file = at_.key.empty();
  const std::string remedy =
      known_keys(known) +
      (whole_file ? "" : "; write at least one as 'key: value', or remove " + at_.key);
  if (!is(Node::Kind::kMap, {"a map of keys", remedy})) return {};

  Entries found;
  DuplicateKeys duplicates("keep one of the two");
  for (std::size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    Node key = node_->children[i];
    if (!is_plain_key(key, known_keys(known))) continue;
    const Node& value = node_->children[i + 1];
    const auto knows = [&known](std::string_view name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    // Programs that read YAML 1.1 take the key "on" for a flag.
    if (iequals(key.text, "true") && knows("on")) key.text = "on";
    const bool is_known = knows(key.text);
    const Value here = at_key(key, is_known);
    if (is_known && duplicates.add(key.text, here)) {
      found.known.emplace_back(key.text, inner(value, here.at().key));
    } else if (const auto meant = nearest(key.text, known); !is_known && meant) {
      here.refuse_unknown(std::string(kUnknownKey), fmt::format("did you mean '{}'?", *meant));
      found.misspelled.push_back(*meant);
    } else if (!is_known) {
      here.refuse_unknown(std::string(kUnknownKey), remedy_for(key, value, known));
    }
  }
  return found;
}

std::optional<Value::NamedEntries> Value::named_entries(const Expected& expected) const {
  if (!is(Node::Kind::kMap, expected)) return {};
  if (node_->children.empty()) {
    refuse(fmt::format("found an empty map where {} is expected", expected.what),
           std::string(expected.remedy));
  }
  NamedEntries found;
  DuplicateKeys duplicates("keep one of the two");
  for (std::size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    const Node& key = node_->children[i];
    if (!is_plain_key(key, std::string(expected.remedy))) continue;
    const Value here = at_key(key, false);
    if (!duplicates.add(key.text, here)) continue;
    found.emplace_back(here, inner(node_->children[i + 1], here.at().key));
  }
  return found;
}

bool DuplicateKeys::add(const std::string& text, const Value& value) {
  const auto [first, is_new] = seen_.emplace(text, value.at());
  if (!is_new) {
    value.refuse(fmt::format("{} is repeated, first on line {} column {}",
                             value.is_redacted() ? "this" : in_quotes(text), first->second.line,
                             first->second.column),
                 remedy_);
  }
  return is_new;
}

std::optional<bool> read_flag(const Value& value) {
  const std::string remedy = "write true or false";
  const std::optional<std::string> text = value.unquoted_text({"true or false", remedy});
  if (!text) return {};
  for (const std::string_view yes : {"true", "True", "TRUE"}) {
    if (*text == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "FALSE"}) {
    if (*text == no) return false;
  }
  value.refuse_unknown(value.quoted_text() + " is not true or false", remedy);
  return {};
}

void refuse_word(const Value& value, const std::string& text, std::string_view noun,
                 const std::vector<std::string>& words, std::string_view remedy) {
  const std::optional<std::string> meant = nearest(text, words);
  value.refuse_unknown(fmt::format("{} is not {}", value.quoted_text(), noun),
                       meant ? fmt::format("did you mean '{}'?", *meant) : std::string(remedy));
}

}  // namespace pex::yaml
