#include "cgroup/use/cpu_use.h"

#include <optional>
#include <string_view>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::cgroup {
namespace {

std::optional<std::uint64_t> of_version_1(const std::string& directory) {
  const Result<std::string> text = read_small_file(directory + "/cpuacct.usage");
  if (!text) return {};
  constexpr std::uint64_t kNanosecondsEach = 1000;
  const auto nanoseconds = parse_unsigned(without_final_newline(*text));
  if (!nanoseconds) return {};
  return *nanoseconds / kNanosecondsEach;
}

std::optional<std::uint64_t> of_version_2(const std::string& directory) {
  static constexpr std::string_view kUsage = "usage_usec ";
  const Result<std::string> text = read_small_file(directory + "/cpu.stat");
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with(kUsage)) return parse_unsigned(line.substr(kUsage.size()));
  }
  return {};
}

}  // namespace

std::optional<std::uint64_t> cpu_use(const Hierarchy& hierarchy, const std::string& path) {
  if (hierarchy.version == Hierarchy::Version::kV2) return of_version_2(hierarchy.mount + path);
  if (hierarchy.accounting.empty()) return {};
  return of_version_1(hierarchy.accounting + path);
}

}  // namespace pex::cgroup
