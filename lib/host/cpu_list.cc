#include "host/cpu_list.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"

namespace pex::host {
namespace {

/// Far above any kernel's NR_CPUS (8192); bounds what a broken file can make us allocate.
constexpr std::uint64_t kHighestCpu = 65'535;

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  if (trim(text).empty()) return cpus;

  for (const std::string_view piece : split(trim(text), ',')) {
    const std::size_t dash = piece.find('-');
    const std::optional<std::uint64_t> first = parse_unsigned(piece.substr(0, dash));
    const std::optional<std::uint64_t> last =
        dash == std::string_view::npos ? first : parse_unsigned(piece.substr(dash + 1));
    if (!first || !last || *first > *last || *last > kHighestCpu ||
        cpus.size() + (*last - *first) > kHighestCpu) {  // an endless repetition
      return Error{EINVAL, "read '" + std::string(text) + "' as a list of CPUs", {}};
    }
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::string name_cpus(const std::vector<int>& cpus) {
  return (cpus.size() == 1 ? "CPU " : "CPUs ") + format_cpu_list(cpus);
}

}  // namespace pex::host
