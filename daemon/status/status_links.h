#pragma once

#include <string>
#include <vector>

#include "daemon/status/status.h"

namespace pex::daemon {

/// Where else there is something to see.
struct Link {
  const char* key;    ///< in the JSON
  const char* title;  ///< on the page
  std::string path;
};
std::vector<Link> links_of(const Status& status);

}  // namespace pex::daemon
