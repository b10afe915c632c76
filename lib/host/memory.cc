#include "host/memory.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "base/small_file.h"
#include "base/text.h"
#include "host/mounts.h"
#include "host/self_process.h"

namespace pex::host {
namespace {

/// The number at the start of `text`, after blanks; nothing for "max".
std::optional<std::uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return {};
  return number;
}

/// Whether `path` is `directory` or below it.
bool is_in(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// The lowest limit in `file` from the cgroup at `path` up to the mount point.
std::optional<std::uint64_t> lowest_limit(const Mount& mount, std::string path, const char* file) {
  if (mount.root != "/" && is_in(path, mount.root)) path.erase(0, mount.root.size());
  std::optional<std::uint64_t> lowest;
  while (true) {
    const Result<std::string> text = read_small_file(mount.point + path + "/" + file);
    const std::optional<std::uint64_t> limit = text ? leading_number(*text) : std::nullopt;
    if (limit && (!lowest || *limit < *lowest)) lowest = limit;
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos) return lowest;
    path.erase(slash);
  }
}

}  // namespace

std::optional<std::uint64_t> total_memory(const HostRoots& roots) {
  const Result<std::string> text = read_small_file(roots.memory());
  if (!text) return {};
  constexpr std::string_view kTotal = "MemTotal:";
  constexpr std::uint64_t kKiB = 1024;
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with(kTotal)) continue;
    const std::optional<std::uint64_t> kibibytes = leading_number(line.substr(kTotal.size()));
    const bool fits = kibibytes && *kibibytes <= std::numeric_limits<std::uint64_t>::max() / kKiB;
    return fits ? std::optional(*kibibytes * kKiB) : std::nullopt;
  }
  return {};
}

std::optional<std::uint64_t> memory_limit(const HostRoots& roots) {
  const Result<std::string> cgroups = read_small_file(roots.own_cgroups());
  const Result<std::vector<Mount>> mounts = read_mounts(roots);
  if (!cgroups || !mounts) return {};
  for (const Mount& mount : *mounts) {
    const bool is_v1 = mount.fs_type == "cgroup" && mount.has_option("memory");
    if (!is_v1 && mount.fs_type != "cgroup2") continue;
    const std::optional<std::string> path = cgroup_of(*cgroups, is_v1 ? "memory" : "");
    if (!path) continue;
    const auto limit = lowest_limit(mount, *path, is_v1 ? "memory.limit_in_bytes" : "memory.max");
    if (limit) return limit;
  }
  return {};
}

}  // namespace pex::host
