#include "yaml/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace pex::yaml {
namespace {

// Errors found here are thrown as yaml-cpp throws its own.
constexpr char kTooDeep[] = "lists and maps are nested too deep";
constexpr char kNoClosingQuote[] = "this quote is never closed";

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
    add({.kind = Node::Kind::kText,
         .place = place_of(mark),
         .text = value,
         .plain = tag != "!",
         .one_line = is_on_one_line(mark, value),
         .tag = written_tag(tag)});
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

  bool starts_with(std::size_t offset, char c) const {
    return offset < text_.size() && text_[offset] == c;
  }

  /// The source of a plain text that continues in the next line, or of a block after '|' or '>',
  /// does not start with the text. After an anchor or a tag (which are refused anyway) this is
  /// unknown.
  bool is_on_one_line(const YAML::Mark& mark, const std::string& value) const {
    const std::string_view source = text_.substr(std::min(offset_of(mark), text_.size()));
    if (source.empty() || source[0] == '&' || source[0] == '!') return true;
    if (!is_quote(source[0])) return source.starts_with(value);
    const std::optional<std::string_view> whole = quoted_text(source);
    if (!whole) throw YAML::ParserException(mark, kNoClosingQuote);
    return whole->find('\n') == whole->npos;
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
    open_.push_back(
        {{.kind = kind, .place = place_of(mark), .tag = written_tag(tag)}, offset_of(mark)});
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
  return "check the indentation, which takes no tabs, and the brackets and quotes here and above; "
         "put text with special characters in quotes";
}

/// After a colon yaml-cpp quotes the file, which may contain a secret.
Diagnostic syntax_error(const YAML::Exception& thrown, std::string_view text,
                        const std::string& file) {
  return {position_at(text, offset_of(thrown.mark), file),  // its column is 0 at the end of a file
          "not YAML: " + shown(thrown.msg.substr(0, thrown.msg.find(": "))),
          remedy_for(thrown.msg)};
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
    diagnostics.add(syntax_error(thrown, text, file));
    return {};
  }
}

}  // namespace pex::yaml
