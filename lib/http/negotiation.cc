#include "http/negotiation.h"

#include <algorithm>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace pex::http {
namespace {

namespace wire = boost::beast::http;

/// Takes the text up to the next comma outside of quotes, and the comma. Beast's ext_list would end
/// at the first '/' of a media type, and gives an element without parameters those of the one
/// before it.
std::string_view take_element(std::string_view& list) {
  bool in_quotes = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (in_quotes && list[i] == '\\') {
      ++i;
    } else if (list[i] == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && list[i] == ',') {
      const std::string_view element = trim(list.substr(0, i));
      list.remove_prefix(i + 1);
      return element;
    }
  }
  return trim(std::exchange(list, {}));
}

/// From 0 to 1. Accepts more digits than the three of RFC 9110: some clients print floating point
/// numbers.
std::optional<double> parse_quality(std::string_view text) {
  double quality = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quality, std::chars_format::fixed);
  const bool is_number = error == std::errc{} && rest == end;
  if (!is_number || !(0 <= quality && quality <= 1)) return {};
  return quality;
}

/// The parameters of one element of Accept or Accept-Encoding.
struct Parameters {
  std::string version = {};  ///< empty: none is asked for
  double quality = 1;
};

/// Nothing if the quality is malformed.
std::optional<Parameters> parse_parameters(const wire::param_list& list) {
  Parameters parameters;
  for (const auto& [name, value] : list) {
    if (iequals(name, "version")) parameters.version = std::string{value};
    if (!iequals(name, "q")) continue;
    const std::optional<double> quality = parse_quality({value.data(), value.size()});
    if (!quality) return {};
    parameters.quality = *quality;
  }
  return parameters;
}

/// One element of Accept: a media type, or a wildcard for several; or of Accept-Encoding: a coding.
struct Range {
  std::string_view type;
  Parameters parameters;
};

std::optional<Range> parse_range(std::string_view text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  auto parameters = parse_parameters(wire::param_list{text.substr(end)});
  if (!parameters) return {};
  return Range{trim(text.substr(0, end)), *std::move(parameters)};
}

/// How specific a matching range is; the most specific one decides.
enum class Match { kNone, kAny, kType, kName, kVersion };

Match match(const Range& range, const Offer& offer, bool is_fallback) {
  const std::string& version = range.parameters.version;
  const bool fits = version.empty() || version == offer.version;
  if (iequals(range.type, offer.type)) {
    if (!fits) return Match::kNone;
    return version.empty() ? Match::kName : Match::kVersion;
  }
  if (!is_fallback || !version.empty()) return Match::kNone;
  if (range.type == "*/*") return Match::kAny;
  const std::string main_type{offer.type.substr(0, offer.type.find('/') + 1)};
  return iequals(range.type, main_type + "*") ? Match::kType : Match::kNone;
}

/// The rank of one offer. Compared in this order.
struct Score {
  double quality = 0;
  Match match = Match::kNone;

  auto operator<=>(const Score&) const = default;
};

void take_into_account(const Range& range, Match found, Score& score) {
  if (found > score.match) score = {range.parameters.quality, found};
}

/// The byte that two hexadecimal digits at the front of `text` stand for.
std::optional<char> hex_byte(std::string_view text) {
  const char* const end = text.data() + std::min<std::size_t>(text.size(), 2);
  unsigned char byte = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, byte, 16);
  if (error != std::errc{} || rest != text.data() + 2) return {};
  return static_cast<char>(byte);
}

/// Boost.URL (1.81) refuses a query with "collect[]", which people type, and one with a '%' that is
/// not part of an escape.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? hex_byte(text.substr(i + 1)) : std::nullopt;
    if (byte) i += 2;
    decoded += byte.value_or(text[i] == '+' ? ' ' : text[i]);
  }
  return decoded;
}

}  // namespace

std::size_t best_offer(std::string_view accept, std::span<const Offer> offers) {
  const std::size_t fallback = offers.size() - 1;
  std::vector<Score> scores(offers.size());
  while (!accept.empty()) {
    const std::optional<Range> range = parse_range(take_element(accept));
    if (!range) continue;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      take_into_account(*range, match(*range, offers[i], i == fallback), scores[i]);
    }
  }
  const auto best = std::max_element(scores.begin(), scores.end());
  return best->quality == 0 ? fallback : static_cast<std::size_t>(best - scores.begin());
}

bool takes_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::optional<Range> coding = parse_range(take_element(accept_encoding));
    if (!coding || coding->parameters.quality == 0) continue;
    if (iequals(coding->type, "gzip") || iequals(coding->type, "x-gzip")) return true;
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
