#pragma once

namespace pex::config {

/// config/perf_event_exporter.yaml as it stood when the program was built: what is counted when no
/// file is given.
extern const char* const kDefaultConfig;

}  // namespace pex::config
