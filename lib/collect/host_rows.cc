#include "collect/host_rows.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace pex::collect {
namespace {

/// `place` with only the numbers that identify a part of this `aggregation`, so that equal ones are
/// one row.
host::CpuPlace reduced(const host::CpuPlace& place, Aggregation aggregation) {
  const std::span<const std::string_view> labels = labels_of(aggregation);
  host::CpuPlace named;
  for (const auto& [label, number] : host::kCpuPlaceParts) {
    const bool is_named = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (is_named) named.*number = place.*number;
  }
  return named;
}

/// The order of rows.
using PlaceNumbers = std::array<int, std::size(host::kCpuPlaceParts)>;

PlaceNumbers numbers_of(const host::CpuPlace& place) {
  PlaceNumbers numbers{};
  std::transform(std::begin(host::kCpuPlaceParts), std::end(host::kCpuPlaceParts), numbers.begin(),
                 [&](const host::CpuPlacePart& part) { return place.*part.number; });
  return numbers;
}

}  // namespace

HostRows host_rows(Aggregation aggregation, const MachineCpus& cpus,
                   const std::vector<int>& counted) {
  std::map<PlaceNumbers, HostRow> rows;
  for (const int cpu : counted) {
    const auto known = cpus.places.find(cpu);
    const host::CpuPlace place = reduced(
        known == cpus.places.end() ? host::CpuPlace{.cpu = cpu} : known->second, aggregation);
    HostRow& row = rows[numbers_of(place)];
    row.place = place;
    row.cpus.push_back(cpu);
  }
  HostRows sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

}  // namespace pex::collect
