#include "yaml/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace pex::yaml {
namespace {

// What we find wrong ourselves goes through yaml-cpp's exception, and so through the same table.
constexpr char kTooDeep[] = "too deep";
constexpr char kNoClosingQuote[] = "no closing quote";

std::size_t offset_of(const YAML::Mark& mark) {
  return static_cast<std::size_t>(std::max(mark.pos, 0));
}

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

bool is_quote(char c) { return c == '"' || c == '\''; }

/// The text in quotes at the start of `source`, with both quotes. Nothing when it is never closed:
/// yaml-cpp takes the end of the file for the quote when a line break comes before it.
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

/// The place of the '-' of a list item without a value. yaml-cpp only has the place of what comes
/// next, so look back from there, over blank lines and comments.
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

/// Builds our tree from what yaml-cpp reports while it reads.
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
  /// The last value that was read.
  Place last_place() const { return last_; }
  /// The innermost `bracket` that is still open, if there is one.
  std::optional<Place> open_bracket(char bracket) const {
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (starts_with(open->offset, bracket)) return open->node.place;
    }
    return {};
  }

 private:
  /// A list or a map whose end has not come yet.
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

  /// A plain text that went on in the next line, or a block after '|' or '>', is not what its
  /// source starts with. Behind an anchor or a tag (which is refused anyway) we cannot tell.
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
    last_ = node.place;
    attach(std::move(node));
  }
  void attach(Node node) {
    (open_.empty() ? root_ : open_.back().node.children.emplace_back()) = std::move(node);
  }
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    if (open_.size() == kMaxDepth) throw YAML::ParserException(mark, kTooDeep);
    last_ = place_of(mark);
    open_.push_back({{.kind = kind, .place = last_, .tag = written_tag(tag)}, offset_of(mark)});
  }
  void close() {
    Node whole = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(whole));
  }

  std::string_view text_;
  Node root_;
  std::vector<Open> open_;
  std::size_t start_ = 0;
  Place last_;
};

/// yaml-cpp's message, and what it means for who wrote the file.
struct SyntaxEntry {
  enum class Where {
    kHere,         ///< where yaml-cpp stopped
    kLastValue,    ///< it stopped at the end of the file, for something that began far above
    kOpenBracket,  ///< the same; `bracket` tells which
  };
  std::string_view theirs;  ///< how it begins
  std::string_view what;
  std::string_view remedy;
  Where where = Where::kHere;
  char bracket = 0;
};
constexpr SyntaxEntry kSyntax[] = {
    {kTooDeep, "lists and maps are nested too deep", "write fewer brackets, dashes and indents"},
    {kNoClosingQuote, "this quote is never closed", "end the text with the quote that starts it"},
    {"illegal map value", "a key cannot stand here",
     "indent the keys of one map alike, and put text that holds ': ' in quotes"},
    {"illegal map key", "a key cannot stand here", "indent the keys of one map alike"},
    {"illegal block entry", "a list item cannot stand here",
     "start a list on a line of its own and indent its items alike"},
    {"end of map not found", "this fits nothing above",
     "remove it, or correct its indentation: the keys of one map start in one column"},
    {"end of sequence not found", "this fits nothing above",
     "remove it, or correct its indentation: the items of one list start in one column, each with "
     "'- '"},
    {"end of sequence flow not found", "this '[' is not closed, or a ',' is missing in it",
     "close it with ']'", SyntaxEntry::Where::kOpenBracket, '['},
    {"end of map flow not found", "this '{' is not closed, or a ',' is missing in it",
     "close it with '}'", SyntaxEntry::Where::kOpenBracket, '{'},
    {"illegal flow end", "this bracket closes nothing", "remove it, or open it first"},
    {"illegal EOF in scalar", "a text in quotes after this is never closed",
     "end it with the quote that starts it", SyntaxEntry::Where::kLastValue},
    {"illegal document indicator in scalar", "a text in quotes before this is never closed",
     "end it with the quote that starts it"},
    {"unknown token", "this character cannot start a text", "put the text in quotes"},
    {"the referenced anchor is not defined", "'*' starts a YAML alias, and there is none like it",
     "put text that starts with '*' in quotes"},
    {"alias not found", "'*' starts a YAML alias, and there is none like it",
     "put text that starts with '*' in quotes"},
    {"unknown escape character", "an unknown escape after '\\'",
     "write \\\\ for a backslash, or put the text in single quotes"},
};
constexpr SyntaxEntry kBehindBraces = {
    "", "this stands right behind braces",
    "put text that starts with braces in quotes, for example \"{cycles,instructions}:u\""};
constexpr SyntaxEntry kOtherSyntax = {"", "", "correct it, or put the text in quotes"};

const SyntaxEntry& row_of(std::string_view theirs) {
  for (const SyntaxEntry& row : kSyntax) {
    if (theirs.starts_with(row.theirs)) return row;
  }
  return kOtherSyntax;
}

/// The offset of a tab among the blanks that start the line of `offset`.
std::optional<std::size_t> tab_in_indentation(std::string_view text, std::size_t offset) {
  const Place place = place_at(text, offset);
  const std::size_t start =
      std::min(offset, text.size()) - (static_cast<std::size_t>(place.column) - 1);
  const std::string_view line = text.substr(start);
  const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
  if (tab == std::string_view::npos) return {};
  return start + tab;
}

/// At the ":u" of "{cycles,instructions}:u" without quotes: to YAML the map is over before it.
bool is_right_behind_braces(std::string_view text, std::size_t offset) {
  return 0 < offset && offset + 1 < text.size() && text[offset - 1] == '}' && text[offset] == ':' &&
         text[offset + 1] > ' ';
}

Place place_for(const SyntaxEntry& row, Place here, const TreeBuilder& builder) {
  if (row.where == SyntaxEntry::Where::kLastValue) return builder.last_place();
  if (row.where == SyntaxEntry::Where::kOpenBracket) {
    return builder.open_bracket(row.bracket).value_or(here);
  }
  return here;
}

void add_syntax_mistake(const YAML::Exception& thrown, std::string_view text,
                        const TreeBuilder& builder, const std::string& file, Mistakes& mistakes) {
  const std::size_t offset = offset_of(thrown.mark);  // its column is 0 at the end of a file
  if (const auto tab = tab_in_indentation(text, offset)) {
    const Place place = place_at(text, *tab);
    return mistakes.add({file, place.line, place.column, {}}, "a tab in the indentation",
                        "indent with blanks only");
  }
  const SyntaxEntry& row =
      is_right_behind_braces(text, offset) ? kBehindBraces : row_of(thrown.msg);
  const Place place = place_for(row, place_at(text, offset), builder);
  // Behind a colon yaml-cpp repeats what is in the file.
  const std::string what = row.what.empty()
                               ? "not YAML: " + shown(thrown.msg.substr(0, thrown.msg.find(": ")))
                               : std::string(row.what);
  mistakes.add({file, place.line, place.column, {}}, what, std::string(row.remedy));
}

/// Two calls at most, never a loop: on some texts yaml-cpp finds documents without end (",").
void refuse_second_document(YAML::Parser& parser, std::string_view text, TreeBuilder& builder,
                            const std::string& file, Mistakes& mistakes) {
  if (!parser.HandleNextDocument(builder)) return;
  const Place place = place_at(text, builder.start());
  const Position at{file, place.line, place.column, {}};
  if (text.substr(std::min(builder.start(), text.size())).starts_with("---")) {
    mistakes.add(at, "a second document starts here", "keep one, and remove the '---' between");
  } else {
    mistakes.add(at, "this belongs to nothing above", "correct the indentation, or remove it");
  }
}

}  // namespace

std::optional<Node> parse_yaml(std::string_view text, const std::string& file, Mistakes& mistakes) {
  TreeBuilder first(text);
  TreeBuilder second(text);
  bool in_first = true;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(first);
    in_first = false;
    refuse_second_document(parser, text, second, file, mistakes);
    return first.take_root();
  } catch (const YAML::Exception& thrown) {
    add_syntax_mistake(thrown, text, in_first ? first : second, file, mistakes);
    return {};
  }
}

}  // namespace pex::yaml
