#include "daemon/status/ranking.h"

#include <algorithm>
#include <utility>

namespace pex::daemon {
namespace {

std::optional<std::size_t> measure_to_rank_by(const std::vector<Ranked>& all,
                                              std::size_t measures) {
  for (std::size_t measure = 0; measure < measures; ++measure) {
    const auto is_known = [&](const Ranked& each) {
      return each.recent.per_second[measure].has_value();
    };
    if (std::any_of(all.begin(), all.end(), is_known)) return measure;
  }
  return {};
}

}  // namespace

Ranking rank(std::vector<Ranked> all, std::size_t measures, std::size_t most,
             const std::function<bool(std::size_t, std::size_t)>& comes_first) {
  Ranking ranking;
  ranking.measure = measure_to_rank_by(all, measures);
  if (!ranking.measure) return ranking;
  const auto rate_of = [&](const Ranked& each) { return each.recent.per_second[*ranking.measure]; };
  for (const Ranked& each : all) {
    if (rate_of(each)) ++(*rate_of(each) > 0 ? ranking.busy : ranking.idle);
  }
  std::erase_if(all, [&](const Ranked& each) { return rate_of(each).value_or(0) <= 0; });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most));
  std::partial_sort(all.begin(), end, all.end(), [&](const Ranked& a, const Ranked& b) {
    return rate_of(a) != rate_of(b) ? rate_of(a) > rate_of(b) : comes_first(a.place, b.place);
  });
  all.erase(end, all.end());
  ranking.busiest = std::move(all);
  return ranking;
}

}  // namespace pex::daemon
