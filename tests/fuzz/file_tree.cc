#include "fuzz/file_tree.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace pex::fuzz {
namespace {

constexpr std::string_view kMark = "=== ";
constexpr std::string_view kRoot = "@ROOT@";
constexpr std::size_t kMaxPath = 200;

bool is_part(std::string_view part) {
  const auto is_plain = [](char c) { return c > ' ' && c <= '~' && c != '\\'; };
  return !part.empty() && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), is_plain);
}

bool is_inside(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  const auto parts = split(path, '/');
  return path.size() <= kMaxPath && std::all_of(parts.begin(), parts.end(), is_part);
}

std::string with_root(std::string_view content, const std::string& root) {
  std::string text(content);
  for (std::size_t at = 0; (at = text.find(kRoot, at)) != text.npos; at += root.size()) {
    text.replace(at, kRoot.size(), root);
  }
  return text;
}

}  // namespace

FileTree::FileTree(std::string_view input) {
  while (input.starts_with(kMark) && files_.size() < kMaxFiles) {
    const std::size_t line = std::min(input.find('\n'), input.size());
    const std::size_t end = std::min(input.find("\n" + std::string(kMark), line), input.size());
    const std::string_view path = input.substr(kMark.size(), line - kMark.size());
    if (is_inside(path)) write(path, end > line ? input.substr(line + 1, end - line) : "");
    input.remove_prefix(std::min(end + 1, input.size()));
  }
}

void FileTree::write(std::string_view path, std::string_view content) {
  const std::string text = with_root(content, root());
  try {
    if (path.ends_with('/')) {
      tree_.make_directory(path);
    } else {
      tree_.write(path, text);
      files_[std::string(path)] = text;
    }
  } catch (const std::filesystem::filesystem_error&) {  // a file is in the place of a directory
  }
}

std::string FileTree::content(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? std::string() : found->second;
}

host::HostRoots FileTree::roots() const {
  return {.sysfs = root() + "/sys", .procfs = root() + "/proc", .cgroupfs = {}};
}

}  // namespace pex::fuzz
