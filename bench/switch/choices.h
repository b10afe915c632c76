#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/support/way.h"
#include "bench/switch/switch_cgroups.h"

namespace pex::bench {

/// What is chosen from the matrix.
struct Matrix {
  std::vector<std::size_t> cgroups = {2, 10, 100, 1000};  ///< counted ones, at least the two
  /// The events of the group `software` of the shipped configuration, and one more. Of them, the
  /// first so many are counted.
  std::vector<std::string> events = {"task-clock",   "context-switches", "cpu-migrations",
                                     "minor-faults", "major-faults",     "cgroup-switches"};
  std::vector<std::size_t> event_numbers = {1, 5, 6};
  std::vector<std::size_t> ancestors = {0, 3};  ///< counted ones: none, or all of the two
};
inline constexpr std::size_t kFewestCgroups = 2;  ///< those that are switched between
inline constexpr std::size_t kAncestors = 3;

/// One line of the matrix: what is open while a ping-pong is measured. Counted are the whole CPUs,
/// and with cgroups, those too.
struct Choice {
  Way way = Way::kNothing;
  std::size_t events = 0;
  std::size_t cgroups = 0;    ///< without the ancestors
  std::size_t ancestors = 0;  ///< of the two, that are counted as well
  bool is_repeated = false;   ///< only differs in its samples

  bool operator==(const Choice&) const = default;
};

/// All choices that the matrix has. The first one is what the others are compared with.
std::vector<Choice> choices_of(const Matrix& matrix);

/// The configuration of a daemon that counts what was chosen.
std::string configuration(const Choice& choice, const Matrix& matrix, const SwitchCgroups& cgroups);

/// "descriptors", "nothing, once more".
std::string title_of(const Choice& choice);

}  // namespace pex::bench
