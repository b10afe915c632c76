#include "targets/machine_cpus.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "events/pmu.h"
#include "events/pmu_readers.h"

namespace pex::collect {

bool MachineCpus::is_online(int cpu) const {
  return std::binary_search(online.begin(), online.end(), cpu);
}

bool MachineCpus::is_waiting(const std::string& pmu) const {
  const auto of = pmus.find(pmu);
  return of != pmus.end() && std::none_of(of->second.begin(), of->second.end(), [&](int cpu) {
           return is_online(cpu) || std::binary_search(left_out.begin(), left_out.end(), cpu);
         });
}

Error waiting_for_a_cpu(const std::string& pmu) {
  return {0,
          "the events of PMU '" + pmu +
              "' wait: none of its CPUs is online; they are counted when one is",
          {}};
}

bool MachineCpus::counts_on(const std::string& pmu, int cpu,
                            const std::vector<int>& left_out_too) const {
  if (std::binary_search(left_out_too.begin(), left_out_too.end(), cpu)) return false;
  if (pmu.empty()) return true;
  const auto cpus = pmus.find(pmu);
  return cpus != pmus.end() && std::binary_search(cpus->second.begin(), cpus->second.end(), cpu);
}

std::vector<int> MachineCpus::unread_on(const std::string& pmu,
                                        const std::vector<int>& left_out_too) const {
  std::vector<int> unread;
  if (!uncore.contains(pmu)) return unread;
  const auto is_left_out = [&](int cpu) {
    return std::binary_search(left_out.begin(), left_out.end(), cpu) ||
           std::binary_search(left_out_too.begin(), left_out_too.end(), cpu);
  };
  std::copy_if(pmus.at(pmu).begin(), pmus.at(pmu).end(), std::back_inserter(unread), is_left_out);
  return unread;
}

std::size_t MachineCpus::count_of(const std::string& pmu,
                                  const std::vector<int>& left_out_too) const {
  return static_cast<std::size_t>(std::count_if(
      online.begin(), online.end(), [&](int cpu) { return counts_on(pmu, cpu, left_out_too); }));
}

MachineCpus resized(const MachineCpus& cpus, std::size_t count, const std::vector<int>& left_out,
                    const std::set<std::string>& uncore) {
  const std::size_t here = std::max<std::size_t>(cpus.online.size() + cpus.left_out.size(), 1);
  MachineCpus sized;
  for (int cpu = 0; sized.places.size() < count; ++cpu) {
    const auto like = cpus.places.empty() ? cpus.places.end()
                                          : std::next(cpus.places.begin(),
                                                      cpu % static_cast<int>(cpus.places.size()));
    host::CpuPlace& place = sized.places[cpu];
    if (like != cpus.places.end()) place = like->second;
    place.cpu = cpu;
    const bool is_left_out = std::binary_search(left_out.begin(), left_out.end(), cpu);
    (is_left_out ? sized.left_out : sized.online).push_back(cpu);
  }
  for (const auto& [pmu, of] : cpus.pmus) {
    const std::size_t wanted =
        uncore.contains(pmu) ? of.size() : (of.size() * count + here - 1) / here;
    std::vector<int>& sized_pmu = sized.pmus[pmu];
    for (std::size_t cpu = 0; cpu < std::min(wanted, count); ++cpu) {
      sized_pmu.push_back(static_cast<int>(cpu));
    }
  }
  return sized;
}

namespace {

constexpr std::chrono::seconds kAnswersWithin{1};

bool may_hang(const std::string& file) {
  struct statfs system {};
  return ::statfs(file.c_str(), &system) == 0 && system.f_type == FUSE_SUPER_MAGIC;
}

}  // namespace

/// What is read of files.
struct CpuTracker::Files {
  Files(const host::HostRoots& of, std::vector<int> cpus)
      : roots(of), left_out(std::move(cpus)), online(roots) {}
  std::shared_ptr<const MachineCpus> update();

  const host::HostRoots roots;
  const std::vector<int> left_out;
  Wanted wanted;
  host::OnlineCpus online;
  std::shared_ptr<const std::vector<int>> listed;  ///< online, when they were last read
  bool listed_none = false;                        ///< of them, as was wanted
  std::map<std::string, std::vector<int>> named;   ///< the CPUs of PMUs, as the kernel names them
  std::map<int, host::CpuPlace> places;            ///< as they were read
  std::shared_ptr<const MachineCpus> current = std::make_shared<const MachineCpus>();
  std::vector<Error> failures;  ///< of the last update
};

/// The CPUs of a PMU are read each time: if the CPU that reads an uncore PMU goes offline, the
/// kernel names another, and if it returns, only after it is listed as online.
std::shared_ptr<const MachineCpus> CpuTracker::Files::update() {
  failures.clear();
  auto read = online.read();
  if (!read) {
    failures.push_back(read.error());
    return current;
  }
  const bool is_same = *read == listed && wanted.no_cpus == listed_none;
  if (is_same && wanted.pmus.empty()) return current;
  listed = *std::move(read);
  listed_none = wanted.no_cpus;
  std::vector<int> counted;
  std::vector<int> not_counted;
  for (const int cpu : *listed) {
    const bool is_left_out =
        wanted.no_cpus || std::binary_search(left_out.begin(), left_out.end(), cpu);
    (is_left_out ? not_counted : counted).push_back(cpu);
  }
  std::map<std::string, std::vector<int>> now_named = named;
  for (const std::string& pmu : wanted.pmus) {
    Result<std::vector<int>> cpus = events::read_pmu_cpus(roots, pmu);
    if (cpus) {
      now_named[pmu] = std::move(*cpus);
    } else {
      failures.push_back(cpus.error());
    }
  }
  if (counted == current->online && not_counted == current->left_out && now_named == named) {
    return current;
  }
  named = std::move(now_named);

  auto next = std::make_shared<MachineCpus>(*current);
  next->online = std::move(counted);
  next->left_out = std::move(not_counted);
  next->uncore.clear();
  for (const auto& [pmu, cpus] : named) {
    next->pmus[pmu] = events::readers_of(roots, pmu, cpus, next->online, left_out);
    // While nothing is counted, totals stay, and no row lacks a part of them.
    if (!wanted.no_cpus && events::is_uncore(roots, pmu)) next->uncore.insert(pmu);
  }
  for (const int cpu : *listed) {
    if (!places.contains(cpu)) places[cpu] = host::read_cpu_place(roots, cpu);
  }
  next->places = places;
  host::separate_cores(next->places);
  return current = std::move(next);
}

CpuTracker::CpuTracker(const host::HostRoots& roots, std::vector<std::string> pmus,
                       std::vector<int> left_out)
    : wanted_{std::move(pmus)},
      files_(std::make_shared<Files>(roots, std::move(left_out))),
      current_(files_->current) {
  if (!may_hang(roots.online_cpus())) return;
  const auto look = [files = files_] { files->update(); };
  thread_ = std::make_unique<host::SideThread>("cpus", look);
}

void CpuTracker::follow(std::vector<std::string> pmus) { wanted_.pmus = std::move(pmus); }

void CpuTracker::leave_out_all(bool all) { wanted_.no_cpus = all; }

/// Waits once for files that hang, and not at each poll.
std::shared_ptr<const MachineCpus> CpuTracker::update(std::vector<Error>& failures) {
  const bool has_hung = thread_ && thread_->is_busy();
  if (!has_hung) files_->wanted = wanted_;
  if (!thread_) {
    files_->update();
  } else {
    using Clock = host::SideThread::Clock;
    if (!has_hung) thread_->begin();
    if (!thread_->wait_until(has_hung ? Clock::now() : Clock::now() + kAnswersWithin)) {
      failures.push_back({0,
                          "the file system of '" + files_->roots.sysfs +
                              "' does not answer: the CPUs that were online before are counted",
                          "look whether its mount answers: stat -f on the directory"});
      return current_;
    }
  }
  failures.insert(failures.end(), files_->failures.begin(), files_->failures.end());
  return current_ = files_->current;
}

}  // namespace pex::collect
