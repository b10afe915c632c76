#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pex::daemon {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kLogfmt, kJson };

/// Further fields of a line, in their order: {{"interval", "1s"}}.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

/// The log of the program, on stderr: one line for each event, in logfmt
/// (ts=... level=info msg="..." key=value) or as JSON objects. Thread-safe.
class Log {
 public:
  Log(LogLevel lowest, LogFormat format);
  ~Log();

  void debug(std::string_view message, const LogFields& fields = {});
  void info(std::string_view message, const LogFields& fields = {});
  void warn(std::string_view message, const LogFields& fields = {});
  void error(std::string_view message, const LogFields& fields = {});

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

/// One line without its time: `level=info msg="..." key=value`, or the same as members of a JSON
/// object. Pure; control characters are escaped, so one event is always one line.
std::string format_line(LogFormat format, LogLevel level, std::string_view message,
                        const LogFields& fields);

/// Lets each message pass once in a minute, and remembers a bounded number of them: a failure that
/// comes back at every poll must not flood the log.
class OncePerMinute {
 public:
  using Clock = std::chrono::steady_clock;
  bool passes(const std::string& message, Clock::time_point now);

 private:
  std::map<std::string, Clock::time_point> passed_;
};

}  // namespace pex::daemon
