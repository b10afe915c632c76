#include "daemon/service/human_format.h"

#include <cstdint>
#include <string_view>

#include "daemon/cli/table_text.h"

namespace pex::daemon {
namespace {

constexpr std::string_view kSpace = "\u00a0";  // does not break

/// Below 1000.
std::string three_digits(double value) {
  return with_decimals(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

struct UnitOfTime {
  std::int64_t seconds;
  std::string_view symbol;
};
constexpr UnitOfTime kUnitsOfTime[] = {{86'400, "d"}, {3'600, "h"}, {60, "min"}, {1, "s"}};

std::string with_unit(const std::string& number, std::string_view unit) {
  return std::string(number).append(kSpace).append(unit);
}

/// From a minute on: the largest unit, and the next one unless it is 0.
std::string two_units(std::int64_t seconds) {
  const UnitOfTime* unit = kUnitsOfTime;
  while (seconds < unit->seconds) ++unit;
  std::string text = with_unit(std::to_string(seconds / unit->seconds), unit->symbol);
  const std::int64_t rest = seconds % unit->seconds;
  if (unit->seconds == 1 || rest / unit[1].seconds == 0) return text;
  return text.append(" ").append(with_unit(std::to_string(rest / unit[1].seconds), unit[1].symbol));
}

}  // namespace

std::string duration_text(std::chrono::nanoseconds duration) {
  const double ns = static_cast<double>(duration.count());
  if (duration <= std::chrono::nanoseconds{0}) return with_unit("0", "s");
  if (ns < 1e6) return with_unit(three_digits(ns / 1e3), "µs");
  if (ns < 999.5e6) return with_unit(three_digits(ns / 1e6), "ms");
  if (ns < 9.995e9) return with_unit(three_digits(ns / 1e9), "s");
  return two_units(std::chrono::round<std::chrono::seconds>(duration).count());
}

}  // namespace pex::daemon
