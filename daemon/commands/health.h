#pragma once

#include <string>
#include <vector>

#include "daemon/cli/options.h"
#include "host/command_line.h"

namespace pex::daemon {

/// Queries /-/healthy (do the counting threads make progress) or, with Options::readiness, /-/ready
/// (has the first poll ended) of the exporter that runs with the same options, and prints the
/// answer. Fails if the answer is negative or does not arrive within three seconds (http::fetch).
/// For HEALTHCHECK and exec probes of containers without a shell and curl. A server that requires
/// client certificates is asked on its --web.health-address: that TLS was refused shows that it
/// runs, and not that it counts.
ExitStatus check_health(const Options& options);

/// The options of the server to query: `options` if they configure an address. Otherwise those of
/// the one of `exporters` that serves, if there is one only: in a container they may differ from
/// those of the image, and process 1 may be an init, a shell or that of the pod.
Options health_target(const Options& options, const std::vector<host::CommandLine>& exporters);

}  // namespace pex::daemon
