#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace pex {
namespace {

struct KindEntry {
  mode_t format;  ///< st_mode & S_IFMT
  std::string_view name;
};
/// Files that can be opened and must not be: a read would wait for another process, or never end.
constexpr KindEntry kRefusedKinds[] = {
    {S_IFIFO, "a FIFO or pipe"},
    {S_IFSOCK, "a socket"},
    {S_IFCHR, "a character device"},
    {S_IFBLK, "a block device"},
};
constexpr const char* kKindRemedy = "write its content into a regular file, and name that file";

std::string attempt(const std::string& path, std::string_view noun) {
  return "read " + std::string(noun) + (noun.empty() ? "'" : " '") + path + "'";
}

Result<> check_kind(const struct stat& status, const std::string& path, std::string_view noun) {
  if (S_ISDIR(status.st_mode)) return Error{EISDIR, attempt(path, noun), {}};
  for (const KindEntry& kind : kRefusedKinds) {
    if ((status.st_mode & S_IFMT) != kind.format) continue;
    return Error{EINVAL, attempt(path, noun) + ", which is " + std::string(kind.name), kKindRemedy};
  }
  return {};
}

/// A mount of one file, which has no name left where it is mounted from. Other files without a
/// name, as in memory or behind /proc/self/fd, are what they are meant to be. Linux before 5.8 does
/// not say what is a mount (statx(2)).
bool is_gone_behind_its_mount(const UniqueFd& fd) {
  struct statx status {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_NLINK, &status) != 0) return false;
  const bool is_mount = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return status.stx_nlink == 0 && is_mount;
}
constexpr const char* kMountRemedy =
    "mount the directory of the file, not the file alone: a mount of a file keeps the old one";

/// From the beginning to the end. `failed` makes the error of an errno.
template <typename Failed>
Result<std::string> read_all(const UniqueFd& fd, std::size_t max_bytes, Failed failed) {
  std::string content;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
    if (content.size() > max_bytes) return failed(EFBIG);
  }
}

}  // namespace

/// The kind is also checked before opening, because opening a device can have side effects: a
/// watchdog starts, a tape rewinds. O_NONBLOCK is for a file that replaces it in between.
Result<UniqueFd> open_regular_file(const std::string& path, std::string_view noun) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (auto checked = check_kind(status, path, noun); !checked) return checked.error();
  }
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!fd || ::fstat(fd.get(), &status) != 0) return Error{errno, attempt(path, noun), {}};
  if (auto checked = check_kind(status, path, noun); !checked) return checked.error();
  if (!noun.empty() && is_gone_behind_its_mount(fd)) {
    return Error{0,
                 attempt(path, noun) + ", which was replaced or deleted where it is mounted from",
                 kMountRemedy};
  }
  return fd;
}

Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes,
                                    std::string_view noun) {
  const auto failed = [&](int code) { return Error{code, attempt(path, noun), {}}; };

  const Result<UniqueFd> fd = open_regular_file(path, noun);
  if (!fd) return fd.error();
  Result<std::string> content = read_all(*fd, max_bytes, failed);
  if (!content || noun.empty()) return content;
  if (::lseek(fd->get(), 0, SEEK_SET) != 0) return failed(errno);
  const Result<std::string> again = read_all(*fd, max_bytes, failed);
  if (again && *again == *content) return content;
  return Error{0, attempt(path, noun) + ", which is written to at the moment",
               "write another file, and rename it to this one"};
}

std::string without_final_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pex
