// Cgroups that live for about a millisecond, with work of a known size in each.
//
//   brief CGROUP_DIRECTORY CPU NUMBER PAGES [PAUSE_US]
//
// On one CPU, NUMBER times: makes a cgroup below the directory, starts a process in it that touches
// PAGES new pages and ends, removes the cgroup, and waits for PAUSE_US. The process is in its
// cgroup from its first instruction on (CLONE_INTO_CGROUP, which only version 2 has). Prints what
// the kernel charged to all these processes: lives=NUMBER minflt=FAULTS. Ends with 77 where the
// kernel cannot do that.

#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "watched.h"

namespace {

using namespace pex::test;

constexpr int kCannot = 77;

pid_t fork_into(int cgroup_fd) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

[[noreturn]] void touch_new_pages(long pages) {
  const long page_size = ::sysconf(_SC_PAGESIZE);
  const auto bytes = static_cast<std::size_t>(pages * page_size);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  auto* const first = static_cast<volatile char*>(memory);
  for (long page = 0; page < pages; ++page) first[page * page_size] = 1;
  ::_exit(0);
}

/// Its page faults.
long live(const std::string& directory, long pages) {
  if (::mkdir(directory.c_str(), 0755) != 0) die("mkdir");
  const int cgroup = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup < 0) die("open the cgroup");
  const pid_t child = fork_into(cgroup);
  if (child == 0) touch_new_pages(pages);
  const int code = errno;
  ::close(cgroup);
  int status = 0;
  rusage usage{};
  if (child > 0 && ::wait4(child, &status, 0, &usage) != child) die("wait4");
  if (::rmdir(directory.c_str()) != 0) die("rmdir");
  if (child < 0) {
    const bool is_unknown = code == ENOSYS || code == EBADF || code == EOPNOTSUPP;
    std::fprintf(stderr, "no process can be started in a cgroup: errno %d\n", code);
    std::exit(is_unknown ? kCannot : 1);
  }
  if (status != 0) die("the process in the cgroup");
  return usage.ru_minflt;
}

void pause_for(long us) {
  const timespec pause{us / 1'000'000, us % 1'000'000 * 1000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: brief CGROUP_DIRECTORY CPU NUMBER PAGES [PAUSE_US]\n", stderr);
    return 2;
  }
  pin_to(std::atol(argv[2]));
  const long number = std::atol(argv[3]);
  const long pages = std::atol(argv[4]);
  const long pause = argc > 5 ? std::atol(argv[5]) : 0;
  long faults = 0;
  for (long life = 0; life < number; ++life) {
    faults += live(std::string(argv[1]) + "/brief-" + std::to_string(life), pages);
    if (pause > 0) pause_for(pause);
  }
  std::printf("lives=%ld minflt=%ld\n", number, faults);
  return 0;
}
