#include "config/value.h"

#include <algorithm>

#include "base/parse.h"

namespace pex::config {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : ", ") + word;
  return line;
}

bool is_word(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos;
}

std::string below(const std::string& path, std::string_view key) {
  const std::string last = is_word(key) ? shown(key) : quoted(key);
  return path.empty() ? last : path + "." + last;
}

std::string kind_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kText:
      return "the text " + quoted(node.text);
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

std::string known_keys(const std::vector<std::string>& known) {
  return "the keys here are: " + joined(known);
}

/// What to do about a key that is unknown.
std::string remedy_for(const std::string& key, const Node& value,
                       const std::vector<std::string>& known) {
  if (const auto meant = nearest(key, known)) return "did you mean '" + *meant + "'?";
  const bool is_rest_of_text = !is_word(key) && value.kind == Node::Kind::kNothing;
  return known_keys(known) + (is_rest_of_text ? "; put text that holds ',' in quotes" : "");
}

}  // namespace

Value::Value(const Node& node, Position at, Mistakes& mistakes)
    : node_(&node), at_(std::move(at)), mistakes_(&mistakes) {
  at_.line = node.place.line;
  at_.column = node.place.column;
}

void Value::refuse(const std::string& what, const std::string& remedy) const {
  mistakes_->add(at_, what, remedy);
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
    refuse("a YAML alias stands here", "write the value itself; aliases are not followed");
  } else if (!node_->tag.empty()) {
    refuse("the YAML tag " + quoted(node_->tag) + " stands here", "remove the tag");
  } else if (node_->kind == Node::Kind::kNothing) {
    refuse("the value is missing", std::string(expected.remedy));
  } else if (node_->kind != kind) {
    refuse("found " + kind_of(*node_) + " where " + std::string(expected.what) + " is expected",
           std::string(expected.remedy));
  } else {
    return true;
  }
  return false;
}

std::optional<std::string> Value::text(const Expected& expected) const {
  if (!is(Node::Kind::kText, expected)) return {};
  if (!node_->one_line) {
    refuse(quoted(node_->text) + " runs over more than one line",
           "write each text on one line, and items and keys in the column of those above");
    return {};
  }
  if (holds_control_characters(node_->text)) {
    refuse(quoted(node_->text) + " holds a control character", std::string(expected.remedy));
    return {};
  }
  return node_->text;
}

std::optional<std::string> Value::unquoted_text(const Expected& expected) const {
  std::optional<std::string> found = text(expected);
  if (!found || node_->plain) return found;
  refuse("found " + kind_of(*node_) + " in quotes where " + std::string(expected.what) +
             " is expected",
         std::string(expected.remedy) + ", without quotes");
  return {};
}

std::optional<std::vector<Value>> Value::items(const Expected& expected) const {
  if (!is(Node::Kind::kList, expected)) return {};
  std::vector<Value> found;
  for (const Node& item : node_->children) {
    const std::string path = at_.key + "[" + std::to_string(found.size()) + "]";
    found.emplace_back(item, Position{at_.file, 0, 0, path}, *mistakes_);
  }
  return found;
}

bool Value::is_plain_key(const Node& key, const std::string& remedy) const {
  if (key.kind == Node::Kind::kText && key.tag.empty()) return true;
  mistakes_->add({at_.file, key.place.line, key.place.column, at_.key},
                 "a key that is not a plain word", remedy);
  return false;
}

std::optional<Value::Entries> Value::entries(const std::vector<std::string>& known) const {
  const bool whole_file = at_.key.empty();
  const std::string remedy =
      known_keys(known) +
      (whole_file ? "" : "; write at least one as 'key: value', or remove " + at_.key);
  if (!is(Node::Kind::kMap, {"a map of keys", remedy})) return {};

  Entries found;
  Firsts firsts("keep one of the two");
  for (std::size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    const Node& key = node_->children[i];
    if (!is_plain_key(key, known_keys(known))) continue;
    const Value here(key, {at_.file, 0, 0, below(at_.key, key.text)}, *mistakes_);
    if (std::find(known.begin(), known.end(), key.text) == known.end()) {
      here.refuse("unknown key", remedy_for(key.text, node_->children[i + 1], known));
    } else if (firsts.add(key.text, here)) {
      found.emplace_back(key.text, Value(node_->children[i + 1], here.at(), *mistakes_));
    }
  }
  return found;
}

std::optional<Value::NamedEntries> Value::named_entries(const Expected& expected) const {
  if (!is(Node::Kind::kMap, expected)) return {};
  if (node_->children.empty()) {
    refuse("found an empty map where " + std::string(expected.what) + " is expected",
           std::string(expected.remedy));
  }
  NamedEntries found;
  Firsts firsts("keep one of the two");
  for (std::size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    const Node& key = node_->children[i];
    if (!is_plain_key(key, std::string(expected.remedy))) continue;
    const Value here(key, {at_.file, 0, 0, below(at_.key, key.text)}, *mistakes_);
    if (!firsts.add(key.text, here)) continue;
    found.emplace_back(here, Value(node_->children[i + 1], here.at(), *mistakes_));
  }
  return found;
}

bool Firsts::add(const std::string& text, const Value& value) {
  const auto [first, is_new] = seen_.emplace(text, value.at());
  if (!is_new) {
    value.refuse(quoted(text) + " stands twice, first on line " +
                     std::to_string(first->second.line) + " column " +
                     std::to_string(first->second.column),
                 remedy_);
  }
  return is_new;
}

std::optional<bool> read_flag(const Value& value) {
  const std::string remedy = "write true or false";
  const std::optional<std::string> text = value.unquoted_text({"true or false", remedy});
  if (!text) return {};
  if (*text == "true") return true;
  if (*text == "false") return false;
  value.refuse(quoted(*text) + " is not true or false", remedy);
  return {};
}

void refuse_word(const Value& value, const std::string& text, std::string_view noun,
                 const std::vector<std::string>& words, std::string_view remedy) {
  const std::optional<std::string> meant = nearest(text, words);
  value.refuse(quoted(text) + " is not " + std::string(noun),
               meant ? "did you mean '" + *meant + "'?" : std::string(remedy));
}

}  // namespace pex::config
