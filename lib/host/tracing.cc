#include "host/tracing.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/directory.h"
#include "base/small_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "host/mounts.h"

namespace pex::host {
namespace {

namespace fs = std::filesystem;

/// Kernels have some thousands; bounds the work in a broken tree.
constexpr std::size_t kMaxTracepoints = 65'536;

constexpr const char* kHowToMount = "mount -t tracefs tracefs /sys/kernel/tracing";
constexpr const char* kHowToUnlock =
    "none while the kernel is locked down in mode 'confidentiality' (kernel_lockdown(7))";

Remedy how_to_read() {
  return "grant CAP_DAC_READ_SEARCH to " + ProgramTerm::kService +
         ": tracefs is readable by root only; or mount it with the options mode=0750 and gid= of " +
         ProgramTerm::kProgram + "'s group";
}

Remedy how_to_find() {
  return "load the kernel module that has it, or choose one of those that " +
         ProgramTerm::kTracepointList + " shows";
}

Error unreadable(int code, const std::string& what) {
  return Error{code, "read " + what,
               code == EACCES  ? how_to_read()
               : code == EPERM ? kHowToUnlock
                               : Remedy()};
}

bool means_absent(int code) { return code == ENOENT || code == ENOTDIR; }

std::vector<std::string> candidates(const HostRoots& roots) {
  std::vector<std::string> folders = {roots.tracing(), roots.legacy_tracing()};
  if (const Result<std::vector<Mount>> mounts = read_mounts(roots)) {
    for (const Mount& mount : *mounts) {
      if (mount.fs_type == "tracefs") folders.push_back(mount.point);
    }
  }
  return folders;
}

/// 0, or the errno of opening it: access(2) checks the real user and ignores ambient capabilities.
int try_to_open(const std::string& folder) {
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return fd ? 0 : errno;
}

/// Whether a folder can have such a name; false for a path that leads elsewhere.
bool can_be_a_name(std::string_view name) {
  return !name.empty() && name.size() <= NAME_MAX && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Error no_such_tracepoint(const std::string& tracepoint, const std::vector<std::string>& known) {
  const std::optional<std::string> meant = nearest(tracepoint, known);
  return Error{ENOENT, "find the tracepoint '" + tracepoint + "'",
               meant ? "did you mean '" + *meant + "'?" : how_to_find()};
}

std::string spelled(std::string_view system, std::string_view name) {
  return std::string(system) + ":" + std::string(name);
}

std::string id_file(const std::string& tracing, std::string_view system, std::string_view name) {
  return tracing + "/events/" + std::string(system) + "/" + std::string(name) + "/id";
}

/// None if we may not read the folder of that system.
std::vector<std::string> tracepoints_of(const std::string& tracing, const std::string& system) {
  const auto names = list_directory(tracing + "/events/" + system, kMaxTracepoints);
  std::vector<std::string> tracepoints;
  if (!names) return tracepoints;
  for (const std::string& name : *names) {
    std::error_code ignored;
    const bool is_one = fs::exists(id_file(tracing, system, name), ignored);
    if (is_one) tracepoints.push_back(spelled(system, name));
  }
  return tracepoints;
}

}  // namespace

Result<std::string> find_tracing(const HostRoots& roots) {
  std::optional<Error> refused;
  for (const std::string& folder : candidates(roots)) {
    const int code = try_to_open(folder + "/events");
    if (code == 0) return folder;
    if (is_shortage(code)) return unreadable(code, "tracefs in '" + folder + "'");
    if (refused || (code != EACCES && code != EPERM)) continue;
    refused = unreadable(code, "tracefs in '" + folder + "'");
  }
  if (refused) return *refused;
  return Error{ENOENT, "find tracefs, which has the numbers of tracepoints", kHowToMount};
}

Result<std::uint64_t> tracepoint_id(const HostRoots& roots, std::string_view system,
                                    std::string_view name) {
  const Result<std::string> tracing = find_tracing(roots);
  if (!tracing) return tracing.error();

  const std::string tracepoint = spelled(system, name);
  if (!can_be_a_name(system) || !can_be_a_name(name)) return no_such_tracepoint(tracepoint, {});
  const std::string file = id_file(*tracing, system, name);
  Result<std::string> text = read_small_file(file);
  if (!text && means_absent(text.error().code)) {
    const Result<std::vector<std::string>> known = list_tracepoints(roots);
    return no_such_tracepoint(tracepoint, known ? *known : std::vector<std::string>{});
  }
  const std::string what = "tracepoint '" + tracepoint + "' in '" + file + "'";
  if (!text) return unreadable(text.error().code, what);
  const std::optional<std::uint64_t> id = parse_unsigned(without_final_newline(*std::move(text)));
  if (!id) return unreadable(EINVAL, what);
  return *id;
}

Result<std::vector<std::string>> list_tracepoints(const HostRoots& roots) {
  const Result<std::string> tracing = find_tracing(roots);
  if (!tracing) return tracing.error();

  const std::string events = *tracing + "/events";
  const Result<std::vector<std::string>> systems = list_directory(events, kMaxTracepoints);
  if (!systems) return unreadable(systems.error().code, "the tracepoints in '" + events + "'");
  std::vector<std::string> tracepoints;
  for (const std::string& system : *systems) {
    for (std::string& tracepoint : tracepoints_of(*tracing, system)) {
      if (tracepoints.size() == kMaxTracepoints) break;
      tracepoints.push_back(std::move(tracepoint));
    }
  }
  std::sort(tracepoints.begin(), tracepoints.end());
  return tracepoints;
}

}  // namespace pex::host
