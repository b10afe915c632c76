#pragma once

#include <string>
#include <vector>

#include "daemon/cli/options.h"

namespace pex::daemon {

/// Asks the program that runs with the same options whether the threads that count get on
/// (/-/healthy) or, with Options::readiness, whether the first poll has ended (/-/ready), and
/// prints its answer. Fails when that is no, or does not come within three seconds (http::fetch).
/// For HEALTHCHECK and exec probes of containers, which hold neither a shell nor curl. Not for a
/// server that demands certificates of its clients.
ExitStatus check_health(const Options& options);

/// Whose health is asked for: that of who serves where `options` say. Where they say nothing, and
/// the program itself is the first process of this container, with other arguments than the image
/// has, then it is that one.
Options health_target(const Options& options, const std::vector<std::string>& first_process);

}  // namespace pex::daemon
