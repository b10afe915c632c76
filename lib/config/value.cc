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

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A spelling of a number that somebody may mean, and why it is not taken.
struct NumberRow {
  bool (*fits)(std::string_view text);
  std::string_view what;
};
constexpr NumberRow kNumberRows[] = {
    {[](std::string_view text) { return text.starts_with('-'); }, "is negative"},
    {[](std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); },
     "is hexadecimal"},
    {[](std::string_view text) {
       return text.starts_with("0o") || (is_digits(text) && text.size() > 1 && text[0] == '0');
     },
     "would be octal to YAML"},
    {[](std::string_view text) {
       return is_digits(text.substr(0, 1)) &&
              text.find_first_not_of("0123456789_,' ") == text.npos && !is_digits(text);
     },
     "has separators between its digits"},
    {[](std::string_view text) {
       return text.find_first_not_of("0123456789.") == text.npos && !is_digits(text) &&
              text.find_first_of("0123456789") != text.npos;
     },
     "is not a whole number"},
};

std::optional<std::string_view> wrong_spelling(std::string_view text) {
  for (const NumberRow& row : kNumberRows) {
    if (row.fits(text)) return row.what;
  }
  if (text.find_first_of("0123456789") == text.npos) return "is not a number";
  if (!is_digits(text)) return "is not in plain digits";
  return {};
}

constexpr std::string_view kUnits[] = {"ms", "s", "m", "h"};

bool is_unit(std::string_view text) {
  return std::find(std::begin(kUnits), std::end(kUnits), text) != std::end(kUnits);
}

struct Advice {
  std::string what;
  std::string remedy;
};
/// Why `text` is no duration within its bounds.
Advice about_duration(const std::string& text, const std::string& bounds) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  if (digits == 0 || unit.find_first_of("0123456789. ") != unit.npos) {
    return {quoted(text) + " is not a whole number and a unit",
            "write a number and one of ms, s, m, h, for example 1s"};
  }
  if (is_unit(unit) || !parse_unsigned(text.substr(0, digits))) {
    return {quoted(text) + " is out of range", bounds};
  }
  if (unit.empty()) return {quoted(text) + " has no unit", "write " + text + "s or 500ms"};
  return {quoted(unit) + " is not a unit of time", "use one of ms, s, m, h"};
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
    const Value here(key, {at_.file, 0, 0, below(at_.key, key.text)}, *mistakes_);
    if (key.kind != Node::Kind::kText || !key.tag.empty()) {
      mistakes_->add({at_.file, key.place.line, key.place.column, at_.key},
                     "a key that is not a plain word", known_keys(known));
    } else if (std::find(known.begin(), known.end(), key.text) == known.end()) {
      const std::optional<std::string> meant = nearest(key.text, known);
      here.refuse("unknown key", meant ? "did you mean '" + *meant + "'?" : known_keys(known));
    } else if (firsts.add(key.text, here)) {
      found.emplace_back(key.text, Value(node_->children[i + 1], here.at(), *mistakes_));
    }
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

std::optional<std::uint64_t> read_number(const Value& value, const NumberRange& range) {
  const std::string remedy = "write a whole number from " + std::to_string(range.least) + " to " +
                             std::to_string(range.most);
  const std::optional<std::string> text = value.unquoted_text({"a number", remedy});
  if (!text) return {};

  if (const auto wrong = wrong_spelling(*text)) {
    value.refuse(quoted(*text) + " " + std::string(*wrong), remedy + ", in plain digits");
    return {};
  }
  const std::optional<std::uint64_t> number = parse_unsigned(*text);
  if (number && range.least <= *number && *number <= range.most) return number;
  value.refuse(quoted(*text) + " is out of range", remedy);
  return {};
}

std::optional<std::chrono::nanoseconds> read_duration(const Value& value,
                                                      const DurationRange& range) {
  const std::string remedy = "write a duration from " + format_duration(range.least) + " to " +
                             format_duration(range.most);
  const std::optional<std::string> text = value.text({"a duration", remedy});
  if (!text) return {};

  const std::optional<std::chrono::nanoseconds> duration = parse_duration(*text);
  if (duration && range.least <= *duration && *duration <= range.most) return duration;
  const Advice advice = about_duration(*text, remedy);
  value.refuse(advice.what, advice.remedy);
  return {};
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

}  // namespace pex::config
