#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "cgroup/inventory.h"
#include "cgroup/use/cpu_use.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/table_text.h"
#include "daemon/cli/words.h"
#include "daemon/commands/cgroup_explanation.h"
#include "daemon/commands/commands.h"
#include "daemon/doctor/records_trial.h"
#include "daemon/doctor/uncounted_trial.h"
#include "daemon/run/counting_session.h"
#include "plan/cgroup_tree.h"

namespace pex::daemon {
namespace {

constexpr std::size_t kStateColumn = 14;

using CpuTime = std::optional<std::uint64_t>;

/// " 1234.567 s", or nothing.
std::string seconds(const CpuTime& microseconds) {
  if (!microseconds) return "";
  return " " + with_decimals(static_cast<double>(*microseconds) / 1e6, 3) + " s";
}

/// The path as it can be given to the command, and written in a pattern. It can contain any bytes,
/// which are shown as in labels.
void print(const std::string& path, const CgroupExplanation::Line& line, CpuTime used = {}) {
  const std::string reason = line.reason.empty() ? "" : " (" + line.reason + ")";
  std::cout << column(std::string(line.state), kStateColumn)
            << printable(as_label_value(path) + seconds(used) + line.labels + reason) << '\n';
}

/// Returns false if one of these is not there.
bool print_each(const std::set<std::string>& paths, const CgroupExplanation& explanation) {
  bool are_there = true;
  for (const std::string& path : paths) {
    const std::optional<CgroupExplanation::Line> line = explanation.of(path);
    print(path, line.value_or(CgroupExplanation::Line{"not there", {}, "there is no such cgroup"}));
    are_there = are_there && line;
  }
  return are_there;
}

/// Of the whole tree, those with most CPU time first; returns the number of lines.
std::size_t print_all(const cgroup::Hierarchy& hierarchy, const CgroupExplanation& explanation) {
  std::vector<std::pair<CpuTime, std::string>> all;
  for (std::string& path : cgroup::take_inventory(hierarchy.mount).cgroups) {
    const CpuTime used = cgroup::cpu_use(hierarchy, path);
    all.emplace_back(used, std::move(path));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t lines = 0;
  for (const auto& [used, path] : all) {
    const auto line = explanation.of(path);
    if (!line) continue;  // it is gone by now
    print(path, *line, used);
    ++lines;
  }
  return lines;
}

/// For a second, and the largest parts.
void print_uncounted(const cgroup::Hierarchy& hierarchy, const collect::TargetSet& targets,
                     const cgroup::Selection& selection) {
  std::cout << std::flush;
  const auto use = measure_uncounted(hierarchy, targets, std::chrono::seconds{1});
  if (!use || !use->rate) return;
  std::cout << "\nin no counted cgroup, over 1 s: " << describe(*use->rate) << '\n';
  for (const cgroup::UncountedUse::Part& part : use->largest) {
    std::cout << "  " << printable(describe(part, selection)) << '\n';
  }
}

bool is_name(const std::string& written) { return written.find('/') == written.npos; }

/// All cgroups, if a name without a path is among these, as systemctl takes it: "nginx.service".
std::vector<std::string> inventory_for(const std::vector<std::string>& written,
                                       const std::string& mount) {
  const bool has_name = std::any_of(written.begin(), written.end(), is_name);
  return has_name && !mount.empty() ? cgroup::take_inventory(mount).cgroups
                                    : std::vector<std::string>{};
}

struct Printed {
  bool are_there = true;    ///< all that were asked for
  std::size_t of_tree = 0;  ///< lines for --all
};

Printed print(const Options& options, const CgroupExplanation& explanation,
              const std::optional<cgroup::Hierarchy>& hierarchy) {
  const bool is_all = options.all_cgroups && options.cgroup_paths.empty();
  const bool has_labels = options.cgroup_labels || is_all || !options.cgroup_paths.empty();
  std::cout << "configuration: " << printable(name_of_config(options)) << "\n\n"
            << column("STATE", kStateColumn) << "CGROUP, " << (is_all ? "ITS CPU TIME, " : "")
            << (has_labels ? "ITS LABELS, OR THE REASON\n"
                           : "AND THE REASON IF IT IS NOT COUNTED\n");
  if (!options.cgroup_paths.empty()) {
    std::set<std::string> paths;
    const std::string mount = hierarchy ? hierarchy->mount : std::string{};
    const std::vector<std::string> all = inventory_for(options.cgroup_paths, mount);
    for (const std::string& written : options.cgroup_paths) {
      const std::size_t before = paths.size();
      std::copy_if(all.begin(), all.end(), std::inserter(paths, paths.end()),
                   [&](const std::string& path) {
                     return is_name(written) && path.ends_with("/" + written);
                   });
      if (paths.size() == before) paths.insert(path_below(mount, written));
    }
    return {.are_there = print_each(paths, explanation)};
  }
  if (!is_all) {
    for (auto [path, line] : explanation.selected()) {
      if (!has_labels) line.labels.clear();
      print(path, line);
    }
    return {};
  }
  return {.of_tree = hierarchy ? print_all(*hierarchy, explanation) : 0};
}

Error nothing_counted(const plan::LoadedPlan& planned, const Options& options,
                      const Printed& printed) {
  if (planned.plan.counting.cgroup.empty()) {
    return {0, "no event can be counted by cgroup",
            "--config.check shows why; configure a group with scope cgroup if there is none"};
  }
  const bool has_paths = !options.cgroup_paths.empty();
  if (options.all_cgroups && !has_paths && printed.of_tree == 0) {
    return {0, "no cgroup exists now",
            "set --path.cgroupfs if their hierarchy is mounted elsewhere"};
  }
  return {0, "cgroups.include selects no cgroup that exists now",
          options.all_cgroups || has_paths
              ? "if one of those above should be counted, add a pattern for it to cgroups.include"
              : "'cgroups --all' gives the reason for each"};
}

/// A plan without events of cgroups has no tree, and the reasons are about the machine's.
std::optional<cgroup::Hierarchy> hierarchy_of(const plan::CgroupTree& tree,
                                              const Options& options) {
  if (tree.hierarchy) return tree.hierarchy;
  const Result<std::optional<cgroup::Hierarchy>> found = cgroup::find_hierarchy(options.roots);
  return found ? *found : std::nullopt;
}

}  // namespace

ExitStatus list_cgroups(const Options& options, perf::PerfKernel& kernel, Log& log) {
  Result<plan::LoadedPlan, std::vector<yaml::Diagnostic>> planned = plan::load_and_plan(
      options.config_file, options.roots, kernel, nullptr, options.unknown_keys);
  if (!planned) return failed(log, yaml::errors_of(planned.error()));
  planned->plan.budget.opens_per_second = SIZE_MAX;  // none will be opened
  const Result<plan::CgroupTree> tree = find_cgroup_tree(*planned, options.roots);
  if (!tree) return failed(log, {tree.error()});
  std::vector<Error> warnings = tree->warnings;
  if (tree->hierarchy && !planned->cpus->online.empty()) {
    const Result<> is_one =
        plan::check_tree(*tree->hierarchy, options.roots, kernel, planned->cpus->online.front());
    if (!is_one) warnings.push_back(is_one.error());
  }
  collect::TargetTracker tracker =
      track_targets(*planned, options.roots, tree->hierarchy,
                    plan::counting_cost(*planned, would_use_records(*planned, kernel)));

  collect::PollReport report;
  const auto targets = tracker.update(collect::TargetTracker::Clock::now(), report);
  const std::optional<cgroup::Hierarchy> hierarchy = hierarchy_of(*tree, options);
  const CgroupExplanation explanation{*planned, hierarchy ? hierarchy->mount : std::string{},
                                      *targets, tracker.left_out()};
  const Printed printed = print(options, explanation, hierarchy);
  for (const Error& why : targets->found->unreadable) std::cout << printable(worded(why)) << '\n';
  if (tree->hierarchy && options.cgroup_paths.empty()) {
    print_uncounted(*tree->hierarchy, *targets, planned->plan.cgroups.selection);
  }
  if (explanation.selected().empty() && (tree->hierarchy || warnings.empty())) {
    warnings.push_back(nothing_counted(*planned, options, printed));
  }
  for (const auto& [cause, failure] : report.failures) warnings.push_back(failure.first);
  for (const Error& warning : warnings) std::cout << '\n' << printable(worded(warning)) << '\n';
  return flush_output() && printed.are_there ? kOk : kFailed;
}

}  // namespace pex::daemon
