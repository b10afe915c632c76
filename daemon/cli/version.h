#pragma once

namespace pex::daemon {

inline constexpr const char* kProgram = "perf_event_exporter";

/// Of the project, from CMakeLists.txt.
extern const char* const kVersion;
/// The commit it was built from; empty if that is not known.
extern const char* const kRevision;

}  // namespace pex::daemon
