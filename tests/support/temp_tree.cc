#include "support/temp_tree.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace pex::test {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failed(const char* what, const std::string& path) {
  throw fs::filesystem_error(what, path, std::error_code(errno, std::generic_category()));
}

}  // namespace

TempTree::TempTree(std::initializer_list<Entry> entries)
    : root_((fs::temp_directory_path() / "pex_test_XXXXXX").string()) {
  if (::mkdtemp(root_.data()) == nullptr) failed("make a temporary directory", root_);
  for (const Entry& entry : entries) {
    if (entry.path.ends_with('/')) {
      make_directory(entry.path);
    } else {
      write(entry.path, entry.content);
    }
  }
}

TempTree::~TempTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string TempTree::path(std::string_view below) const {
  below.remove_prefix(below.starts_with('/') ? 1 : 0);
  below.remove_suffix(below.ends_with('/') ? 1 : 0);
  return below.empty() ? root_ : root_ + "/" + std::string(below);
}

void TempTree::write(std::string_view file, std::string_view content) {
  fs::create_directories(fs::path(path(file)).parent_path());
  std::ofstream stream(path(file), std::ios::binary | std::ios::trunc);
  stream << content << std::flush;
  if (!stream) failed("write a file", path(file));
}

void TempTree::make_directory(std::string_view directory) {
  fs::create_directories(path(directory));
}

void TempTree::remove(std::string_view below) {
  if (fs::remove_all(path(below)) == 0) {
    errno = ENOENT;
    failed("remove", path(below));
  }
}

void TempTree::rename(std::string_view from, std::string_view to) {
  fs::rename(path(from), path(to));
}

}  // namespace pex::test
