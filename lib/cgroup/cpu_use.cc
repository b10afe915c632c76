#include "cgroup/cpu_use.h"

#include <optional>
#include <string_view>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::cgroup {
namespace {

std::uint64_t of_version_1(const std::string& directory) {
  const Result<std::string> text = read_small_file(directory + "/cpuacct.usage");
  if (!text) return 0;
  constexpr std::uint64_t kNanosecondsEach = 1000;
  return parse_unsigned(without_final_newline(*text)).value_or(0) / kNanosecondsEach;
}

std::uint64_t of_version_2(const std::string& directory) {
  static constexpr std::string_view kUsage = "usage_usec ";
  const Result<std::string> text = read_small_file(directory + "/cpu.stat");
  if (!text) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with(kUsage)) return parse_unsigned(line.substr(kUsage.size())).value_or(0);
  }
  return 0;
}

}  // namespace

std::uint64_t cpu_use(const Hierarchy& hierarchy, const std::string& path) {
  if (hierarchy.version == Hierarchy::Version::kV2) return of_version_2(hierarchy.mount + path);
  return hierarchy.accounting.empty() ? 0 : of_version_1(hierarchy.accounting + path);
}

}  // namespace pex::cgroup
