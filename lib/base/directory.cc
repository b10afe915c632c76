#include "base/directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace pex {

Result<std::vector<std::string>> list_directory(const std::string& path, std::size_t most) {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator entry{path, code}, end;
       !code && entry != end && names.size() < most; entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) return Error{code.value(), "read the directory '" + path + "'", {}};
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace pex
