#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/switch/switch_cgroups.h"

namespace pex::bench {

/// What counts.
enum class Way { kNothing, kCpus, kDescriptors, kRecords, kBpf };
std::string_view name_of(Way way);
/// By the names of all but the first two, which are always measured.
inline constexpr std::string_view kWayNames[] = {"descriptors", "records", "bpf"};

/// What is chosen from the matrix.
struct Matrix {
  std::vector<std::size_t> cgroups = {2, 10, 100, 1000};  ///< counted ones, at least the two
  /// The events of the group `software` of the shipped configuration, and one more. Of them, the
  /// first so many are counted.
  std::vector<std::string> events = {"task-clock",   "context-switches", "cpu-migrations",
                                     "minor-faults", "major-faults",     "cgroup-switches"};
  std::vector<std::size_t> event_numbers = {1, 5, 6};
  std::vector<std::size_t> ancestors = {0, 3};  ///< counted ones: none, or all of the two
  std::vector<std::string> ways{std::begin(kWayNames), std::end(kWayNames)};
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
  bool has_cpus = true;
  std::size_t of_the_two = kFewestCgroups;  ///< so many of them are among the cgroups

  bool operator==(const Choice&) const = default;
};

/// The first one is what the others are compared with. All choices that the matrix has; what it
/// costs to count one of the two, and other cgroups; and with most of its events, not the CPUs.
std::vector<Choice> choices_of(const Matrix& matrix);

/// How many cgroups but the two a choice needs at most.
std::size_t other_cgroups(const Matrix& matrix);

/// The configuration of a daemon that counts what was chosen, or the same events of the CPUs alone.
std::string configuration(const Choice& choice, const Matrix& matrix, const SwitchCgroups& cgroups);
std::string configuration_of_cpus(const Choice& choice, const Matrix& matrix);

/// "descriptors", "records, not the CPUs".
std::string title_of(const Choice& choice);

}  // namespace pex::bench
