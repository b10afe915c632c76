#include "host/mounts.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

constexpr std::size_t kMaxMountTable =
    16 * 1024 * 1024;  // container hosts have thousands of mounts

bool is_octal(char c) { return c >= '0' && c <= '7'; }

/// The kernel writes blank, tab, line break and backslash as \ooo.
std::string without_octal_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue": any number of
/// optional fields precedes the lone dash.
std::optional<Mount> parse_mount(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 4) return {};
  if (fields[3].empty() || fields[4].empty()) return {};
  return Mount{without_octal_escapes(fields[3]), without_octal_escapes(fields[4]),
               std::string(dash[1]), std::string(dash[3]), std::string(fields[0])};
}

}  // namespace

bool Mount::has_option(std::string_view option) const {
  const std::vector<std::string_view> all = split(options, ',');
  return std::find(all.begin(), all.end(), option) != all.end();
}

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(text, '\n')) {
    if (std::optional<Mount> mount = parse_mount(line)) mounts.push_back(std::move(*mount));
  }
  return mounts;
}

Result<std::vector<Mount>> read_mounts(const HostRoots& roots) {
  const Result<std::string> text = read_small_file(roots.mounts(), kMaxMountTable);
  if (!text) {
    const int code = text.error().code;
    const bool wrong_place = code == ENOENT || code == ENOTDIR;
    return Error{code, "read the mount table '" + roots.mounts() + "'",
                 wrong_place
                     ? "mount procfs there, or set " + ProgramTerm::kProcfs + " to its mount"
                     : Remedy()};
  }
  return parse_mounts(*text);
}

std::optional<Mount> mount_of_file(const HostRoots& roots, const std::string& path) {
  std::error_code failed;
  const std::string file = std::filesystem::canonical(path, failed).string() + "/";
  const Result<std::vector<Mount>> mounts = read_mounts(roots);
  if (failed || !mounts) return {};
  std::optional<Mount> found;
  for (const Mount& mount : *mounts) {
    const bool has_file = mount.point != "/" && file.starts_with(mount.point + "/");
    const bool is_inner = !found || mount.point.size() >= found->point.size();
    if (has_file && is_inner) found = mount;
  }
  return found;
}

std::optional<Error> renamed_since(const std::optional<Mount>& before, const HostRoots& roots,
                                   const std::string& path, std::string_view noun) {
  const std::optional<Mount> now = before ? mount_of_file(roots, path) : std::nullopt;
  if (!now || now->id != before->id || now->root == before->root) return {};
  const bool has_name = !now->root.ends_with("//deleted");  // proc_pid_mountinfo(5)
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(now->point, ignored);
  return Error{0,
               "read " + std::string(noun) + " '" + path +
                   "': " + (is_directory ? "its directory" : "it") +
                   " was replaced or deleted where it is mounted from" +
                   (has_name ? ", and is called '" + now->root + "' there" : ""),
               is_directory ? "restart, which mounts the new directory; next time replace the file "
                              "in the directory"
                            : "mount the directory of the file, not the file alone: a mount of a "
                              "file keeps the old one"};
}

}  // namespace pex::host
