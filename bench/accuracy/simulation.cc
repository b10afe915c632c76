#include "simulation.h"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "rotation.h"
#include "workload.h"

namespace pex::bench {
namespace {

constexpr int kSeconds = 2 * 3600;
constexpr int kSkippedSeconds = 300;
constexpr double kMaxBias = 0.001;

/// How the PMU is shared, and how finely.
struct Setting {
  const char* name;
  Sharing sharing;
  int slot_ms;
};
constexpr Setting kSettings[] = {
    {"constant share", {4, 1, 1}, 4},
    {"varying share", {4, 2, 1}, 4},
    {"G = 2", {2, 1, 1}, 4},
    {"G = 3", {3, 1, 1}, 4},
    {"G = 8", {8, 1, 1}, 4},
    {"G = 4, slots of 1 ms", {4, 1, 1}, 1},
    {"G = 8, slots of 1 ms", {8, 1, 1}, 1},
};
constexpr std::size_t kMainSettings = 2;  // the first ones, of which gains are demanded

/// RMS error of delta scaling over ours, at least, at polls of 15 s.
struct Gain {
  std::string_view workload;
  double least;
};
constexpr Gain kGains[] = {{"idle_fast", 3}, {"server", 3}, {"alias16", 100}};

/// Another session that has half of the PMU for 120 s on average, 300 s after it last had.
class OtherSession {
 public:
  explicit OtherSession(std::uint64_t seed) : random_(seed) {}

  bool is_there_after(double seconds) {
    for (left_ -= seconds; left_ <= 0; there_ = !there_) {
      left_ += random_.exponential(there_ ? 300 : 120);
    }
    return there_;
  }

 private:
  Random random_;
  bool there_ = true;  // its first stay ends at once
  double left_ = 0;
};

/// One way of sharing the PMU at one poll interval.
struct Run {
  RotatingPmu pmu;
  Comparison comparison;
  std::size_t result;
};

/// What happens is made once, and every setting of that slot length sees it.
struct Job {
  std::size_t workload;
  int slot_ms;
  std::uint64_t seed;
};

std::size_t number_of(std::size_t workload, std::size_t setting, std::size_t interval) {
  return (workload * std::size(kSettings) + setting) * std::size(kPollSeconds) + interval;
}

std::vector<Run> start(const Job& job) {
  std::vector<Run> runs;
  for (std::size_t setting = 0; setting < std::size(kSettings); ++setting) {
    const Setting& of = kSettings[setting];
    if (of.slot_ms != job.slot_ms) continue;
    for (std::size_t i = 0; i < std::size(kPollSeconds); ++i) {
      runs.push_back({RotatingPmu(of.sharing),
                      Comparison(static_cast<std::size_t>(of.sharing.groups), of.slot_ms * 1e6,
                                 kPollSeconds[i], kSkippedSeconds),
                      number_of(job.workload, setting, i)});
    }
  }
  return runs;
}

void run(const Job& job, std::vector<Case>& results) {
  std::vector<Run> runs = start(job);
  const std::uint64_t seed = job.seed * 1000 + job.workload;
  SlotStream slots(workloads()[job.workload], job.slot_ms, seed);
  OtherSession other(seed + 500);
  std::vector<Reading> readings;
  for (int second = 1; second <= kSeconds; ++second) {
    for (int slot = 0; slot < 1000 / job.slot_ms; ++slot) {
      const Slot happened = slots.next();
      const bool beside_other = other.is_there_after(job.slot_ms * 1e-3);
      for (Run& each : runs) each.pmu.run(happened, job.slot_ms * 1e6, beside_other);
    }
    for (Run& each : runs) {
      each.pmu.read(readings);
      each.comparison.poll(second, readings, results[each.result]);
    }
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Workload& workload : workloads()) {
    for (std::size_t setting = 0; setting < std::size(kSettings); ++setting) {
      for (const int poll : kPollSeconds) {
        Case& added =
            cases.emplace_back(Case{std::string(workload.name) + ", " + kSettings[setting].name +
                                    ", " + std::to_string(poll) + " s"});
        added.targets.max_bias = kMaxBias;
        for (const Gain& gain : kGains) {
          if (gain.workload != workload.name || setting >= kMainSettings || poll == 1) continue;
          added.targets.max_above_delta = 1 / gain.least;
        }
      }
    }
  }
  return cases;
}

}  // namespace

std::vector<Case> simulate(int seeds, unsigned threads) {
  std::vector<Job> jobs;
  for (std::size_t workload = 0; workload < workloads().size(); ++workload) {
    for (int seed = 0; seed < seeds; ++seed) {
      for (const int slot_ms : {4, 1}) {
        jobs.push_back({workload, slot_ms, static_cast<std::uint64_t>(seed)});
      }
    }
  }
  // Each job adds to results of its own, so that sums do not depend on which thread is first.
  std::vector<std::vector<Case>> parts(jobs.size(), all_cases());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t job = next++; job < jobs.size(); job = next++) run(jobs[job], parts[job]);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(work);
    work();
  }
  std::vector<Case> cases = all_cases();
  for (const std::vector<Case>& part : parts) {
    for (std::size_t i = 0; i < cases.size(); ++i) cases[i].merge(part[i]);
  }
  return cases;
}

}  // namespace pex::bench
