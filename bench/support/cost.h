#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pex::bench {

/// What one scenario costs. Plain data: it is handed from one process to another as it is.
struct Cost {
  std::size_t groups = 0;  ///< one for each target and CPU
  std::size_t events = 0;  ///< open descriptors, and so raw values of one poll
  double floor_us = 0;     ///< CPU of one round, median
  double daemon_us = 0;    ///< CPU of one round, median
  double low_ratio = 0;    ///< first and third quartile of daemon / floor over the pairs of
  double high_ratio = 0;   ///<   neighbouring rounds: how much the machine's noise moves them
  double open_us = 0;      ///< CPU of the first poll, for each group
  std::uint64_t scrape_bytes = 0;
  std::uint64_t resident_bytes = 0;

  double ratio() const { return daemon_us / floor_us; }
};

/// The CPU time of the whole process so far. That of a thread which is running on another CPU is in
/// it only up to its last scheduler tick: ask when all others sleep.
std::chrono::nanoseconds process_cpu_time();

/// That which `work` takes, in microseconds.
template <typename Work>
double microseconds_of(Work work) {
  const std::chrono::nanoseconds start = process_cpu_time();
  work();
  return std::chrono::duration<double, std::micro>(process_cpu_time() - start).count();
}

/// The value below which `share` (0 to 1) of the values lie; interpolated.
double quantile(std::vector<double> values, double share);

/// CPU times of rounds in microseconds, in the order they were run: element i of both are
/// neighbours.
struct RoundTimes {
  std::vector<double> floor;
  std::vector<double> daemon;

  void summarise_into(Cost& cost) const;
};

}  // namespace pex::bench
