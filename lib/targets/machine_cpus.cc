#include "targets/machine_cpus.h"

#include <algorithm>
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

CpuTracker::CpuTracker(const host::HostRoots& roots, std::vector<std::string> pmus,
                       std::vector<int> left_out)
    : roots_(roots),
      online_(roots),
      pmus_(std::move(pmus)),
      left_out_(std::move(left_out)),
      current_(std::make_shared<const MachineCpus>()) {}

void CpuTracker::follow(std::vector<std::string> pmus) { pmus_ = std::move(pmus); }

void CpuTracker::leave_out_all(bool all) {
  if (std::exchange(leaves_out_all_, all) != all) listed_.reset();
}

/// The CPUs of a PMU are read each time: if the CPU that reads an uncore PMU goes offline, the
/// kernel names another, and if it returns, only after it is listed as online.
std::shared_ptr<const MachineCpus> CpuTracker::update(std::vector<Error>& failures) {
  auto online = online_.read();
  if (!online) {
    failures.push_back(online.error());
    return current_;
  }
  if (*online == listed_ && pmus_.empty()) return current_;
  listed_ = *std::move(online);
  std::vector<int> counted;
  std::vector<int> left_out;
  for (const int cpu : *listed_) {
    const bool is_left_out =
        leaves_out_all_ || std::binary_search(left_out_.begin(), left_out_.end(), cpu);
    (is_left_out ? left_out : counted).push_back(cpu);
  }
  std::map<std::string, std::vector<int>> named = named_;
  for (const std::string& pmu : pmus_) {
    Result<std::vector<int>> cpus = events::read_pmu_cpus(roots_, pmu);
    if (cpus) {
      named[pmu] = std::move(*cpus);
    } else {
      failures.push_back(cpus.error());
    }
  }
  if (counted == current_->online && left_out == current_->left_out && named == named_) {
    return current_;
  }
  named_ = std::move(named);

  auto next = std::make_shared<MachineCpus>(*current_);
  next->online = std::move(counted);
  next->left_out = std::move(left_out);
  next->uncore.clear();
  for (const auto& [pmu, cpus] : named_) {
    next->pmus[pmu] = events::readers_of(roots_, pmu, cpus, next->online, left_out_);
    // While nothing is counted, totals stay, and no row lacks a part of them.
    if (!leaves_out_all_ && events::is_uncore(roots_, pmu)) next->uncore.insert(pmu);
  }
  for (const int cpu : *listed_) {
    if (!places_.contains(cpu)) places_[cpu] = host::read_cpu_place(roots_, cpu);
  }
  next->places = places_;
  host::separate_cores(next->places);
  return current_ = std::move(next);
}

}  // namespace pex::collect
