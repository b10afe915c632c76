#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/ascii.h"

namespace pex {
namespace {

/// More changes are not a typing error, however long the word. Also bounds the cost of a
/// comparison: two words of n letters take at most 17 n steps.
constexpr std::size_t kMaxChanges = 8;

}  // namespace

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string join_last(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text.append(i == 0 ? "" : i + 1 < words.size() ? ", " : last).append(words[i]);
  }
  return text;
}

std::string number_of(std::uint64_t n, std::string_view one, std::string_view many) {
  std::string text = std::to_string(n) + " ";
  if (n != 1 && !many.empty()) return text.append(many);
  return text.append(one).append(n == 1 ? "" : "s");
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) >= limit) return limit;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    // Cells farther than `limit` from the diagonal cannot be part of a distance below it.
    const std::size_t first = i > limit ? i - limit : 1;
    const std::size_t last = std::min(b.size(), i + limit);
    std::size_t diagonal = row[first - 1];
    row[first - 1] = first == 1 ? i : limit;
    if (last < b.size()) row[last + 1] = limit;
    std::size_t least = row[first - 1];
    for (std::size_t j = first; j <= last; ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      least = std::min(least, row[j]);
    }
    if (least >= limit) return limit;
  }
  return std::min(row[b.size()], limit);
}

std::size_t too_many_changes(std::string_view word) {
  return std::min(word.size() / 3, kMaxChanges) + 1;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = too_many_changes(word);
  for (const std::string& candidate : known) {
    if (iequals(word, candidate)) return candidate;
    // Also one that is as near as the best.
    const std::size_t limit = std::min(best_distance + 1, too_many_changes(word));
    const std::size_t distance = edit_distance(word, candidate, limit);
    if (distance >= limit || (distance == best_distance && candidate == best)) continue;
    best = distance < best_distance ? std::optional(candidate) : std::nullopt;
    best_distance = distance;
  }
  return best;
}

}  // namespace pex
