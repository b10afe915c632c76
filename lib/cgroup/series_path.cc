#include "cgroup/series_path.h"

#include <re2/re2.h>

namespace pex::cgroup {

std::string series_path(std::string_view path) {
  // Number and addresses; of AF_UNIX number, process and user.
  static const RE2 kConnection{
      R"((/[^/@]+@)[0-9]+-(?:[0-9a-f.:]*:[0-9a-f.:]*-[0-9a-f.:]*:[0-9]+|[0-9_]+-[0-9]+|unknown))"
      R"((\.service)(/|$))"};
  static const RE2 kSession{R"((/session-)c?[0-9]+(\.scope)(/|$))"};
  // Of a name of the bus, of a process, with what makes it unique, or of random bytes.
  static const RE2 kRun{
      R"((/run-)(?:u?[0-9]+|p[0-9]+-i[0-9]+|r[0-9a-f]+)(\.service|\.scope)(/|$))"};
  std::string series{path};
  for (const RE2* const varying : {&kConnection, &kSession, &kRun}) {
    while (RE2::Replace(&series, *varying, R"(\1*\2\3)")) {
    }
  }
  return series;
}

}  // namespace pex::cgroup
