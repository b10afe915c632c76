#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"
#include "base/result.h"
#include "yaml/diagnostic.h"
#include "yaml/reference.h"

namespace pex::access {

/// The web configuration file of the Prometheus exporters (prometheus/exporter-toolkit,
/// docs/web-configuration.md), with the same keys: who may scrape, and over what. Checked values.
/// Files that it names are relative to its own directory.
struct WebConfig {
  AccessSettings access;
  /// A running server may adopt it although it opens what was shut (see web_protections.h). Known
  /// to this exporter alone.
  bool allow_downgrade = false;
};

/// A web configuration, and everything that is wrong with it: usable only without errors. What is
/// taken and makes no difference is a warning.
struct LoadedWebConfig {
  WebConfig config;
  yaml::Diagnostics diagnostics;
};

/// Reads and checks one file. Fails when it cannot be read.
Result<LoadedWebConfig> load_web_config_file(const std::string& path);

/// The same for text that is already here; `name` stands for the file in messages.
LoadedWebConfig load_web_config_text(std::string_view text, const std::string& name);

/// The names of all keys, and the maps that they stand in.
std::vector<yaml::KeyReference> web_configuration_keys();

}  // namespace pex::access
