#include "daemon/commands/list_cgroups.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "collect/descriptor_source.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/run/counting_session.h"
#include "exposition/labels.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kStateColumn = 10;

std::string labels_of(const cgroup::Description& description) {
  std::string labels;
  for (const auto* part : {&description.identity, &description.information}) {
    for (const auto& [name, value] : *part) labels += " " + exposition::label(name, value);
  }
  return labels;
}

/// Quoted as in a label, and then for a terminal: paths can contain any bytes.
void print(std::string_view state, const std::string& path, const std::string& labels) {
  std::cout << column(std::string(state), kStateColumn)
            << printable(exposition::escape_label(path) + labels) << '\n';
}

void print(const collect::TargetSet& targets, const std::vector<std::string>& left_out) {
  std::cout << column("STATE", kStateColumn) << "CGROUP AND LABELS\n";
  std::vector<collect::CgroupTarget> counted = targets.cgroups;
  std::sort(counted.begin(), counted.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  for (const collect::CgroupTarget& target : counted) {
    print("counted", target.path, labels_of(*target.description));
  }
  for (const std::string& path : left_out) print("left out", path, "");
  for (const Error& why : targets.found->unreadable) std::cout << printable(worded(why)) << '\n';
}

}  // namespace

ExitStatus list_cgroups(const Options& options, perf::PerfKernel& kernel, Log& log) {
  const auto failed = [&](const std::vector<Error>& errors) {
    for (const Error& error : errors) log.error(error);
    return kFailed;
  };
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned =
      plan::load_and_plan(options.config_file, options.roots, kernel);
  if (!planned) return failed(yaml::errors_of(planned.error()));
  planned->plan.budget.opens_per_second = SIZE_MAX;  // none will be opened
  std::vector<Error> warnings;
  const Result<plan::CgroupTree> tree = find_cgroup_tree(*planned, options.roots);
  if (!tree) return failed({tree.error()});
  for (const Error& warning : tree->warnings) warnings.push_back(warning);
  if (tree->hierarchy && !planned->cpus->online.empty()) {
    const Result<> is_one =
        plan::check_tree(*tree->hierarchy, options.roots, kernel, planned->cpus->online.front());
    if (!is_one) warnings.push_back(is_one.error());
  }
  collect::TargetTracker tracker =
      track_targets(*planned, options.roots, tree->hierarchy, collect::descriptor_cost);

  collect::PollReport report;
  const auto targets = tracker.update(collect::TargetTracker::Clock::now(), report);
  print(*targets, tracker.left_out());
  if (targets->cgroups.empty() && warnings.empty()) {
    warnings.push_back(
        {0, "none of the cgroups that are there now is selected by cgroups.include", {}});
  }
  for (const auto& [cause, failure] : report.failures) warnings.push_back(failure.first);
  for (const Error& warning : warnings) std::cout << '\n' << printable(worded(warning)) << '\n';
  return std::cout << std::flush ? kOk : kFailed;
}

}  // namespace pex::daemon
