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

bool is_refusal(int code) { return code == EACCES || code == EPERM; }

enum class Link { kPerfEvent, kOther, kRefused };

Link kind_of(const std::string& link) {
  constexpr std::string_view kTarget = "anon_inode:[perf_event]";
  char target[64];
  const ssize_t bytes = ::readlink(link.c_str(), target, sizeof target);
  if (bytes < 0) return is_refusal(errno) ? Link::kRefused : Link::kOther;  // it may be closed
  const bool is_event = std::string_view(target, static_cast<std::size_t>(bytes)) == kTarget;
  return is_event ? Link::kPerfEvent : Link::kOther;
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
      found.unreadable += is_refusal(fds.error().code) ? 1 : 0;
      continue;
    }
    std::size_t events = 0;
    bool is_refused = false;  // the list may be read by more users than the links are
    for (const std::string& fd : *fds) {
      const Link link = kind_of(process + "/fd/" + fd);
      events += link == Link::kPerfEvent ? 1 : 0;
      is_refused = is_refused || link == Link::kRefused;
    }
    found.unreadable += is_refused ? 1 : 0;
    if (events == 0) continue;
    const Result<std::string> comm = read_small_file(process + "/comm");
    found.users.push_back(
        {static_cast<int>(*pid), comm ? without_final_newline(*comm) : "", events});
  }
  std::stable_sort(found.users.begin(), found.users.end(),
                   [](const PerfUser& a, const PerfUser& b) { return a.events > b.events; });
  return found;
}

}  // namespace pex::host
