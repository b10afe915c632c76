#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "count/totals.h"

namespace pex::collect {

/// Sums of what the groups of one CPU counted, a row of words for each cgroup:
///   [0]                       time enabled, ns: of all groups
///   of each group, one after another:
///     [0]                     the part of it that is not this group's, as it was before, or taken
///     [1]                     time running, ns
///     [2..n+1]                counts, of n events
/// Sums saturate, because a sum that wraps would decrease.
class SumRows {
 public:
  /// Groups have the numbers of their owner, which are reused and so stay small. A new group has
  /// sums of 0 in all rows, and no time. Returns false, and changes nothing, if it exists with as
  /// many counts.
  bool add_group(std::size_t group, std::size_t counts);
  void remove_group(std::size_t group);
  bool has_group(std::size_t group) const { return group < groups_.size() && words(group) > 0; }
  std::size_t counts_of(std::size_t group) const { return words(group) - kTimes; }

  /// Makes all sums of a row 0. Rows are made as they are needed, by this alone.
  void clear(std::size_t row);
  /// What one group has, which is nothing from then on. `counts` are as many as it has.
  struct Times {
    std::uint64_t enabled = 0;
    std::uint64_t running = 0;
  };
  Times take(std::size_t row, std::size_t group, std::span<std::uint64_t> counts);

  void add_time(std::size_t row, std::uint64_t time) { add(word(row, 0), time); }
  /// Nothing is added if there is no such group, or it has another number of counts.
  void add_counts(std::size_t row, std::size_t group, std::uint64_t running,
                  std::span<const std::uint64_t> counts) {
    if (group >= groups_.size() || words(group) != counts.size() + kTimes) return;
    std::uint64_t* sum = &word(row, groups_[group].first + 1);
    add(*sum, running);
    for (const std::uint64_t count : counts) add(*++sum, count);
  }
  /// Adds another row.
  void add_row(std::size_t row, std::size_t other);

  std::uint64_t enabled(std::size_t row) const { return words_[row * stride_]; }
  std::span<const std::uint64_t> counts(std::size_t row, std::size_t group) const {
    return std::span(words_).subspan(row * stride_ + groups_[group].first + kTimes,
                                     counts_of(group));
  }

 private:
  static constexpr std::size_t kTimes = 2;  ///< words of a group before its counts
  struct Segment {
    std::size_t first = 0;  ///< word of a row
    std::size_t words = 0;  ///< times and counts; 0 if there is no such group
  };

  static void add(std::uint64_t& sum, std::uint64_t increment) {
    sum = saturating_sum(sum, increment);
  }
  std::size_t words(std::size_t group) const { return groups_[group].words; }
  std::uint64_t& word(std::size_t row, std::size_t at) { return words_[row * stride_ + at]; }
  void resize_group(std::size_t group, std::size_t words);

  std::vector<Segment> groups_;
  std::size_t stride_ = 1;
  std::vector<std::uint64_t> words_;
};

}  // namespace pex::collect
