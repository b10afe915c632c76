#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "contest.h"

namespace pex::bench {

/// How the PMU is shared, and how finely.
struct Setting {
  const char* name;
  Sharing sharing;
  int slot_ms;
  bool is_main;  ///< else one of the sweep; only the sweep's worst is printed
};

std::span<const Setting> settings();
inline constexpr std::size_t kConstantShare = 0;  ///< places in settings()
inline constexpr std::size_t kVaryingShare = 1;

/// One workload under one setting, polled so often.
struct Cell {
  std::size_t workload;
  std::size_t setting;
  int poll_seconds;
  FiguresOfAll figures;

  std::string name() const;
};

struct Extent {
  int seeds = 16;
  int sweep_seeds = 8;
  int seconds = 2 * 3600;
  unsigned threads = 2;
};

/// What is left out at the start of each run: the first 5 minutes.
inline constexpr int kSkippedSeconds = 300;

/// Every workload under every setting; the same numbers for any number of threads. Ordered by
/// workload, then setting, then poll interval.
std::vector<Cell> simulate(const Extent& extent);

}  // namespace pex::bench
