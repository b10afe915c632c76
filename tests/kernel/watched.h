#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

// What the programs that the tests watch have in common. They end at the first failure.

namespace pex::test {

[[noreturn]] inline void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline void join_cgroup(const std::string& directory) {
  const int fd = ::open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, "0", 1) != 1) die("join the cgroup");
  ::close(fd);
}

inline void pin_to(long cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

inline void await_line() {
  for (char c = 0; c != '\n';) {
    if (::read(STDIN_FILENO, &c, 1) != 1) std::exit(1);  // the caller has gone
  }
}

}  // namespace pex::test
