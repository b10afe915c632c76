#include "plan/cpu_selector.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "host/cpu_list.h"
#include "host/topology.h"
#include "yaml/plain_text.h"

namespace pex::plan {
namespace {

std::vector<int> merged(const std::vector<int>& one, const std::vector<int>& other) {
  std::vector<int> both;
  std::set_union(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

/// Resolves the entries of a file on this machine.
class CpuSelector {
 public:
  CpuSelector(const host::HostRoots& roots, const std::vector<int>& online)
      : roots_(roots), online_(online) {}

  /// The CPUs of `cpus`; if some are needed, reports an error if these and `before` leave out all.
  std::vector<int> select(const config::Cpus& cpus, const std::vector<int>& before,
                          bool needs_some = true) {
    std::vector<int> all;
    for (const config::CpuEntry& entry : cpus.exclude) all = merged(all, cpus_of(entry));
    if (needs_some && !all.empty() && without(online_, merged(before, all)).empty()) {
      diagnostics_.add({cpus.at,
                        "no CPU is left: " + host::format_cpu_list(online_) +
                            " are online, and all of them are excluded",
                        "leave out fewer"});
    }
    return without(all, before);
  }

  const yaml::Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  std::vector<int> cpus_of(const config::CpuEntry& entry) {
    Result<std::vector<int>> cpus = read(entry.text);
    if (cpus) return std::move(*cpus);
    if (cpus.error().code == EINVAL) {
      diagnostics_.add({entry.at, yaml::in_quotes(entry.text) + " is not a list of CPUs",
                        "write numbers and ranges, for example \"2-5,8\""});
    } else {
      yaml::Diagnostic unreadable = yaml::diagnostic_of(cpus.error());
      unreadable.position = entry.at;
      diagnostics_.add(std::move(unreadable));
    }
    return {};
  }

  Result<std::vector<int>> read(const std::string& text) const {
    if (text == config::kIsolatedCpus) return host::isolated_cpus(roots_);
    if (text == config::kNohzFullCpus) return host::nohz_full_cpus(roots_);
    return host::parse_cpu_list(text);
  }

  const host::HostRoots& roots_;
  const std::vector<int>& online_;
  yaml::Diagnostics diagnostics_;
};

}  // namespace

std::vector<int> without(const std::vector<int>& cpus, const std::vector<int>& left_out) {
  std::vector<int> rest;
  std::set_difference(cpus.begin(), cpus.end(), left_out.begin(), left_out.end(),
                      std::back_inserter(rest));
  return rest;
}

const std::vector<int>& LeftOutCpus::of(const std::string& group) const {
  static const std::vector<int> kNone;
  const auto found = of_groups.find(group);
  return found == of_groups.end() ? kNone : found->second;
}

Result<LeftOutCpus, std::vector<yaml::Diagnostic>> select_cpus(
    const config::Config& config, const host::HostRoots& roots, const std::vector<int>& online,
    const std::function<bool(const config::Group&)>& is_counted) {
  CpuSelector selector{roots, online};
  LeftOutCpus left_out;
  left_out.everywhere = selector.select(config.cpus, {});
  for (const config::Group& group : config.groups) {
    std::vector<int> of_group = selector.select(group.cpus, left_out.everywhere, is_counted(group));
    if (!of_group.empty()) left_out.of_groups[group.name] = std::move(of_group);
  }
  if (selector.diagnostics().has_errors()) return selector.diagnostics().errors();
  return left_out;
}

}  // namespace pex::plan
