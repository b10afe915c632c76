#include "simulation.h"

#include <atomic>
#include <thread>

namespace pex::bench {
namespace {

constexpr Setting kSettings[] = {
    {"constant share", {4, 1, 1}, 4, true},
    {"varying share", {4, 2, 1}, 4, true},
    {"G = 2", {2, 1, 1}, 4, false},
    {"G = 3", {3, 1, 1}, 4, false},
    {"G = 8", {8, 1, 1}, 4, false},
    {"G = 4, slots of 1 ms", {4, 1, 1}, 1, false},
    {"G = 8, slots of 1 ms", {8, 1, 1}, 1, false},
};

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

/// One way of sharing the PMU, with a contest for each poll interval.
struct Shared {
  RotatingPmu pmu;
  std::vector<Contest> contests;
};

/// A part of the work: what happens is made once, and every setting of that slot length sees it.
struct Job {
  std::size_t workload;
  int slot_ms;
  int seed;
  std::vector<std::size_t> settings;
  std::vector<Cell> cells;
};

std::vector<Job> jobs_of(const Extent& extent) {
  std::vector<Job> jobs;
  for (std::size_t workload = 0; workload < workloads().size(); ++workload) {
    for (int seed = 0; seed < extent.seeds; ++seed) {
      Job coarse{workload, 4, seed, {}, {}};
      Job fine{workload, 1, seed, {}, {}};
      for (std::size_t setting = 0; setting < settings().size(); ++setting) {
        if (!kSettings[setting].is_main && seed >= extent.sweep_seeds) continue;
        (kSettings[setting].slot_ms == 4 ? coarse : fine).settings.push_back(setting);
      }
      for (Job* job : {&coarse, &fine}) {
        if (!job->settings.empty()) jobs.push_back(std::move(*job));
      }
    }
  }
  return jobs;
}

std::vector<Shared> start(Job& job) {
  for (const std::size_t setting : job.settings) {
    for (const int poll : kPollSeconds) job.cells.push_back({job.workload, setting, poll, {}});
  }
  std::vector<Shared> all;
  auto cell = job.cells.begin();
  for (const std::size_t setting : job.settings) {
    const Sharing& sharing = kSettings[setting].sharing;
    Shared& shared = all.emplace_back(Shared{RotatingPmu(sharing), {}});
    for (const int poll : kPollSeconds) {
      shared.contests.emplace_back(static_cast<std::size_t>(sharing.groups), job.slot_ms * 1e6,
                                   poll, kSkippedSeconds, (cell++)->figures);
    }
  }
  return all;
}

void run(Job& job, int seconds) {
  std::vector<Shared> all = start(job);
  const auto seed = static_cast<std::uint64_t>(job.seed) * 1000 + job.workload;
  SlotStream slots(workloads()[job.workload], job.slot_ms, seed);
  OtherSession other(seed + 500);
  std::vector<Reading> readings;
  for (int second = 1; second <= seconds; ++second) {
    for (int slot = 0; slot < 1000 / job.slot_ms; ++slot) {
      const Slot happened = slots.next();
      const bool beside_other = other.is_there_after(job.slot_ms * 1e-3);
      for (Shared& shared : all) shared.pmu.run(happened, job.slot_ms * 1e6, beside_other);
    }
    for (Shared& shared : all) {
      shared.pmu.read(readings);
      for (Contest& contest : shared.contests) contest.poll(second, readings);
    }
  }
}

std::vector<Cell> empty_cells() {
  std::vector<Cell> cells;
  for (std::size_t workload = 0; workload < workloads().size(); ++workload) {
    for (std::size_t setting = 0; setting < settings().size(); ++setting) {
      for (const int poll : kPollSeconds) cells.push_back({workload, setting, poll, {}});
    }
  }
  return cells;
}

void merge(const std::vector<Cell>& from, std::vector<Cell>& into) {
  for (const Cell& part : from) {
    for (Cell& cell : into) {
      if (cell.workload != part.workload || cell.setting != part.setting ||
          cell.poll_seconds != part.poll_seconds) {
        continue;
      }
      for (std::size_t formula = 0; formula < kFormulaCount; ++formula) {
        cell.figures[formula].merge(part.figures[formula]);
      }
    }
  }
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

std::string Cell::name() const {
  return std::string(workloads()[workload].name) + ", " + kSettings[setting].name + ", " +
         std::to_string(poll_seconds) + " s";
}

std::vector<Cell> simulate(const Extent& extent) {
  std::vector<Job> jobs = jobs_of(extent);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t job = next++; job < jobs.size(); job = next++) run(jobs[job], extent.seconds);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < extent.threads; ++thread) others.emplace_back(work);
    work();
  }
  std::vector<Cell> cells = empty_cells();
  for (const Job& job : jobs) merge(job.cells, cells);
  return cells;
}

}  // namespace pex::bench
