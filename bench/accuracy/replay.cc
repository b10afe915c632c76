#include "replay.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace pex::bench {
namespace {

constexpr std::size_t kGroups = 4;
constexpr double kSlotNs = 4e6;
constexpr int kSkippedSeconds = 30;

constexpr double kMaxBiasOfCgroups = 0.01;

/// RMS error of delta scaling over ours, at least, at polls of 1 s.
struct Gain {
  std::string_view load;
  double least;
};
constexpr Gain kGains[] = {{"on-2ms-off-6ms", 10}, {"on-4ms-every-16.005ms", 20}};

struct Recording {
  std::string kernel;
  std::string scope;  ///< cpu or cgroup
  std::string load;
  std::vector<std::vector<Reading>> polls;  ///< totals, for each group
};

Error unreadable(const std::filesystem::path& file, const std::string& why) {
  return {0, "read the recording '" + file.string() + "': " + why, {}};
}

/// "# Linux 6.12.1, scope cpu, load steady"
bool read_heading(const std::string& line, Recording& recording) {
  std::istringstream words(line);
  std::string mark, system, scope, load;
  words >> mark >> system >> recording.kernel >> scope >> recording.scope >> load >> recording.load;
  for (std::string* word : {&recording.kernel, &recording.scope}) {
    if (!word->ends_with(',')) return false;
    word->pop_back();
  }
  return mark == "#" && scope == "scope" && load == "load" && !recording.load.empty();
}

/// One line of increments, added to totals.
bool add_second(const std::string& line, bool has_clocks, std::vector<Reading>& totals) {
  std::istringstream numbers(line);
  const auto next = [&] {
    std::uint64_t increment = 0;
    numbers >> increment;
    return increment;
  };
  const std::uint64_t truth = next();
  const std::uint64_t always = next();
  const std::uint64_t always_enabled = next();
  const std::uint64_t clock_always = has_clocks ? next() : 0;
  const std::uint64_t clock_always_enabled = has_clocks ? next() : 0;
  for (Reading& group : totals) {
    group.truth += truth;
    group.always += always;
    group.always_enabled_ns += always_enabled;
    group.enabled_ns += next();
    group.running_ns += next();
    group.events += next();
    group.sampled += next();
    if (has_clocks) group.clock_ns += next();
    group.clock_always_ns += clock_always;
    group.clock_always_enabled_ns += clock_always_enabled;
  }
  return !numbers.fail() && (numbers >> std::ws).eof();
}

Result<Recording> read_recording(const std::filesystem::path& file) {
  std::ifstream lines(file);
  Recording recording;
  std::string line;
  if (!std::getline(lines, line)) return unreadable(file, "it is empty or not there");
  if (!read_heading(line, recording)) return unreadable(file, "line 1 is no heading");
  std::vector<Reading> totals(kGroups);
  while (std::getline(lines, line)) {
    if (!add_second(line, recording.scope == "cgroup", totals)) {
      return unreadable(file, "line " + std::to_string(recording.polls.size() + 2) +
                                  " has not the right numbers");
    }
    recording.polls.push_back(totals);
  }
  return recording;
}

void replay(const Recording& recording, bool by_time, std::vector<Case>& cases) {
  for (const int interval : kPollSeconds) {
    Case& result = cases.emplace_back(Case{recording.kernel + " " + recording.scope + "-" +
                                           recording.load + (by_time ? ", by time, " : ", ") +
                                           std::to_string(interval) + " s"});
    if (recording.scope == "cgroup") result.targets.max_bias = kMaxBiasOfCgroups;
    for (const Gain& gain : kGains) {
      const bool applies = recording.scope == "cpu" && interval == 1 && gain.load == recording.load;
      if (applies) result.targets.max_above_delta = 1 / gain.least;
    }
    Comparison comparison(kGroups, kSlotNs, interval, kSkippedSeconds);
    int second = 0;
    for (std::vector<Reading> readings : recording.polls) {
      for (Reading& reading : readings) {
        if (by_time) reading.sampled = reading.always = reading.always_enabled_ns = 0;
      }
      comparison.poll(++second, readings, result);
    }
  }
}

}  // namespace

Result<std::vector<Case>> replay_all(const std::filesystem::path& directory) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    files.push_back(entry.path());
  }
  if (files.empty()) return unreadable(directory, "there is none");
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) {
    const Result<Recording> recording = read_recording(file);
    if (!recording) return recording.error();
    replay(*recording, false, cases);
    if (recording->scope == "cgroup") replay(*recording, true, cases);
  }
  return cases;
}

}  // namespace pex::bench
