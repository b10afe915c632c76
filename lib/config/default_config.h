#pragma once

namespace pex::config {

/// config/perf_event_exporter.yaml, embedded at build time: the configuration if no file is given.
extern const char* const kDefaultConfig;

/// Those of the shipped manifests: all but of overlays/pod-names, and that one.
extern const char* const kKubernetesConfigs[2];

}  // namespace pex::config
