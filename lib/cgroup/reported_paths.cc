#include "cgroup/reported_paths.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/text.h"

namespace pex::cgroup {
namespace {

/// Of the root of each hierarchy (cgroup_setup_root() of the kernel).
constexpr std::uint64_t kHierarchyRoot = 1;

/// The kernel cuts off longer paths (perf_event_cgroup()).
constexpr std::size_t kMaxReportedBytes = PATH_MAX - sizeof(std::uint64_t) - 1;

/// The reports that wait, at most: some MB, if all of them are as long as can be.
constexpr std::size_t kMaxWaiting = 1024;

/// As the kernel writes the path of a directory. Without memory for it, it writes "//enomem".
bool is_kernel_path(std::string_view path) {
  if (path == "/") return true;
  if (!path.starts_with('/') || path.size() > kMaxReportedBytes) return false;
  if (path.find('\0') != path.npos) return false;
  const std::vector<std::string_view> names = split(path.substr(1), '/');
  return std::none_of(names.begin(), names.end(), [](std::string_view name) {
    return name.empty() || name == "." || name == "..";
  });
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

}  // namespace

std::vector<NamedCgroup> ReportedPaths::take(std::span<const NamedCgroup> reported, Tree& tree,
                                             Clock::time_point now) {
  for (const NamedCgroup& cgroup : reported) {
    if (cgroup.id != 0 && is_kernel_path(cgroup.path)) waiting_.push_back({cgroup, now});
  }
  if (root_id_ != tree.root_inode()) above_.reset();  // another part of the hierarchy
  root_id_ = tree.root_inode();
  if (root_id_ == kHierarchyRoot) above_ = "";
  const std::shared_ptr<const CgroupNames> names = tree.names();
  for (auto each = waiting_.begin(); !above_ && each != waiting_.end(); ++each) {
    learn_path_above(each->cgroup, *names);
  }
  if (above_) return place();
  while (waiting_.size() > kMaxWaiting ||
         (!waiting_.empty() && now - waiting_.front().since >= kMaxWait)) {
    waiting_.pop_front();
  }
  return {};
}

/// The reported path ends with the path that the tree has for its id.
void ReportedPaths::learn_path_above(const NamedCgroup& reported, const CgroupNames& names) {
  if (reported.id == root_id_) above_ = reported.path == "/" ? "" : reported.path;
  const std::string* const known = names.path_of(reported.id);
  if (above_ || known == nullptr || known->ends_with('/')) return;
  if (reported.path.ends_with(*known)) {
    above_ = reported.path.substr(0, reported.path.size() - known->size());
  }
}

std::vector<NamedCgroup> ReportedPaths::place() {
  std::vector<NamedCgroup> placed;
  for (Waiting& each : std::exchange(waiting_, {})) {
    const bool is_cut_off = each.cgroup.path.size() == kMaxReportedBytes;
    std::optional<std::string> path = below_mount(each.cgroup.path);
    if (!path) continue;
    if (is_cut_off) path->resize(path->rfind('/') + 1);
    placed.push_back({each.cgroup.id, std::move(*path)});
  }
  return placed;
}

/// Nothing if it is outside.
std::optional<std::string> ReportedPaths::below_mount(std::string_view path) const {
  if (above_->empty()) return std::string(path);
  if (path == *above_) return "/";
  if (!is_below(path, *above_)) return {};
  return std::string(path.substr(above_->size()));
}

}  // namespace pex::cgroup
