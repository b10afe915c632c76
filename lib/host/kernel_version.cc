#include "host/kernel_version.h"

#include <sys/utsname.h>

#include <charconv>
#include <system_error>

namespace pex::host {

std::optional<KernelVersion> parse_kernel_version(std::string_view release) {
  KernelVersion version;
  const char* at = release.data();
  const char* const end = at + release.size();
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    const auto [rest, code] = std::from_chars(at, end, *part);
    if (code != std::errc{}) return {};
    at = rest;
    if (at == end || *at != '.') break;
    ++at;
  }
  return version;
}

std::string kernel_release() {
  utsname names{};
  ::uname(&names);
  return names.release;
}

KernelVersion running_kernel() {
  return parse_kernel_version(kernel_release()).value_or(KernelVersion{});
}

}  // namespace pex::host
