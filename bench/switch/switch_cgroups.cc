#include "bench/switch/switch_cgroups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace pex::bench {
namespace {

constexpr const char* kInside[] = {"/pod", "/pod/ping.scope", "/pod/pong.scope"};

/// Match the decimal numbers from 1 to `last`, in few patterns: a configuration may have 256.
std::vector<std::string> globs_of_numbers(std::size_t last) {
  const std::string digits = std::to_string(last);
  std::vector<std::string> globs;
  for (std::size_t length = 1; length < digits.size(); ++length) {
    for (char first = '1'; first <= '9'; ++first) {
      globs.push_back(first + std::string(length - 1, '?'));
    }
  }
  for (std::size_t at = 0; at < digits.size(); ++at) {
    for (char digit = at == 0 ? '1' : '0'; digit < digits[at]; ++digit) {
      globs.push_back(digits.substr(0, at) + digit + std::string(digits.size() - at - 1, '?'));
    }
  }
  if (last > 0) globs.push_back(digits);
  return globs;
}

}  // namespace

Result<SwitchCgroups> SwitchCgroups::make(const host::HostRoots& roots, std::size_t others) {
  Result<CgroupTree> tree = CgroupTree::make(roots, 1 + others);
  if (!tree) return tree.error();
  SwitchCgroups cgroups{std::move(*tree)};
  for (const char* name : kInside) {
    const std::string directory = cgroups.tree_.directory(0) + name;
    if (::mkdir(directory.c_str(), 0755) != 0) {
      return Error{errno, "make cgroup '" + directory + "'", {}};
    }
    cgroups.made_.push_back(directory);
  }
  return cgroups;
}

SwitchCgroups::~SwitchCgroups() {
  for (; !made_.empty(); made_.pop_back()) remove_cgroup(made_.back());
}

std::string SwitchCgroups::top() const {
  const std::string all = tree_.glob();
  return all.substr(0, all.rfind('/'));
}

std::string SwitchCgroups::path(const std::string& directory) const {
  return directory.substr(directory.rfind(top() + "/"));
}

std::vector<std::string> SwitchCgroups::the_two() const { return {path(made_[1]), path(made_[2])}; }

std::vector<std::string> SwitchCgroups::others(std::size_t number) const {
  std::vector<std::string> globs;
  for (const std::string& numbers : globs_of_numbers(number)) {
    globs.push_back(top() + "/workload-" + numbers + ".service");
  }
  return globs;
}

std::vector<std::string> SwitchCgroups::ancestors() const {
  return {top(), path(tree_.directory(0)), path(made_[0])};
}

}  // namespace pex::bench
