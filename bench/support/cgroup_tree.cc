#include "bench/support/cgroup_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/unique_fd.h"
#include "cgroup/hierarchy.h"

namespace pex::bench {
namespace {

using namespace std::chrono_literals;

Result<> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return {};
  return Error{errno, "make cgroup '" + path + "'", "run as root, where the tree is writable"};
}

}  // namespace

void remove_cgroup(const std::string& directory) {
  for (int tries = 0; ::rmdir(directory.c_str()) != 0; ++tries) {
    if (errno != EBUSY || tries == 100) return std::perror(("remove " + directory).c_str());
    std::this_thread::sleep_for(10ms);
  }
}

Result<> move_to_cgroup(const std::string& directory, pid_t process) {
  const std::string path = directory + "/cgroup.procs";
  const std::string number = std::to_string(process);
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (file && ::write(file.get(), number.data(), number.size()) > 0) return {};
  return Error{errno, "move a process to cgroup '" + directory + "'", "run as root"};
}

Result<CgroupTree> CgroupTree::make(const host::HostRoots& roots, std::size_t cgroups) {
  CgroupTree tree;
  if (cgroups == 0) return tree;
  const Result<std::optional<cgroup::Hierarchy>> hierarchy = cgroup::find_hierarchy(roots);
  if (!hierarchy) return hierarchy.error();
  if (!*hierarchy) return Error{0, "find a cgroup hierarchy with perf_event", "mount cgroup2"};

  tree.name_ = "/pex_bench." + std::to_string(::getpid());
  const std::string top = (*hierarchy)->mount + tree.name_;
  if (const Result<> made = make_directory(top); !made) return made.error();
  tree.made_.push_back(top);
  for (std::size_t number = 0; number < cgroups; ++number) {
    const std::string directory = top + "/workload-" + std::to_string(number) + ".service";
    if (const Result<> made = make_directory(directory); !made) return made.error();
    tree.made_.push_back(directory);
  }
  return tree;
}

CgroupTree::~CgroupTree() {
  for (; !made_.empty(); made_.pop_back()) remove_cgroup(made_.back());
}

}  // namespace pex::bench
