#pragma once

#include <string>
#include <string_view>

#include "access/access.h"
#include "base/result.h"
#include "yaml/diagnostic.h"

namespace pex::access {

/// The web configuration file of the Prometheus exporters (prometheus/exporter-toolkit,
/// docs/web-configuration.md), with the same keys: users, TLS, headers. Checked values. Relative
/// paths in it start from its directory.
struct WebConfig {
  AccessSettings access;
  /// A running server may adopt the file although it removes a protection (see web_protections.h).
  /// A key of this exporter only.
  bool allow_downgrade = false;
};

/// A web configuration with all its errors: usable only if there are none. A value without effect
/// is a warning.
struct LoadedWebConfig {
  WebConfig config;
  yaml::Diagnostics diagnostics;
};

/// Reads and checks one file. Fails if it cannot be read.
Result<LoadedWebConfig> load_web_config_file(const std::string& path);

/// The same for a text in memory; `name` is the file's name in messages.
LoadedWebConfig load_web_config_text(std::string_view text, const std::string& name);

}  // namespace pex::access
