#include "host/process.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

/// Fields of proc_pid_stat(5), counted behind the name of the program, which may have blanks.
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;
constexpr std::chrono::milliseconds kTick{10};  // USER_HZ is 100 on every architecture
constexpr auto kMaxTicks = static_cast<std::uint64_t>(std::chrono::nanoseconds::max() / kTick);

std::optional<std::uint64_t> ticks_of(std::string_view status) {
  const std::size_t name_end = status.rfind(") ");
  if (name_end == std::string_view::npos) return {};
  const std::vector<std::string_view> fields = split(status.substr(name_end + 2), ' ');
  if (fields.size() <= kSystemTicks) return {};
  const std::optional<std::uint64_t> user = parse_unsigned(fields[kUserTicks]);
  const std::optional<std::uint64_t> system = parse_unsigned(fields[kSystemTicks]);
  if (!user || !system || *user > kMaxTicks || *system > kMaxTicks - *user) return {};
  return *user + *system;
}

}  // namespace

UniqueFd watch_process(int pid) {
  return UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

bool process_exists(int pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

bool is_of_this_user(int pid) {
  struct stat status {};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 &&
         status.st_uid == ::getuid();
}

Result<std::chrono::nanoseconds> cpu_time(const HostRoots& roots, int pid) {
  const std::string file = roots.procfs + "/" + std::to_string(pid) + "/stat";
  const Result<std::string> status = read_small_file(file);
  if (!status) return status.error();
  const std::optional<std::uint64_t> ticks = ticks_of(*status);
  if (!ticks) return Error{EINVAL, "read the CPU time in " + file, {}};
  return std::chrono::nanoseconds{kTick} * static_cast<std::int64_t>(*ticks);
}

}  // namespace pex::host
