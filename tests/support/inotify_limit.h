#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "host/roots.h"

namespace pex::test {

constexpr int kNoNamespace = 77;

inline bool write_to(const std::string& file, const std::string& text) {
  return static_cast<bool>(std::ofstream(file) << text << std::flush);
}

/// The file of a limit of inotify that holds for a user namespace alone (user_namespaces(7)).
inline std::string own_limit(const std::string& name) {
  return host::HostRoots{}.sysctl("user/" + name);
}

/// Runs `body` in a process with this limit, so that other tests keep theirs. Returns 0,
/// kNoNamespace where there can be no such process, or another number if an expectation failed.
inline int exit_code_where(const std::string& limit, const std::string& value,
                           const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string map = host::HostRoots{}.procfs + "/self/uid_map";
    const std::string own = "0 " + std::to_string(::getuid()) + " 1";
    if (::unshare(CLONE_NEWUSER) != 0 || !write_to(map, own) ||
        !write_to(own_limit(limit), value)) {
      std::_Exit(kNoNamespace);
    }
    body();
    std::fflush(nullptr);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace pex::test
