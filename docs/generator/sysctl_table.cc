#include <cstdint>
#include <limits>
#include <string>

#include "abi/sysctls.h"
#include "markdown.h"
#include "sections.h"

namespace pex::docs {
namespace {

std::string number_words(const perf::SysctlRange& range) {
  const std::string from = std::to_string(range.from);
  if (range.from == range.to) return from;
  if (range.to == std::numeric_limits<std::int64_t>::max()) return from + " and more";
  return from + " to " + std::to_string(range.to);
}

}  // namespace

std::string sysctl_values_table() {
  std::string text = table_head({"setting", "value", "meaning", "consequence", "remedy"});
  for (const perf::SysctlEntry& entry : perf::sysctls()) {
    for (const perf::SysctlRange& range : entry.ranges) {
      text += table_row(
          {code(entry.name), number_words(range), range.words, range.consequence, range.remedy});
    }
  }
  return text;
}

}  // namespace pex::docs
