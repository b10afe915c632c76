#include "cgroup/use/cpu_use.h"

#include <initializer_list>
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

/// The sum of these rows of cpu.stat.
std::optional<std::uint64_t> of_version_2(const std::string& directory,
                                          std::initializer_list<std::string_view> rows) {
  const Result<std::string> text = read_small_file(directory + "/cpu.stat");
  if (!text) return {};
  std::optional<std::uint64_t> sum;
  for (const std::string_view line : split(*text, '\n')) {
    for (const std::string_view row : rows) {
      if (!line.starts_with(row)) continue;
      const auto microseconds = parse_unsigned(line.substr(row.size()));
      if (!microseconds) return {};
      sum = sum.value_or(0) + *microseconds;
    }
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> cpu_use(const Hierarchy& hierarchy, const std::string& path) {
  if (hierarchy.version == Hierarchy::Version::kV2) {
    return path.empty() ? of_version_2(hierarchy.mount, {"user_usec ", "system_usec "})
                        : of_version_2(hierarchy.mount + path, {"usage_usec "});
  }
  if (hierarchy.accounting.empty()) return {};
  return of_version_1(hierarchy.accounting + path);
}

}  // namespace pex::cgroup
