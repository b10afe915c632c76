#include "daemon/web/exposed_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace pex::daemon {
namespace {

bool lets_others(const std::filesystem::path& path, mode_t permission) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & permission) != 0;
}

}  // namespace

bool is_readable_by_all(const std::string& file) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(file, failed);
  if (failed || !lets_others(real, S_IROTH)) return false;
  for (std::filesystem::path above = real.parent_path();; above = above.parent_path()) {
    if (!lets_others(above, S_IXOTH)) return false;
    if (above == above.parent_path()) return true;
  }
}

}  // namespace pex::daemon
