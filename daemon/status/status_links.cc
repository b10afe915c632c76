#include "daemon/status/status_links.h"

namespace pex::daemon {

std::vector<Link> links_of(const Status& status) {
  return {{"metrics", "Metrics", status.telemetry_path},
          {"status", "Status as JSON", "/api/v1/status"},
          {"healthy", "Healthy", "/-/healthy"},
          {"ready", "Ready", "/-/ready"}};
}

}  // namespace pex::daemon
