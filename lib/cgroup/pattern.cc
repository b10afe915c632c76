#include "cgroup/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"

namespace pex::cgroup {
namespace {

constexpr std::string_view kExpressionMark = "re:";
constexpr std::string_view kAllBelow = "/**";

/// For the compiled program and the states met while matching. Beyond it compilation fails, and
/// matching becomes slower, but stays linear.
constexpr std::int64_t kMemory = 1024 * 1024;
/// Of the first and the last text that match, this much is known.
constexpr int kMaxKnown = 256;
/// RE2 may name all the rest of the expression as what is wrong.
constexpr std::size_t kMaxShown = 32;

/// What to do about each kind of mistake; what is wrong RE2 says itself.
struct ExpressionRemedy {
  re2::RE2::ErrorCode code;
  std::string_view remedy;
};
constexpr ExpressionRemedy kExpressionRemedies[] = {
    {re2::RE2::ErrorBadEscape, "remove the backslash; RE2 has no back-references such as \\1"},
    {re2::RE2::ErrorBadCharRange,
     "put the smaller end of a range first, a '-' of its own last, and name a class as RE2 does: "
     "[[:alpha:]], \\pL"},
    {re2::RE2::ErrorMissingBracket, "add a ']', or write \\[ for the character"},
    {re2::RE2::ErrorMissingParen, "add a ')', or write \\( for the character"},
    {re2::RE2::ErrorUnexpectedParen, "remove a ')', or write \\) for the character"},
    {re2::RE2::ErrorTrailingBackslash, "write \\\\ for the character"},
    {re2::RE2::ErrorRepeatArgument, "write '.*' for any text: '*' is that in a glob only"},
    {re2::RE2::ErrorRepeatSize,
     "repeat 1000 times at most, or with '*' or '+' any number of times"},
    {re2::RE2::ErrorRepeatOp, "write '.*' for any text: '**' is that in a glob only"},
    {re2::RE2::ErrorBadPerlOp, "RE2 cannot look ahead or behind; leave out with 'exclude' instead"},
    {re2::RE2::ErrorBadNamedCapture, "write a named group as (?P<name>...), each name once"},
    {re2::RE2::ErrorPatternTooLarge, "write '*' or '+' in place of large numbers in braces"},
};

std::string remedy_for(re2::RE2::ErrorCode code) {
  for (const ExpressionRemedy& row : kExpressionRemedies) {
    if (row.code == code) return std::string(row.remedy);
  }
  return "see the syntax of RE2";
}

/// "missing ]: [a-z": RE2's message, without the part it is about when that is long.
std::string message_of(const re2::RE2& failed) {
  const std::string& whole = failed.error();
  const std::size_t about = failed.error_arg().size();
  if (about <= kMaxShown || !whole.ends_with(failed.error_arg())) return whole;
  return whole.substr(0, whole.size() - about - std::string_view(": ").size());
}

re2::RE2::Options options() {
  re2::RE2::Options chosen;
  chosen.set_log_errors(false);
  chosen.set_max_mem(kMemory);
  chosen.set_dot_nl(true);
  return chosen;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

/// `path` with each byte that is not UTF-8, which RE2 would match with nothing, as one character:
/// ASCII's SUB, which stands for a wrong one. All bytes stay where they are.
std::string as_characters(std::string_view path) {
  constexpr char kSubstitute = '\x1a';
  std::string text(path);
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t bytes = first_character(path.substr(at)).bytes;
    if (bytes == 0) text[at] = kSubstitute;
    at += std::max<std::size_t>(bytes, 1);
  }
  return text;
}

std::string with_slash(std::string_view path) {
  return std::string(path) + (path.ends_with('/') ? "" : "/");
}

}  // namespace

struct Pattern::Expression {
  explicit Expression(std::string_view text) : compiled(piece(text), options()) {
    is_bounded = compiled.ok() && compiled.PossibleMatchRange(&first, &last, kMaxKnown);
  }

  bool may_match_below(std::string_view path) const {
    if (!is_bounded) return true;
    const std::string start = with_slash(as_characters(path));
    return last > start && first.compare(0, start.size(), start) <= 0;
  }

  re2::RE2 compiled;
  bool is_bounded = false;
  std::string first;  ///< no match is less than this, as bytes
  std::string last;   ///< or greater than this
};

Result<Pattern> Pattern::parse(std::string_view text) {
  return text.starts_with(kExpressionMark) ? parse_expression(text) : parse_glob(text);
}

Result<Pattern> Pattern::parse_glob(std::string_view text) {
  if (!text.starts_with('/')) {
    return Error{0, "does not start with '/'", "write the whole path below the cgroup mount"};
  }
  if (text.find("//") != std::string_view::npos || (text.size() > 1 && text.ends_with('/'))) {
    return Error{0, "matches no path, as no name between slashes is empty",
                 "remove the '/' that is too many"};
  }
  Pattern pattern(text);
  pattern.glob_.emplace(pattern.text_);
  if (text.ends_with(kAllBelow)) {
    text.remove_suffix(kAllBelow.size());
    pattern.tops_.emplace(std::string(text));
  }
  return pattern;
}

Result<Pattern> Pattern::parse_expression(std::string_view text) {
  const auto expression = std::make_shared<const Expression>(text.substr(kExpressionMark.size()));
  const re2::RE2& compiled = expression->compiled;
  if (!compiled.ok()) {
    return Error{0, "is not a regular expression: " + message_of(compiled),
                 remedy_for(compiled.error_code())};
  }
  Pattern pattern(text);
  pattern.expression_ = expression;
  if (!pattern.may_match_below("/") && !pattern.matches("/")) {
    return Error{0, "matches no path, as each starts with '/'",
                 "start it with '/', or with '.*/' for any depth"};
  }
  return pattern;
}

bool Pattern::matches(std::string_view path) const {
  if (glob_) return glob_->matches(path);
  return re2::RE2::FullMatch(as_characters(path), expression_->compiled);
}

bool Pattern::may_match_below(std::string_view path) const {
  return glob_ ? glob_->may_match_below(path) : expression_->may_match_below(path);
}

bool Pattern::matches_all_below(std::string_view path) const {
  return tops_ && (tops_->matches(path) || glob_->matches(path));
}

std::optional<std::vector<std::string>> Pattern::capture(std::string_view path) const {
  if (glob_) {
    if (!glob_->matches(path)) return {};
    return std::vector{std::string(path)};
  }
  const std::string text = as_characters(path);
  std::vector<re2::StringPiece> found(groups() + 1);
  if (!expression_->compiled.Match(text, 0, text.size(), re2::RE2::ANCHOR_BOTH, found.data(),
                                   static_cast<int>(found.size()))) {
    return {};
  }
  std::vector<std::string> captured;
  for (const re2::StringPiece& group : found) {
    const std::size_t start = group.empty() ? 0 : group.data() - text.data();
    captured.emplace_back(path.substr(start, group.size()));  // the bytes as they are
  }
  return captured;
}

std::size_t Pattern::groups() const {
  return glob_ ? 0 : static_cast<std::size_t>(expression_->compiled.NumberOfCapturingGroups());
}

}  // namespace pex::cgroup
