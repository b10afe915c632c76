#include "yaml/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace pex::yaml {
namespace {

// Errors found here are thrown as yaml-cpp throws its own.
constexpr char kTooDeep[] = "lists and maps are nested too deep";
constexpr char kNoClosingQuote[] = "this quote is never closed";

/// After each joined pair of surrogates: escape, which no text may contain.
constexpr char kPadding = '\x1b';

/// In bytes. PyYAML and libyaml (go-yaml, Psych) fold at the first blank after column 80.
constexpr std::size_t kMinFold = 60;

std::size_t offset_of(const YAML::Mark& mark) {
  return static_cast<std::size_t>(std::max(mark.pos, 0));
}

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

bool is_quote(char c) { return c == '"' || c == '\''; }

/// The quoted text at the start of `source`, with both quotes. Nothing if it is not closed:
/// yaml-cpp takes the end of the file for the quote if a line break comes before it.
std::optional<std::string_view> quoted_text(std::string_view source) {
  const char quote = source[0];
  for (std::size_t i = 1; i < source.size(); ++i) {
    const bool escapes_next = quote == '"' ? source[i] == '\\' : source.substr(i).starts_with("''");
    if (escapes_next) {
      ++i;
    } else if (source[i] == quote) {
      return source.substr(0, i + 1);
    }
  }
  return {};
}

/// The position of the '-' of a list item without a value. yaml-cpp only has the position of the
/// next value, so search backwards from there, over blank lines and comments.
Place dash_before(std::string_view text, const YAML::Mark& next) {
  std::size_t end = std::min(offset_of(next), text.size());
  for (int line = next.line + 1;; --line) {
    const std::size_t line_break = end == 0 ? text.npos : text.rfind('\n', end - 1);
    const std::size_t start = line_break == text.npos ? 0 : line_break + 1;
    const std::string_view written = text.substr(start, end - start);
    const std::size_t dash = written.substr(0, written.find('#')).rfind('-');
    if (dash != text.npos) return {line, static_cast<int>(dash) + 1};
    if (start == 0) return place_of(next);
    end = line_break;
  }
}

/// Builds our tree from yaml-cpp's events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = offset_of(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add({.kind = Node::Kind::kNothing, .place = place_of_nothing(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    add({.kind = Node::Kind::kAlias, .place = place_of(mark)});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const std::string_view source = text_.substr(std::min(offset_of(mark), text_.size()));
    Node text{.kind = Node::Kind::kText,
              .place = place_of(mark),
              .text = without_padding(value),
              .plain = tag != "!",
              .tag = written_tag(tag)};
    resolve_tag(text);
    if (source.starts_with('|') || source.starts_with('>')) trim_line_breaks(text.text);
    text.several_lines = !is_in_quotes(mark, source) &&
                         (text.text.find('\n') != text.text.npos || is_misindented(source, value));
    add(std::move(text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, tag);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag);
  }
  void OnMapEnd() override { close(); }

  Node take_root() { return std::move(root_); }
  std::size_t start() const { return start_; }

 private:
  /// A list or a map that has not ended yet.
  struct Open {
    Node node;
    std::size_t offset;
  };

  /// yaml-cpp has the tag "?" for none, and "!" for text in quotes.
  static std::string written_tag(const std::string& tag) {
    if (tag == "?" || tag == "!") return {};
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    return tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size()) : tag;
  }

  /// Programs that put all texts in quotes write a tag where that changes what a text is.
  static void resolve_tag(Node& text) {
    static constexpr std::string_view kOfPlainText[] = {"!!bool", "!!int", "!!float", "!!null"};
    const bool is_plain = std::find(std::begin(kOfPlainText), std::end(kOfPlainText), text.tag) !=
                          std::end(kOfPlainText);
    if (!is_plain && text.tag != "!!str") return;
    text.plain = is_plain;
    if (text.tag == "!!null") text = {.kind = Node::Kind::kNothing, .place = text.place};
    text.tag.clear();
  }

  static std::string without_padding(std::string value) {
    constexpr char kLeadOf4Bytes = '\xf0';
    for (std::size_t at = value.find(kPadding); at != value.npos; at = value.find(kPadding, at)) {
      const bool is_padding = at >= 4 && (value[at - 4] & kLeadOf4Bytes) == kLeadOf4Bytes;
      if (is_padding) value.erase(at, 1);
      if (!is_padding) ++at;
    }
    return value;
  }

  bool starts_with(std::size_t offset, char c) const {
    return offset < text_.size() && text_[offset] == c;
  }

  std::size_t column_at(std::size_t offset) const {
    const std::size_t line_break = text_.substr(0, offset).rfind('\n');
    return line_break == text_.npos ? offset : offset - line_break - 1;
  }

  static void trim_line_breaks(std::string& text) { text.erase(text.find_last_not_of('\n') + 1); }

  static bool is_in_quotes(const YAML::Mark& mark, std::string_view source) {
    if (source.empty() || !is_quote(source[0])) return false;
    if (!quoted_text(source)) throw YAML::ParserException(mark, kNoClosingQuote);
    return true;
  }

  /// A text without quotes goes on in the next line if that is indented, also by error. Looks at no
  /// more of `source` than the text takes, as a file may have many texts on one line.
  bool is_misindented(std::string_view source, std::string_view left) const {
    if (source.empty() || std::string_view("&!|>").find(source[0]) != source.npos) return false;
    for (;;) {
      const std::size_t length = source.substr(0, left.size()).find('\n');
      if (length == source.npos) return false;
      const std::string_view line = trim(source.substr(0, length));
      if (line.empty() || left.size() <= line.size()) return false;
      if (column_at(text_.size() - source.size()) + line.size() < kMinFold) return true;
      left.remove_prefix(line.size());
      left.remove_prefix(std::min(left.find_first_not_of(" \n"), left.size()));
      source.remove_prefix(std::min(source.find_first_not_of(" \t\r\n", length), source.size()));
      if (source.starts_with("- ")) return true;
    }
  }

  Place place_of_nothing(const YAML::Mark& mark) const {
    if (open_.empty()) return place_of(mark);
    const Open& parent = open_.back();
    const bool is_value =
        parent.node.kind == Node::Kind::kMap && parent.node.children.size() % 2 == 1;
    if (is_value) return parent.node.children.back().place;
    const bool has_dash = parent.node.kind == Node::Kind::kList && !starts_with(parent.offset, '[');
    return has_dash ? dash_before(text_, mark) : place_of(mark);
  }

  void add(Node node) {
    (open_.empty() ? root_ : open_.back().node.children.emplace_back()) = std::move(node);
  }
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    if (open_.size() == kMaxDepth) throw YAML::ParserException(mark, kTooDeep);
    std::string written = written_tag(tag);
    if (written == (kind == Node::Kind::kMap ? "!!map" : "!!seq")) written.clear();
    open_.push_back(
        {{.kind = kind, .place = place_of(mark), .tag = std::move(written)}, offset_of(mark)});
  }
  void close() {
    Node whole = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(whole));
  }

  std::string_view text_;
  Node root_;
  std::vector<Open> open_;
  std::size_t start_ = 0;
};

Position position_at(std::string_view text, std::size_t offset, const std::string& file) {
  const Place place = place_at(text, offset);
  return {file, place.line, place.column, {}};
}

const char* remedy_for(std::string_view message) {
  using namespace YAML::ErrorMsg;
  static const std::string_view kOfAliases[] = {UNKNOWN_ANCHOR,   ALIAS_NOT_FOUND, ANCHOR_NOT_FOUND,
                                                CHAR_IN_ALIAS,    CHAR_IN_ANCHOR,  ALIAS_CONTENT,
                                                MULTIPLE_ALIASES, MULTIPLE_ANCHORS};
  for (const std::string_view error : kOfAliases) {
    if (!message.starts_with(error)) continue;
    return "put text that starts with '*' or '&' in quotes; or write the value itself: aliases "
           "are not followed";
  }
  if (message.starts_with(INVALID_UNICODE)) {
    return "write the character itself; or, as JSON does, the escapes of both its surrogates";
  }
  return "check the indentation, which takes no tabs, and the brackets and quotes here and above; "
         "put text with special characters in quotes";
}

/// After a colon yaml-cpp quotes the file, which may contain a secret.
Diagnostic syntax_error(const YAML::Exception& thrown, std::string_view text,
                        const std::string& file) {
  if (const auto unseen = first_invisible(text, thrown.mark.line + 1)) {
    return {position_at(text, unseen->offset, file), unseen->what, unseen->remedy};
  }
  return {position_at(text, offset_of(thrown.mark), file),  // its column is 0 at the end of a file
          "not YAML: " + shown(thrown.msg.substr(0, thrown.msg.find(": "))),
          remedy_for(thrown.msg)};
}

/// The offset within its range of the surrogate that is escaped at the start of `text`.
std::optional<std::uint32_t> surrogate(std::string_view text, std::uint32_t first_of_range) {
  constexpr std::size_t kLength = 6;  // of \uD83D
  if (!text.starts_with("\\u") || text.size() < kLength) return {};
  std::uint32_t code = 0;
  const char* const end = text.data() + kLength;
  const auto [after, error] = std::from_chars(text.data() + 2, end, code, 16);
  const bool is_in_range = error == std::errc() && after == end && code - first_of_range < 0x400;
  return is_in_range ? std::optional(code - first_of_range) : std::nullopt;
}

/// JSON escapes a character beyond U+FFFF as a pair of surrogates (RFC 8259, 7), which yaml-cpp
/// refuses. Written with the escapes of YAML, and kPadding, it is as long.
std::string with_joined_surrogates(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const auto high = surrogate(text, 0xd800);
    const auto low = high ? surrogate(text.substr(6), 0xdc00) : std::nullopt;
    if (low) {
      char escape[16];
      std::snprintf(escape, sizeof escape, "\\U%08x\\e", 0x10000 + (*high << 10) + *low);
      joined += escape;
      text.remove_prefix(12);
      continue;
    }
    const std::size_t length = std::min<std::size_t>(text[0] == '\\' ? 2 : 1, text.size());
    joined += text.substr(0, length);
    text.remove_prefix(length);
  }
  return joined;
}

/// At most two calls, never a loop: for some texts yaml-cpp finds documents without end (",").
void refuse_second_document(YAML::Parser& parser, std::string_view text, TreeBuilder& builder,
                            const std::string& file, Diagnostics& diagnostics) {
  if (!parser.HandleNextDocument(builder)) return;
  const Position at = position_at(text, builder.start(), file);
  if (text.substr(std::min(builder.start(), text.size())).starts_with("---")) {
    diagnostics.add(
        {at, "a second document starts here", "keep one, and remove the '---' between"});
  } else {
    diagnostics.add(
        {at, "this does not belong to anything above", "correct the indentation, or remove it"});
  }
}

}  // namespace

std::optional<Node> parse_yaml(std::string_view text, const std::string& file,
                               Diagnostics& diagnostics) {
  TreeBuilder first(text);
  TreeBuilder second(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(first);
    refuse_second_document(parser, text, second, file, diagnostics);
    return first.take_root();
  } catch (const YAML::Exception& thrown) {
    if (thrown.msg.starts_with(YAML::ErrorMsg::INVALID_UNICODE)) {
      const std::string joined = with_joined_surrogates(text);
      if (joined != text) return parse_yaml(joined, file, diagnostics);
    }
    diagnostics.add(syntax_error(thrown, text, file));
    return {};
  }
}

}  // namespace pex::yaml
