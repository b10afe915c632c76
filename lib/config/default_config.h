#pragma once

namespace pex::config {

/// config/perf_event_exporter.yaml, embedded at build time: the configuration if no file is given.
extern const char* const kDefaultConfig;

}  // namespace pex::config
