#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "contest.h"

namespace pex::bench {

/// What a kernel reported for four groups that take turns, once a second, and the truth
/// (record/recorder.cc).
struct Recording {
  std::string kernel;
  std::string scope;  ///< cpu or cgroup
  std::string load;
  std::vector<std::vector<Reading>> polls;  ///< totals, for each group
};

Result<Recording> read_recording(const std::filesystem::path& file);

/// All in a directory, by name.
Result<std::vector<Recording>> read_recordings(const std::filesystem::path& directory);

/// A recording under every formula, at each of kPollSeconds. The first 30 s are left out.
struct Replay {
  const Recording* recording;
  bool by_time;  ///< no formula is given the reference
  std::array<FiguresOfAll, std::size(kPollSeconds)> figures;
};

Replay replay(const Recording& recording, bool by_time = false);

/// All of them, and those of cgroups also by time, as groups of cgroups have a reference only where
/// it is free.
std::vector<Replay> replay_all(const std::vector<Recording>& recordings);

}  // namespace pex::bench
