#pragma once

namespace pex::daemon {

inline constexpr const char* kProgram = "perf_event_exporter";

/// Of the project, from CMakeLists.txt.
extern const char* const kVersion;

}  // namespace pex::daemon
