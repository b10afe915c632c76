#include "events/pmu_format.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace pex::events {
namespace {

/// The index is FormatField::word.
constexpr unsigned kHighestBit = 63;

/// The `width` lowest bits; 64 at most.
constexpr std::uint64_t lowest_bits(unsigned width) {
  return width > kHighestBit ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

unsigned width_of(const FormatField::BitRange& range) { return range.last - range.first + 1; }

/// "0-7", or "5" alone.
std::optional<FormatField::BitRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<std::uint64_t> first = parse_unsigned(text.substr(0, dash));
  const std::optional<std::uint64_t> last =
      dash == std::string_view::npos ? first : parse_unsigned(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > kHighestBit) return {};
  return FormatField::BitRange{static_cast<unsigned>(*first), static_cast<unsigned>(*last)};
}

/// Nothing if a range is malformed, or overlaps an earlier one.
std::optional<std::vector<FormatField::BitRange>> parse_ranges(std::string_view text) {
  std::vector<FormatField::BitRange> ranges;
  std::uint64_t taken = 0;
  for (const std::string_view piece : split(text, ',')) {
    const std::optional<FormatField::BitRange> range = parse_range(piece);
    if (!range) return {};
    const std::uint64_t bits = lowest_bits(width_of(*range)) << range->first;
    if ((taken & bits) != 0) return {};
    taken |= bits;
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace

unsigned FormatField::width() const {
  unsigned bits = 0;
  for (const BitRange& range : ranges) bits += width_of(range);
  return bits;
}

std::uint64_t FormatField::spread(std::uint64_t value) const {
  std::uint64_t bits = 0;
  for (const BitRange& range : ranges) {
    const unsigned width = width_of(range);
    bits |= (value & lowest_bits(width)) << range.first;
    value = width > kHighestBit ? 0 : value >> width;
  }
  return bits;
}

Result<FormatField> parse_format(std::string_view text) {
  const Error not_one{EINVAL, "read '" + std::string(text) + "' as the format of a term", {}};
  const std::size_t colon = text.find(':');
  const auto* const word =
      std::find(kConfigWords.begin(), kConfigWords.end(), text.substr(0, colon));
  if (colon == std::string_view::npos || word == kConfigWords.end()) return not_one;

  std::optional<std::vector<FormatField::BitRange>> ranges = parse_ranges(text.substr(colon + 1));
  if (!ranges) return not_one;
  return FormatField{static_cast<unsigned>(word - kConfigWords.begin()), *std::move(ranges)};
}

}  // namespace pex::events
