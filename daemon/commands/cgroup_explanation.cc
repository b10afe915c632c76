#include "daemon/commands/cgroup_explanation.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "exposition/labels.h"

namespace pex::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNotSelected = "not selected";
constexpr std::string_view kNotCounted = "not counted";

/// Of its series.
std::string labels_of(const cgroup::Description& of_cgroup, bool is_folded) {
  const bool is_shared = is_folded && of_cgroup.of_series;
  const cgroup::Description& description = is_shared ? *of_cgroup.of_series : of_cgroup;
  std::string labels;
  if (is_shared) labels = " " + exposition::label("cgroup", of_cgroup.series_path);
  for (const auto* part : {&description.identity, &description.information}) {
    for (const auto& [name, value] : *part) labels += " " + exposition::label(name, value);
  }
  return labels;
}

bool is_cgroup(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(fs::symlink_status(path, failed));
}

/// Without '//', '.' and a '/' at its end; '..' is left only at the beginning of a relative path.
std::string normalized(const std::string& path) {
  std::string text = fs::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

/// It would not be in the hierarchy.
bool is_above_root(const std::string& path) { return path == "/.." || path.starts_with("/../"); }

}  // namespace

CgroupExplanation::CgroupExplanation(const plan::LoadedPlan& planned, std::string mount,
                                     const collect::TargetSet& targets,
                                     const std::vector<std::string>& left_out)
    : planned_(planned), mount_(std::move(mount)) {
  const std::vector<collect::SumPlan>& sums = planned.plan.counting.sums;
  const bool is_folded = !sums.empty() && sums.back().is_series;
  for (const collect::CgroupTarget& target : targets.cgroups) {
    selected_.emplace(target.path, Line{"counted", labels_of(*target.description, is_folded)});
  }
  const std::string reason =
      std::string(collect::bound_of(targets.left_out_reason).words) + " leaves no room for it";
  for (const std::string& path : left_out) selected_.emplace(path, Line{"left out", {}, reason});
}

std::optional<CgroupExplanation::Line> CgroupExplanation::of(const std::string& path) const {
  if (const auto known = selected_.find(path); known != selected_.end()) return known->second;
  if (mount_.empty() || is_above_root(path) || !is_cgroup(mount_ + path)) return {};
  if (path == "/") return Line{kNotCounted, {}, "groups of scope cpu count the whole machine"};
  return why_not(path);
}

CgroupExplanation::Line CgroupExplanation::why_not(const std::string& path) const {
  const cgroup::Selection& selection = planned_.plan.cgroups.selection;
  const cgroup::Verdict verdict = selection.judge(path);
  if (!verdict.is_selected()) return {kNotSelected, {}, cgroup::describe(verdict)};
  if (planned_.plan.counting.cgroup.empty()) {
    return {kNotCounted, {}, "no event can be counted by cgroup; --config.check shows why"};
  }
  const auto inside = selected_.lower_bound(path + "/");
  if (selection.leaves && inside != selected_.end() && inside->first.starts_with(path + "/")) {
    return {kNotSelected, {}, "'nesting: leaves' selects '" + inside->first + "' inside of it"};
  }
  const std::size_t most = planned_.plan.budget.max_path_bytes;
  if (cgroup::is_path_too_long(path, most)) {
    const std::string bytes = std::to_string(most);
    return {kNotCounted, {}, "its path is longer than " + bytes + " bytes (limits.label_length)"};
  }
  return {kNotCounted,
          {},
          "it cannot be read, or it is beyond limits.max_cgroup_directories, or it has just "
          "been created"};
}

std::string path_below(const std::string& mount, const std::string& written) {
  const std::string root = normalized(mount);
  const std::string path = normalized(written);
  if (path == root) return "/";
  if (path.starts_with(root + "/")) return path.substr(root.size());
  const std::size_t begin = std::min(written.find_first_not_of('/'), written.size());
  const std::string below = normalized(written.substr(begin));
  return below.empty() || below == "." ? "/" : "/" + below;
}

}  // namespace pex::daemon
