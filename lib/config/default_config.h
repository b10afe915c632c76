#pragma once

namespace pex::config {

/// config/perf_event_exporter.yaml, embedded at build time: the configuration if no file is given.
extern const char* const kDefaultConfig;

/// That of the shipped manifests and of the chart for Kubernetes.
extern const char* const kKubernetesConfig;

}  // namespace pex::config
