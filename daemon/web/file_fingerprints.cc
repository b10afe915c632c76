#include "daemon/web/file_fingerprints.h"

#include <sys/stat.h>

#include <algorithm>

namespace pex::daemon {
namespace {

/// Converts a time; clamps those beyond its range.
long long nanoseconds(const timespec& time) {
  constexpr long long kFarthest = 9'000'000'000;  // seconds: the year 2255
  return std::clamp<long long>(time.tv_sec, -kFarthest, kFarthest) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void FileFingerprints::add(std::string path) {
  const Stamp stamp = read(path);
  files_.emplace_back(std::move(path), stamp);
}

std::vector<std::string> FileFingerprints::paths() const {
  std::vector<std::string> all;
  for (const auto& [path, stamp] : files_) all.push_back(path);
  return all;
}

FileFingerprints FileFingerprints::again() const {
  FileFingerprints now;
  for (const auto& [path, stamp] : files_) now.add(path);
  return now;
}

/// Compares both times: a copy can set one back, and some file systems do not keep the other.
bool FileFingerprints::are_older_than(std::chrono::system_clock::time_point time) const {
  const long long limit =
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  return std::all_of(files_.begin(), files_.end(), [&](const auto& file) {
    const Stamp& stamp = file.second;
    return stamp.bytes >= 0 && stamp.modified_ns < limit && stamp.changed_ns < limit;
  });
}

bool FileFingerprints::are_files_of(const FileFingerprints& other) const {
  return std::equal(files_.begin(), files_.end(), other.files_.begin(), other.files_.end(),
                    [](const auto& file, const auto& of_other) {
                      return file.second.bytes >= 0 &&
                             file.second.device == of_other.second.device &&
                             file.second.inode == of_other.second.inode;
                    });
}

bool FileFingerprints::are_as_written() const {
  return std::all_of(files_.begin(), files_.end(), [](const auto& file) {
    return file.second.bytes >= 0 && file.second.modified_ns >= file.second.changed_ns;
  });
}

FileFingerprints::Stamp FileFingerprints::read(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return {};
  return {now.st_dev, now.st_ino, now.st_size, nanoseconds(now.st_mtim), nanoseconds(now.st_ctim)};
}

}  // namespace pex::daemon
