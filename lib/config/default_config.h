#pragma once

namespace pex::config {

/// config/perf_event_exporter.yaml, embedded at build time: the configuration if no file is given.
extern const char* const kDefaultConfig;

/// Those of the shipped manifests: all but of overlays/pod-names, and that one.
extern const char* const kKubernetesConfigs[2];

/// Of this library, and of the program that reads the configuration: "0.1.0".
extern const char* const kVersion;

}  // namespace pex::config
