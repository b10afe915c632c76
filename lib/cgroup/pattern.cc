#include "cgroup/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace pex::cgroup {
namespace {

constexpr std::string_view kExpressionMark = "re:";
constexpr std::string_view kAnyComponents = "**";

/// For the compiled program and the states of a match. Beyond it compilation fails, and matching
/// becomes slower, but stays linear.
constexpr std::int64_t kMemory = 1024 * 1024;
/// The length of the prefixes kept of the first and the last matching text.
constexpr int kMaxKnown = 256;
/// RE2 may quote all the rest of the expression as the faulty part.
constexpr std::size_t kMaxShown = 32;

/// The remedy for each kind of error; RE2 itself describes the error.
struct ExpressionRemedy {
  re2::RE2::ErrorCode code;
  std::string_view remedy;
};
constexpr ExpressionRemedy kExpressionRemedies[] = {
    {re2::RE2::ErrorBadEscape, "remove the backslash; RE2 has no back-references such as \\1"},
    {re2::RE2::ErrorBadCharRange,
     "put the smaller end of a range first, a literal '-' last, and name a class as RE2 does: "
     "[[:alpha:]], \\pL"},
    {re2::RE2::ErrorMissingBracket, "add a ']', or write \\[ for the character"},
    {re2::RE2::ErrorMissingParen, "add a ')', or write \\( for the character"},
    {re2::RE2::ErrorUnexpectedParen, "remove a ')', or write \\) for the character"},
    {re2::RE2::ErrorTrailingBackslash, "write \\\\ for the character"},
    {re2::RE2::ErrorRepeatArgument, "write '.*' for any text: '*' means that only in a glob"},
    {re2::RE2::ErrorRepeatSize,
     "repeat 1000 times at most, or with '*' or '+' any number of times"},
    {re2::RE2::ErrorRepeatOp, "write '.*' for any text: '**' means that only in a glob"},
    {re2::RE2::ErrorBadPerlOp, "RE2 cannot look ahead or behind; leave out with 'exclude' instead"},
    {re2::RE2::ErrorBadNamedCapture, "write a named group as (?P<name>...), each name once"},
    {re2::RE2::ErrorPatternTooLarge, "write '*' or '+' in place of large numbers in braces"},
};

std::string remedy_for(re2::RE2::ErrorCode code) {
  for (const ExpressionRemedy& entry : kExpressionRemedies) {
    if (entry.code == code) return std::string(entry.remedy);
  }
  return "see the syntax of RE2";
}

/// "missing ]: [a-z": RE2's message, without the quoted part if that is long.
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

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// A path for RE2: a byte that is not UTF-8, which RE2 would not match at all, is replaced by one
/// character, ASCII's SUB. All bytes keep their offsets.
class Subject {
 public:
  explicit Subject(std::string_view path) : text_(path) {
    if (is_ascii(path)) return;
    constexpr char kSubstitute = '\x1a';
    replaced_ = path;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t bytes = first_character(path.substr(at)).bytes;
      if (bytes == 0) replaced_[at] = kSubstitute;
      at += std::max<std::size_t>(bytes, 1);
    }
    text_ = replaced_;
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string replaced_;
  std::string_view text_;
};

bool matches(const re2::RE2& expression, re2::RE2::Anchor anchor, std::string_view path) {
  const Subject subject{path};
  return expression.Match(piece(subject.text()), 0, path.size(), anchor, nullptr, 0);
}

std::string with_slash(std::string_view path) {
  return std::string(path) + (path.ends_with('/') ? "" : "/");
}

/// The regular expression for one component of a glob.
std::string component_expression(std::string_view glob) {
  if (glob.find_first_not_of('*') == glob.npos) return "[^/]+";  // no component is empty
  std::string expression;
  while (!glob.empty()) {
    const std::size_t literal = std::min(glob.find_first_of("*?"), glob.size());
    expression += re2::RE2::QuoteMeta(piece(glob.substr(0, literal)));
    glob.remove_prefix(literal);
    if (glob.empty()) break;
    expression += glob.front() == '*' ? "[^/]*" : "[^/]";
    const std::size_t rest = glob.front() == '*' ? glob.find_first_not_of('*') : 1;
    glob.remove_prefix(std::min(rest, glob.size()));
  }
  return expression;
}

/// The expression for the paths that a glob matches. As no component is empty, "/.*" is any number
/// of them.
std::string whole_expression(std::span<const std::string_view> glob) {
  std::string expression = "^";
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] != kAnyComponents) {
      expression += "/" + component_expression(glob[i]);
    } else if (i + 1 < glob.size()) {
      expression += "(?:/.*)?";
    } else {
      return expression + "/.";
    }
  }
  return expression + R"(\z)";
}

/// The paths below which a glob may match something: those that match its first components, fewer
/// than it has, and everything that a "**" may match. "/a/*/b" gives "^/(?:\z|a(?:\z|/[^/]+\z))".
std::string above_expression(std::span<const std::string_view> glob) {
  std::string expression = "^/";
  std::string end;
  for (std::size_t i = 0; i + 1 < glob.size() && glob[i] != kAnyComponents; ++i) {
    expression += (i == 0 ? R"((?:\z|)" : R"((?:\z|/)") + component_expression(glob[i]);
    end += ')';
  }
  const bool is_root = end.empty();
  const bool any_follow = std::find(glob.begin(), glob.end(), kAnyComponents) != glob.end();
  if (!any_follow) return expression + R"(\z)" + end;
  return is_root ? expression : expression + R"((?:\z|/))" + end;
}

}  // namespace

/// A compiled pattern.
struct Pattern::Compiled {
  explicit Compiled(std::string_view expression)
      : whole(piece(expression), options()), anchor(re2::RE2::ANCHOR_BOTH) {
    is_bounded = whole.ok() && whole.PossibleMatchRange(&first, &last, kMaxKnown);
  }

  explicit Compiled(std::span<const std::string_view> glob)
      : whole(whole_expression(glob), options()),
        anchor(re2::RE2::ANCHOR_START),
        above(std::make_unique<re2::RE2>(above_expression(glob), options())),
        ends_with_any(glob.back() == kAnyComponents) {}

  const re2::RE2* failed() const {
    if (!whole.ok()) return &whole;
    return above && !above->ok() ? above.get() : nullptr;
  }

  bool may_match_below(std::string_view path) const {
    if (above) return cgroup::matches(*above, anchor, path);
    if (!is_bounded) return true;
    const std::string start = with_slash(Subject{path}.text());
    return last > start && first.compare(0, start.size(), start) <= 0;
  }

  bool matches(std::string_view path) const { return cgroup::matches(whole, anchor, path); }

  re2::RE2 whole;
  re2::RE2::Anchor anchor;          ///< a glob's expressions define the end of the path themselves
  std::unique_ptr<re2::RE2> above;  ///< of a glob: paths below which something may match
  bool ends_with_any = false;       ///< a glob that ends with "/**"
  bool is_bounded = false;          ///< of a regular expression, like the next two
  std::string first;                ///< no match is less than this, by bytes
  std::string last;                 ///< or greater than this
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
                 "remove the superfluous '/'"};
  }
  auto compiled = text == "/" ? std::make_shared<const Compiled>(text)
                              : std::make_shared<const Compiled>(split(text.substr(1), '/'));
  if (const re2::RE2* failed = compiled->failed()) {
    return Error{0, "cannot be compiled: " + message_of(*failed), "write a shorter one, in UTF-8"};
  }
  return Pattern{text, std::move(compiled)};
}

Result<Pattern> Pattern::parse_expression(std::string_view text) {
  auto compiled = std::make_shared<const Compiled>(text.substr(kExpressionMark.size()));
  const re2::RE2& whole = compiled->whole;
  if (!whole.ok()) {
    return Error{0, "is not a regular expression: " + message_of(whole),
                 remedy_for(whole.error_code())};
  }
  Pattern pattern{text, std::move(compiled)};
  if (!pattern.may_match_below("/") && !pattern.matches("/")) {
    return Error{0, "matches no path, as each starts with '/'",
                 "start it with '/', or with '.*/' for any depth"};
  }
  return pattern;
}

bool Pattern::matches(std::string_view path) const { return compiled_->matches(path); }

bool Pattern::may_match_below(std::string_view path) const {
  return compiled_->may_match_below(path);
}

/// If "/a/**" matches the children of a directory, it matches everything below it.
bool Pattern::matches_all_below(std::string_view path) const {
  return compiled_->ends_with_any && matches(with_slash(path) + "child");
}

std::optional<std::vector<std::string>> Pattern::capture(std::string_view path) const {
  if (!matches(path)) return {};
  if (groups() == 0) return std::vector{std::string(path)};
  const Subject subject{path};
  std::vector<re2::StringPiece> found(groups() + 1);
  compiled_->whole.Match(piece(subject.text()), 0, path.size(), compiled_->anchor, found.data(),
                         static_cast<int>(found.size()));
  std::vector<std::string> captured;
  for (const re2::StringPiece& group : found) {
    const std::size_t start = group.empty() ? 0 : group.data() - subject.text().data();
    captured.emplace_back(path.substr(start, group.size()));  // the original bytes
  }
  return captured;
}

std::size_t Pattern::groups() const {
  return static_cast<std::size_t>(compiled_->whole.NumberOfCapturingGroups());
}

}  // namespace pex::cgroup
