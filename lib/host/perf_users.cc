#include "host/perf_users.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <string_view>

#include "base/directory.h"
#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

bool is_perf_event(const std::string& link) {
  constexpr std::string_view kTarget = "anon_inode:[perf_event]";
  char target[64];
  const ssize_t bytes = ::readlink(link.c_str(), target, sizeof target);
  return bytes > 0 && std::string_view(target, static_cast<std::size_t>(bytes)) == kTarget;
}

}  // namespace

PerfUsers find_perf_users(const HostRoots& roots) {
  PerfUsers found;
  const Result<std::vector<std::string>> processes = list_directory(roots.procfs, kAll);
  if (!processes) return {{}, 1};
  for (const std::string& name : *processes) {
    const std::optional<std::uint64_t> pid = parse_unsigned(name);
    if (!pid || *pid == static_cast<std::uint64_t>(::getpid())) continue;
    const std::string process = roots.procfs + "/" + name;
    const Result<std::vector<std::string>> fds = list_directory(process + "/fd", kAll);
    if (!fds) {  // it may have ended meanwhile
      found.unreadable += fds.error().code == EACCES || fds.error().code == EPERM ? 1 : 0;
      continue;
    }
    const auto events = std::count_if(fds->begin(), fds->end(), [&](const std::string& fd) {
      return is_perf_event(process + "/fd/" + fd);
    });
    if (events == 0) continue;
    const Result<std::string> comm = read_small_file(process + "/comm");
    found.users.push_back({static_cast<int>(*pid), comm ? without_final_newline(*comm) : "",
                           static_cast<std::size_t>(events)});
  }
  std::stable_sort(found.users.begin(), found.users.end(),
                   [](const PerfUser& a, const PerfUser& b) { return a.events > b.events; });
  return found;
}

}  // namespace pex::host
