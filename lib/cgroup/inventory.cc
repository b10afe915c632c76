#include "cgroup/inventory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace pex::cgroup {
namespace {

namespace fs = std::filesystem;

void add_below(const std::string& mount, const std::string& path, std::vector<std::string>& all) {
  std::error_code failed;
  for (fs::directory_iterator at(mount + path, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    if (!fs::is_directory(at->symlink_status(gone))) continue;
    all.push_back(path + "/" + at->path().filename().string());
    add_below(mount, std::string(all.back()), all);
  }
}

}  // namespace

std::vector<std::string> all_cgroups(const std::string& mount) {
  std::vector<std::string> all;
  add_below(mount, "", all);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace pex::cgroup
