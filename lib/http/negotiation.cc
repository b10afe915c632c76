#include "http/negotiation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace pex::http {
namespace {

constexpr unsigned kMaxQuality = 1000;

/// Takes what comes before the next `separator` that is not within quotes, and the separator.
std::string_view take_piece(std::string_view& rest, char separator) {
  bool in_quotes = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (in_quotes && rest[i] == '\\') {
      ++i;
    } else if (rest[i] == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && rest[i] == separator) {
      const std::string_view piece = trim(rest.substr(0, i));
      rest.remove_prefix(i + 1);
      return piece;
    }
  }
  return trim(std::exchange(rest, {}));
}

/// Without quotes, where it has some. Versions and qualities need no escapes.
std::string_view unquoted(std::string_view value) {
  const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

/// "0.75" in thousandths. More digits than the three of RFC 9110 are dropped: clients send what
/// their floating point prints.
std::optional<unsigned> parse_quality(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (!text.starts_with('0') && !text.starts_with('1')) return {};
  unsigned quality = text[0] == '1' ? kMaxQuality : 0;
  text.remove_prefix(1);
  if (text.empty()) return quality;
  if (text[0] != '.') return {};
  text.remove_prefix(1);
  if (text.find_first_not_of(kDigits) != text.npos) return {};
  unsigned step = 100;
  for (const char digit : text.substr(0, 3)) {
    quality += static_cast<unsigned>(digit - '0') * step;
    step /= 10;
  }
  if (quality > kMaxQuality) return {};
  return quality;
}

/// One element of Accept or Accept-Encoding.
struct Element {
  std::string_view name;
  std::string_view version = {};  ///< empty: none is asked for
  unsigned quality = kMaxQuality;
};

/// Nothing when its quality is none.
std::optional<Element> parse_element(std::string_view text) {
  Element element{take_piece(text, ';')};
  while (!text.empty()) {
    std::string_view value = take_piece(text, ';');
    const std::string_view name = take_piece(value, '=');
    if (iequals(name, "version")) element.version = unquoted(trim(value));
    if (!iequals(name, "q")) continue;
    const std::optional<unsigned> quality = parse_quality(trim(value));
    if (!quality) return {};
    element.quality = *quality;
  }
  return element;
}

/// How narrow a range is that matches; wider ones are overruled.
enum class Match { kNone, kAny, kType, kName, kVersion };

Match match(const Element& range, const Offer& offer, bool is_fallback) {
  const bool fits = range.version.empty() || range.version == offer.version;
  if (iequals(range.name, offer.type)) {
    if (!fits) return Match::kNone;
    return range.version.empty() ? Match::kName : Match::kVersion;
  }
  if (!is_fallback || !range.version.empty()) return Match::kNone;
  if (range.name == "*/*") return Match::kAny;
  const std::string_view main_type = offer.type.substr(0, offer.type.find('/') + 1);
  const bool is_all_of_type = range.name.size() == main_type.size() + 1 &&
                              range.name.ends_with("/*") &&
                              iequals(range.name.substr(0, main_type.size()), main_type);
  return is_all_of_type ? Match::kType : Match::kNone;
}

/// How good one offer is. Compared in this order.
struct Score {
  unsigned quality = 0;
  Match match = Match::kNone;
};

void take_into_account(const Element& range, Match found, Score& score) {
  if (found > score.match) score = {range.quality, found};
}

bool is_better(const Score& one, const Score& other) {
  return std::pair(one.quality, one.match) > std::pair(other.quality, other.match);
}

int hex_digit(char c) {
  if ('0' <= c && c <= '9') return c - '0';
  const char lower = to_lower_ascii(c);
  return 'a' <= lower && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool has_two_more = text[i] == '%' && i + 2 < text.size();
    const int high = has_two_more ? hex_digit(text[i + 1]) : -1;
    const int low = has_two_more ? hex_digit(text[i + 2]) : -1;
    if (high >= 0 && low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

std::size_t best_offer(std::string_view accept, std::span<const Offer> offers) {
  const std::size_t fallback = offers.size() - 1;
  std::vector<Score> scores(offers.size());
  while (!accept.empty()) {
    const std::optional<Element> range = parse_element(take_piece(accept, ','));
    if (!range) continue;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      take_into_account(*range, match(*range, offers[i], i == fallback), scores[i]);
    }
  }
  const auto best =
      std::max_element(scores.begin(), scores.end(),
                       [](const Score& one, const Score& other) { return is_better(other, one); });
  return best->quality == 0 ? fallback : static_cast<std::size_t>(best - scores.begin());
}

bool takes_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::optional<Element> coding = parse_element(take_piece(accept_encoding, ','));
    const bool is_gzip =
        coding && (iequals(coding->name, "gzip") || iequals(coding->name, "x-gzip"));
    if (is_gzip) return coding->quality > 0;
  }
  return false;
}

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  for (const std::string_view pair : split(query, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals)) != name) continue;
    values.push_back(percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return values;
}

}  // namespace pex::http
