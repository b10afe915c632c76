#include "targets.h"

#include <cmath>
#include <cstdio>
#include <string_view>

namespace pex::bench {
namespace {

constexpr double kMaxBias = 0.001;
constexpr double kMaxCgroupBias = 0.01;
constexpr double kRoundingOnly = 1e-6;
constexpr double kMaxAboveDelta = 1.01;  // RMS error over that of delta scaling

/// RMS error of delta scaling over ours, at least.
struct Gain {
  std::string_view load;
  double least;
};
constexpr Gain kSimulatedGains[] = {{"idle_fast", 3}, {"server", 3}, {"alias16", 100}};
constexpr int kSimulatedGainPoll = 15;
constexpr Gain kRecordedGains[] = {{"on-2ms-off-6ms", 10}, {"on-40ms-off-120ms", 10}};

double gain(const FiguresOfAll& figures) { return figures[kDelta].rms() / figures[kOurs].rms(); }

class Misses {
 public:
  void demand(bool met, const std::string& where, const char* format, double value) {
    if (met) return;
    char text[128];
    std::snprintf(text, sizeof text, format, value);
    lines_.push_back(where + ": " + text);
  }
  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void check_never_worse(const FiguresOfAll& figures, const std::string& where, Misses& misses) {
  const Figures& ours = figures[kOurs];
  misses.demand(ours.falls() == 0, where, "fell in %.2f of 1000 polls", ours.falls_per_1000());
  const double above = 1 / gain(figures);
  misses.demand(above <= kMaxAboveDelta, where, "RMS error %.3f times that of delta", above);
}

void check(const Cell& cell, Misses& misses) {
  check_never_worse(cell.figures, cell.name(), misses);
  const double bias = cell.figures[kOurs].bias();
  misses.demand(std::abs(bias) <= kMaxBias, cell.name(), "bias %.3f %%", 100 * bias);
  if (!settings()[cell.setting].is_main || cell.poll_seconds != kSimulatedGainPoll) return;
  for (const Gain& target : kSimulatedGains) {
    if (target.load != workloads()[cell.workload].name) continue;
    misses.demand(gain(cell.figures) >= target.least, cell.name(),
                  "RMS error only %.1f times below delta", gain(cell.figures));
  }
}

/// A group that never lost the PMU is exact; by whatever times, one that did is right on average.
void check(const CgroupCell& cell, Misses& misses) {
  for (const FiguresOfAll& figures : cell.figures) {
    const Figures& ours = figures[kOurs];
    misses.demand(ours.falls() == 0, cell.name(), "fell in %.2f of 1000 polls",
                  ours.falls_per_1000());
    misses.demand(std::abs(ours.bias()) <= kMaxCgroupBias, cell.name(), "bias %.3f %%",
                  100 * ours.bias());
    misses.demand(cell.groups > 1 || ours.rms() <= kRoundingOnly, cell.name(),
                  "not exact: RMS error %.2g", ours.rms());
  }
}

void check(const Replay& replay, Misses& misses) {
  const Recording& recording = *replay.recording;
  const std::string where = "recording " + recording.kernel + " " + recording.scope + "-" +
                            recording.load + (replay.by_time ? " by time" : "");
  for (const FiguresOfAll& figures : replay.figures) check_never_worse(figures, where, misses);
  if (recording.scope == "cgroup") {
    for (const FiguresOfAll& figures : replay.figures) {
      const double bias = figures[kOurs].bias();
      misses.demand(std::abs(bias) <= kMaxCgroupBias, where, "bias %.3f %%", 100 * bias);
    }
    return;
  }
  const double at_1s = gain(replay.figures[0]);
  for (const Gain& target : kRecordedGains) {
    if (target.load != recording.load) continue;
    misses.demand(at_1s >= target.least, where, "RMS error only %.1f times below delta", at_1s);
  }
}

}  // namespace

std::vector<std::string> missed_targets(const std::vector<Cell>& cells,
                                        const std::vector<CgroupCell>& cgroups,
                                        const std::vector<Replay>& replays) {
  Misses misses;
  for (const Cell& cell : cells) check(cell, misses);
  for (const CgroupCell& cell : cgroups) check(cell, misses);
  for (const Replay& replay : replays) check(replay, misses);
  return std::move(misses).lines();
}

}  // namespace pex::bench
