#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pex::collect {

/// A cgroup in one poll, by its records: how long it ran, and in how many intervals from switch to
/// switch.
struct RecordedRuns {
  std::uint64_t time = 0;  ///< ns
  std::uint64_t intervals = 0;
};

/// How a time whose records were lost is divided among the cgroups of the same poll: their parts,
/// which are 1 in all. `time` (ns) consisted of so many intervals; 0: their number is not known.
///
/// The cgroups that switch most fill the ring, so it is their records that are lost, and theirs is
/// most of the time. What is known of the time is the mean length of its intervals. Of all
/// divisions with this mean, it takes the one that differs least from what was recorded (least
/// relative entropy: Jaynes, Phys. Rev. 106, 1957): of a cgroup with r intervals of mean length m
/// it contains r exp(-t m) intervals, times a constant. The tilt t is bounded.
///
/// By recorded time where the lost intervals were not shorter than the recorded ones, or where
/// their number is not known; equally, if no cgroup has any time.
std::vector<double> lost_shares(std::span<const RecordedRuns> cgroups, std::uint64_t time,
                                std::uint64_t intervals);

}  // namespace pex::collect
