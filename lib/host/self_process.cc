#include "host/self_process.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr const char* kStat = "/proc/self/stat";    // expensive: the kernel walks all threads
constexpr const char* kStatm = "/proc/self/statm";  // cheap
constexpr const char* kOpenFds = "/proc/self/fd";
constexpr const char* kThreadSchedstat = "/proc/thread-self/schedstat";
constexpr const char* kCgroups = "/proc/self/cgroup";

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double clock_seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return seconds(now);
}

/// Field 22 of proc_pid_stat(5), in ticks since boot; 0 if it cannot be read. The second field is
/// the program's name in parentheses and may contain anything, so fields are counted from its end.
std::uint64_t start_ticks() {
  const Result<std::string> stat = read_small_file(kStat);
  if (!stat || stat->rfind(')') == std::string::npos) return 0;
  const std::vector<std::string_view> from_third =
      split(std::string_view(*stat).substr(stat->rfind(')') + 2), ' ');
  return from_third.size() < 20 ? 0 : parse_unsigned(from_third[22 - 3]).value_or(0);
}

BootClock::time_point start_time() {
  const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return BootClock::time_point{
      std::chrono::nanoseconds{start_ticks() * (1'000'000'000 / ticks_per_second)}};
}

}  // namespace

/// The size of the directory, which is 0 on older kernels.
std::optional<std::uint64_t> reported_open_fds() {
  struct stat status {};
  if (::stat(kOpenFds, &status) != 0 || status.st_size <= 0) return {};
  return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::uint64_t> list_open_fds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory{::opendir(kOpenFds), &::closedir};
  if (!directory) return {};
  std::uint64_t entries = 0;
  while (::readdir(directory.get()) != nullptr) ++entries;
  return entries - 3;  // ".", ".." and the directory itself
}

std::string path_of_open_file(int descriptor) {
  return std::string(kOpenFds) + "/" + std::to_string(descriptor);
}

/// Its lines are "4:perf_event:/a" in version 1 and "0::/a" in version 2; a path may contain ':'.
std::optional<std::string> cgroup_of(std::string_view cgroups, std::string_view controller) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos || second + 1 == line.size()) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    if (std::find(controllers.begin(), controllers.end(), controller) == controllers.end())
      continue;
    return std::string(line.substr(second + 1));
  }
  return {};
}

std::optional<std::string> perf_cgroup_of(std::string_view cgroups) {
  std::optional<std::string> of_version_1 = cgroup_of(cgroups, "perf_event");
  return of_version_1 ? of_version_1 : cgroup_of(cgroups, "");
}

std::optional<std::string> self_perf_cgroup() {
  const Result<std::string> cgroups = read_small_file(kCgroups);
  return cgroups ? perf_cgroup_of(*cgroups) : std::nullopt;
}

bool has_rights_by_its_file() { return ::getauxval(AT_SECURE) != 0; }

namespace {

constexpr std::size_t kMaxCpus = 65'536;

/// Takes no memory: CPU_ALLOC(3) is nullptr where that is short.
class CpuSet {
 public:
  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  std::size_t size() const { return sizeof words_; }

 private:
  std::array<unsigned long, CPU_ALLOC_SIZE(kMaxCpus) / sizeof(unsigned long)> words_ = {};
};

/// The main thread is never bound here.
bool may_main_thread_run_on(int cpu) {
  CpuSet set;
  const bool is_known = ::sched_getaffinity(::getpid(), set.size(), set.get()) == 0;
  return !is_known || CPU_ISSET_S(static_cast<std::size_t>(cpu), set.size(), set.get()) != 0;
}

}  // namespace

bool bind_thread_to(int cpu) {
  if (!may_main_thread_run_on(cpu)) return false;
  CpuSet set;
  CPU_SET_S(static_cast<std::size_t>(cpu), set.size(), set.get());
  return ::sched_setaffinity(0, set.size(), set.get()) == 0;
}

bool move_thread_off(pthread_t thread, int cpu) {
  CpuSet set;
  if (::sched_getaffinity(0, set.size(), set.get()) != 0) return false;
  CPU_CLR_S(static_cast<std::size_t>(cpu), set.size(), set.get());
  return CPU_COUNT_S(set.size(), set.get()) > 0 &&
         ::pthread_setaffinity_np(thread, set.size(), set.get()) == 0;
}

Remedy thread_remedy() {
  for (const auto memory : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    ::getrlimit(memory, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) continue;
    return "raise the limit of memory: LimitAS= or LimitDATA= in the unit, or ulimit -v or -d";
  }
  return "raise " + ProgramTerm::kTaskLimit + ", or the container's limit on processes (pids.max)";
}

SelfProcessReader::SelfProcessReader() : statm_(open_regular_file(kStatm)) {}

Result<SelfProcess> SelfProcessReader::read() {
  if (!statm_) statm_ = open_regular_file(kStatm);
  if (!statm_) return statm_.error();
  std::array<char, 256> text;  // seven numbers
  const ssize_t size = ::pread(statm_->get(), text.data(), text.size(), 0);
  if (size < 0) return Error{errno, std::string("read '") + kStatm + "'", {}};
  const std::vector<std::string_view> pages =
      split({text.data(), static_cast<std::size_t>(size)}, ' ');
  if (pages.size() < 2) return Error{EINVAL, std::string("understand '") + kStatm + "'", {}};
  static const BootClock::time_point started = start_time();  // it does not change
  static const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  SelfProcess own;
  own.open_fds = reported_open_fds();
  own.cpu_seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  own.started = started;
  own.max_fds = limit.rlim_cur;
  own.resident_bytes = parse_unsigned(pages[1]).value_or(0) * page_size;
  return own;
}

std::chrono::nanoseconds ThreadWait::read() {
  if (!file_) file_ = open_regular_file(kThreadSchedstat);
  if (!*file_) return {};
  std::array<char, 96> text;  // three numbers
  const ssize_t size = ::pread((*file_)->get(), text.data(), text.size(), 0);
  if (size <= 0) return {};
  const std::vector<std::string_view> numbers =
      split({text.data(), static_cast<std::size_t>(size)}, ' ');
  const auto waited = numbers.size() < 2 ? std::nullopt : parse_unsigned(numbers[1]);
  return std::chrono::nanoseconds{static_cast<std::int64_t>(waited.value_or(0))};
}

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

std::uint64_t raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur == limit.rlim_max) return limit.rlim_cur;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

}  // namespace pex::host
