#include "daemon/file_stamps.h"

#include <sys/stat.h>

#include <algorithm>

namespace pex::daemon {
namespace {

long long nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

}  // namespace

void FileStamps::add(std::string path) {
  const Stamp stamp = read(path);
  files_.emplace_back(std::move(path), stamp);
}

bool FileStamps::have_changed() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& file) { return read(file.first) != file.second; });
}

FileStamps::Stamp FileStamps::read(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return {};
  return {now.st_dev, now.st_ino, now.st_size, nanoseconds(now.st_mtim), nanoseconds(now.st_ctim)};
}

}  // namespace pex::daemon
