#include "host/guest_pmu.h"

#include <array>

#include "base/small_file.h"

namespace pex::host {

std::optional<bool> gives_pmu_to_guests(const HostRoots& roots) {
  static constexpr std::array kModules = {"kvm_intel", "kvm_amd"};
  for (const char* const module : kModules) {
    const Result<std::string> value =
        read_small_file(roots.sysfs + "/module/" + module + "/parameters/enable_mediated_pmu");
    if (value && value->starts_with('Y')) return true;
    if (!value && is_shortage(value.error().code)) return {};
  }
  return false;
}

}  // namespace pex::host
