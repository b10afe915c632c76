#include "host/topology.h"

#include <cerrno>

#include "base/small_file.h"
#include "host/cpu_list.h"

namespace pex::host {

Result<std::vector<int>> online_cpus(const HostRoots& roots) {
  const auto failed = [&roots](int code) {
    const bool wrong_place = code == ENOENT || code == ENOTDIR || code == EINVAL;
    return Error{code, "read the online CPUs from '" + roots.online_cpus() + "'",
                 wrong_place ? "mount sysfs there, or say with --path.sysfs where it is" : ""};
  };
  const Result<std::string> text = read_small_file(roots.online_cpus());
  if (!text) return failed(text.error().code);

  Result<std::vector<int>> cpus = parse_cpu_list(without_final_newline(*text));
  if (!cpus || cpus->empty()) return failed(EINVAL);
  return cpus;
}

}  // namespace pex::host
