#include "host/boot_id.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <string>

#include "base/small_file.h"

namespace pex::host {

double boot_fraction(const HostRoots& roots) {
  const Result<std::string> text = read_small_file(roots.boot_id());
  if (!text) return 0;
  constexpr double kRange = static_cast<double>(std::numeric_limits<std::size_t>::max());
  return static_cast<double>(std::hash<std::string>{}(*text)) / kRange;
}

}  // namespace pex::host
