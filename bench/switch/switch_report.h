#pragma once

#include <vector>

#include "bench/switch/choices.h"
#include "bench/switch/switch_rounds.h"

namespace pex::bench {

/// What was measured of each choice: a row of samples for each, one of each round; the first is
/// what the others are compared with.
struct Measured {
  const Matrix& matrix;
  const std::vector<Variant>& variants;
  const std::vector<std::vector<Sample>>& samples;
};

void print_table(const Measured& measured);

/// The goals of counting by records, with what was seen of each.
void print_goals(const Measured& measured);

/// Records that were lost make a switch cheaper than it is.
void print_records(const RecordsRead& all);

/// Says so if another program seems to have counted cgroups.
void print_disturbed(const std::vector<Sample>& bare);

}  // namespace pex::bench
