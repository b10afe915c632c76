#pragma once

namespace pex::daemon {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kLogfmt, kJson };

}  // namespace pex::daemon
