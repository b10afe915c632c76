#include "host/topology.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/small_file.h"
#include "host/cpu_list.h"

namespace pex::host {

Result<std::shared_ptr<const std::vector<int>>> OnlineCpus::read() {
  const auto failed = [this](int code) {
    file_.reset();
    const bool wrong_place = code == ENOENT || code == ENOTDIR || code == EINVAL;
    return Error{code, "read the online CPUs from '" + path_ + "'",
                 wrong_place ? "mount sysfs there, or set " + ProgramTerm::kSysfs + " to its mount"
                             : Remedy()};
  };
  if (!file_) {
    Result<UniqueFd> opened = open_regular_file(path_);
    if (!opened) return failed(opened.error().code);
    file_ = *std::move(opened);
  }

  std::array<char, 4096> text;  // sysfs files have at most one page
  const ssize_t size = ::pread(file_.get(), text.data(), text.size(), 0);
  if (size < 0) return failed(errno);
  std::string_view list{text.data(), static_cast<std::size_t>(size)};
  if (list.ends_with('\n')) list.remove_suffix(1);

  if (cpus_ && list == text_) return cpus_;
  Result<std::vector<int>> cpus = parse_cpu_list(list);
  if (!cpus || cpus->empty()) return failed(EINVAL);
  text_ = list;
  cpus_ = std::make_shared<const std::vector<int>>(*std::move(cpus));
  return cpus_;
}

namespace {

/// Without such a set some kernels have no file, and others a file with "(null)".
Result<std::vector<int>> read_set(const std::string& path) {
  const Result<std::string> text = read_small_file(path);
  if (!text && text.error().code == ENOENT) return std::vector<int>{};
  if (!text) return text.error();
  const std::string list = without_final_newline(*text);
  return list == "(null)" ? std::vector<int>{} : parse_cpu_list(list);
}

}  // namespace

Result<std::vector<int>> present_cpus(const HostRoots& roots) {
  return read_set(roots.present_cpus());
}

Result<std::vector<int>> isolated_cpus(const HostRoots& roots) {
  return read_set(roots.isolated_cpus());
}

Result<std::vector<int>> nohz_full_cpus(const HostRoots& roots) {
  return read_set(roots.nohz_full_cpus());
}

Result<std::vector<int>> online_cpus(const HostRoots& roots) {
  const Result<std::shared_ptr<const std::vector<int>>> cpus = OnlineCpus(roots).read();
  if (!cpus) return cpus.error();
  return **cpus;
}

}  // namespace pex::host
